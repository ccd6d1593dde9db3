"""What the server does to groups of pods: fields behind gates, priority, protection."""

from collections.abc import Iterator
from typing import Any

from moorage.apiserver.admission.priority import POLICY, resolve
from moorage.apiserver.registry import Operation
from moorage.config import Features

Json = dict[str, Any]

PROTECTION = "scheduling.k8s.io/podgroup-protection"

_COMPOSITE = "CompositePodGroup"
_TOPOLOGY = "TopologyAwareWorkloadScheduling"
_CLAIMS = "DRAWorkloadResourceClaims"
_OWN_POLICY = "PodGroupPreemptionPolicy"
#: Before groups were beta, what preemption reads of them had a gate of its own.
_PREEMPTION = "WorkloadAwarePreemption"
_BETA = "PodGroupsBeta"


def drop_gated_fields(operation: Operation, new: Json, old: Json | None = None) -> None:
    """Fields whose gate is off are not stored, unless they have been in use."""
    off = tuple(_off(operation.registry.features))
    before = (old or {}).get("spec") or {}
    _drop(new.get("spec") or {}, before, off)


def _drop(spec: Json, before: Json, off: tuple[str, ...]) -> None:
    for name in off:
        if name not in before:
            spec.pop(name, None)
    for name in ("podGroupTemplates", "compositePodGroupTemplates"):
        earlier = {each.get("name"): each for each in before.get(name, ())}
        for template in spec.get(name, ()):
            _drop(template, earlier.get(template.get("name"), {}), off)


def _off(features: Features) -> Iterator[str]:
    """The fields of groups and templates that nobody may set."""
    if _TOPOLOGY not in features:
        yield "schedulingConstraints"
    if _CLAIMS not in features:
        yield "resourceClaims"
    if _OWN_POLICY not in features:
        yield "preemptionPolicy"
    if _COMPOSITE not in features:
        yield from ("parentCompositePodGroupName", "compositePodGroupTemplates")
    if not _has_priority(features):
        yield from ("disruptionMode", "priorityClassName", "priority")


def _has_priority(features: Features) -> bool:
    return _BETA in features or _PREEMPTION in features


def drop_gated_status(operation: Operation, new: Json, old: Json) -> None:
    """Claims of a group are told of only where groups have claims."""
    if _CLAIMS not in operation.registry.features and "resourceClaims" not in (old.get("spec") or {}):
        (new.get("status") or {}).pop("resourceClaimStatuses", None)


def set_group_priority(operation: Operation, group: Json) -> None:
    """Resolve the class to a number; 403 where the group says otherwise."""
    features = operation.registry.features
    if not _has_priority(features):
        return
    spec = group.setdefault("spec", {})
    found = resolve(operation, spec)
    if spec.get("priority", found.value) != found.value:
        raise operation.resource.forbidden(
            operation.name,
            f"priority set in the pod group ({spec['priority']}) must match the priority computed ({found.value}) "
            "based on the priority class set in the spec",
        )
    spec["priority"] = found.value
    if _OWN_POLICY not in features:
        return
    if spec.get(POLICY, found.preemption_policy) != found.preemption_policy:
        raise operation.resource.forbidden(
            operation.name,
            f"the string value of PreemptionPolicy ({spec[POLICY]}) must not be provided in pod group spec; priority "
            f"admission controller computed {found.preemption_policy} from the given PriorityClass name",
        )
    spec[POLICY] = found.preemption_policy


def protect(_: Operation, group: Json) -> None:
    """A group does not go while pods are in it: a controller takes the finalizer off."""
    finalizers = group["metadata"].setdefault("finalizers", [])
    if PROTECTION not in finalizers:
        finalizers.append(PROTECTION)


def require_template(operation: Operation, group: Json) -> None:
    """Before v1beta1 the Workload a group is made from must be there, with the template. 403 otherwise."""
    reference = ((group.get("spec") or {}).get("podGroupTemplateRef") or {}).get("workload")
    if reference is None:
        return
    name, template = reference.get("workloadName", ""), reference.get("podGroupTemplateName", "")
    workloads = operation.registry.resource("workloads", "scheduling.k8s.io", operation.resource.kind.version)
    item = workloads.collection.get(operation.namespace, name)
    problem = ""
    if item is None:
        problem = f'Workload "{name}" not found'
    elif "deletionTimestamp" in (workload := item.decode())["metadata"]:
        problem = f'Workload "{name}" is being deleted'
    elif template not in {each.get("name") for each in workload["spec"].get("podGroupTemplates", ())}:
        problem = f'PodGroupTemplate "{template}" not found in Workload "{name}"'
    if problem:
        raise operation.resource.forbidden(operation.name, f"PodGroup rejected: {problem}")


def drop_scheduling_group(operation: Operation, new: Json, old: Json | None = None) -> None:
    """Pods are in groups only where there are groups."""
    if "GenericWorkload" not in operation.registry.features and "schedulingGroup" not in (old or {}).get("spec", {}):
        new["spec"].pop("schedulingGroup", None)
