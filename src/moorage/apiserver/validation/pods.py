"""Rules for pods and pod templates, and for what may change in a pod."""

from typing import Any

from moorage.apiserver.validation.containers import validate_containers, validate_resources
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.metadata import (
    dns_label,
    dns_subdomain,
    qualified_name,
    validate_annotations,
    validate_labels,
)
from moorage.apiserver.validation.rules import in_range, label_name, not_negative, one_of
from moorage.apiserver.validation.scheduling import validate_affinity, validate_spread, validate_tolerations

Json = dict[str, Any]

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)


def validate_pod(pod: Json, faults: Faults) -> None:
    """A pod, new or changed."""
    validate_pod_spec(pod.get("spec") or {}, "spec", faults)


def validate_new_pod(pod: Json, faults: Faults) -> None:
    """What only a new pod must not have."""
    spec = pod["spec"]
    if spec.get("ephemeralContainers"):
        faults.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        faults.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def validate_pod_spec(spec: Json, path: str, faults: Faults) -> None:
    """A pod spec, in a pod or in a template."""
    _validate_volumes(spec.get("volumes", []), f"{path}.volumes", faults)
    _validate_claims(spec.get("resourceClaims", []), f"{path}.resourceClaims", faults)
    validate_containers(spec, path, faults)
    if "resources" in spec:
        validate_resources(spec["resources"], f"{path}.resources", faults)
    one_of(spec.get("restartPolicy"), RESTART_POLICIES, f"{path}.restartPolicy", faults, required=True)
    one_of(spec.get("dnsPolicy"), DNS_POLICIES, f"{path}.dnsPolicy", faults, required=True)
    validate_labels(spec.get("nodeSelector") or {}, f"{path}.nodeSelector", faults)
    if "affinity" in spec:
        validate_affinity(spec["affinity"], f"{path}.affinity", faults)
    validate_spread(spec.get("topologySpreadConstraints", []), f"{path}.topologySpreadConstraints", faults)
    validate_tolerations(spec.get("tolerations", []), f"{path}.tolerations", faults)
    _validate_gates(spec, path, faults)
    _validate_names(spec, path, faults)
    in_range(spec.get("activeDeadlineSeconds"), 1, 2**31 - 1, f"{path}.activeDeadlineSeconds", faults)
    one_of(spec.get("preemptionPolicy"), ("Never", "PreemptLowerPriority"), f"{path}.preemptionPolicy", faults)
    if "schedulingGroup" in spec:
        _validate_group(spec["schedulingGroup"], f"{path}.schedulingGroup", faults)


def _validate_group(group: Json, path: str, faults: Faults) -> None:
    name = group.get("podGroupName")
    if name is None:
        faults.invalid(f"{path}.podGroupName", None, "must specify one of: `podGroupName`")
    elif problem := dns_subdomain(name):
        faults.invalid(f"{path}.podGroupName", name, problem)


def _validate_names(spec: Json, path: str, faults: Faults) -> None:
    subdomains = ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName")
    for field in subdomains:
        if spec.get(field) and (problem := dns_subdomain(spec[field])):
            faults.invalid(f"{path}.{field}", spec[field], problem)
    for field in ("hostname", "subdomain"):
        if spec.get(field) and (problem := dns_label(spec[field])):
            faults.invalid(f"{path}.{field}", spec[field], problem)


def _validate_gates(spec: Json, path: str, faults: Faults) -> None:
    seen: set[str] = set()
    for position, gate in enumerate(spec.get("schedulingGates", ())):
        here, name = f"{path}.schedulingGates[{position}]", gate.get("name", "")
        if problem := qualified_name(name):
            faults.invalid(here, name, problem)
        if name in seen:
            faults.duplicate(here, name)
        seen.add(name)


def _validate_volumes(volumes: list[Json], path: str, faults: Faults) -> None:
    seen: set[str] = set()
    for position, volume in enumerate(volumes):
        here, name = f"{path}[{position}]", volume.get("name", "")
        label_name(name, seen, f"{here}.name", faults)
        seen.add(name)
        kinds = [key for key in volume if key != "name"]
        for kind in kinds[1:]:
            faults.forbidden(f"{here}.{kind}", "may not specify more than 1 volume type")
        if "persistentVolumeClaim" in volume and not volume["persistentVolumeClaim"].get("claimName"):
            faults.required(f"{here}.persistentVolumeClaim.claimName")


def _validate_claims(claims: list[Json], path: str, faults: Faults) -> None:
    seen: set[str] = set()
    for position, claim in enumerate(claims):
        here, name = f"{path}[{position}]", claim.get("name", "")
        label_name(name, seen, f"{here}.name", faults)
        seen.add(name)
        sources = ("resourceClaimName", "resourceClaimTemplateName")
        shown = {"Name": name, **{source[0].upper() + source[1:]: claim.get(source) for source in sources}}
        if all(source in claim for source in sources):
            problem = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            faults.invalid(here, shown, problem)
        elif not any(source in claim for source in sources):
            faults.invalid(here, shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")


def validate_template(template: Json | None, path: str, faults: Faults) -> None:
    """A pod template: labels, annotations, spec."""
    if template is None:
        faults.required(path)
        return
    metadata = template.get("metadata") or {}
    validate_labels(metadata.get("labels") or {}, f"{path}.labels", faults)
    validate_annotations(metadata.get("annotations") or {}, f"{path}.annotations", faults)
    validate_pod_spec(template.get("spec") or {}, f"{path}.spec", faults)


def validate_pod_update(new: Json, old: Json, faults: Faults) -> None:
    """Images, deadlines, more tolerations, fewer gates; of gated pods narrower node selection. Nothing else."""
    spec, before = new["spec"], old["spec"]
    if spec == before:
        return
    if len(spec.get("containers", ())) != len(before.get("containers", ())):
        faults.forbidden("spec.containers", "pod updates may not add or remove containers")
        return
    if len(spec.get("initContainers", ())) != len(before.get("initContainers", ())):
        faults.forbidden("spec.initContainers", "pod updates may not add or remove containers")
        return
    _check_deadline(spec, before, faults)
    if any(toleration not in spec.get("tolerations", ()) for toleration in before.get("tolerations", ())):
        faults.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
    allowed = {gate.get("name") for gate in before.get("schedulingGates", ())}
    for position, gate in enumerate(spec.get("schedulingGates", ())):
        if gate.get("name") not in allowed:
            faults.forbidden(
                f"spec.schedulingGates[{position}].name",
                f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
            )
    _check_unchanged(spec, before, faults)


def _check_deadline(spec: Json, before: Json, faults: Faults) -> None:
    path = "spec.activeDeadlineSeconds"
    now, then = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    not_negative(now, path, faults)
    if then is None:
        return
    if now is None:
        faults.invalid(path, None, "must not update from a positive integer to nil value")
    elif now > then:
        faults.invalid(path, now, "must be less than or equal to previous value")


_FREE = ("activeDeadlineSeconds", "schedulingGates", "tolerations")


def _check_unchanged(spec: Json, before: Json, faults: Faults) -> None:
    """Compare the specs but for what may change."""
    spec, before = dict(spec), dict(before)
    for name in _FREE:
        spec.pop(name, None)
        before.pop(name, None)
    for name in ("containers", "initContainers"):
        spec[name] = [{**container, "image": ""} for container in spec.get(name, ())]
        before[name] = [{**container, "image": ""} for container in before.get(name, ())]
    if before.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        spec["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    changed = sorted(name for name in spec.keys() | before.keys() if spec.get(name) != before.get(name))
    if changed:
        faults.forbidden(
            "spec",
            f"pod updates may not change fields other than {_UPDATABLE}\nchanged: "
            + ", ".join(f"spec.{name}" for name in changed),
        )


def validate_gated_update(new: Json, old: Json, faults: Faults) -> None:
    """Pods with gates may become choosier about their nodes; then all else is compared."""
    if not old["spec"].get("schedulingGates"):
        validate_pod_update(new, old, faults)
        return
    selector, before = new["spec"].get("nodeSelector") or {}, old["spec"].get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in before.items()):
        faults.invalid(
            "spec.nodeSelector", selector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        )
    _check_node_affinity(new["spec"], old["spec"], faults)
    adjusted = {**new, "spec": _without_node_choice(new["spec"])}
    validate_pod_update(adjusted, {**old, "spec": _without_node_choice(old["spec"])}, faults)


def _without_node_choice(spec: Json) -> Json:
    rest = {key: value for key, value in spec.items() if key not in ("nodeSelector", "affinity")}
    affinity = {key: value for key, value in (spec.get("affinity") or {}).items() if key != "nodeAffinity"}
    return {**rest, "affinity": affinity} if affinity else rest


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _check_node_affinity(spec: Json, before: Json, faults: Faults) -> None:
    """Required terms may get more requirements, never fewer or other ones."""
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}"
    now = _required_terms(spec)
    then = _required_terms(before)
    if not then:
        return
    if len(now) != len(then):
        faults.invalid(
            f"{path}.nodeSelectorTerms", now, "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        )
        return
    for position, (term, old) in enumerate(zip(now, then, strict=True)):
        for name in ("matchExpressions", "matchFields"):
            if any(requirement not in term.get(name, ()) for requirement in old.get(name, ())):
                faults.invalid(
                    f"{path}.nodeSelectorTerms[{position}]",
                    term,
                    "only additions are allowed (no mutations or deletions)",
                )


def _required_terms(spec: Json) -> list[Json]:
    rules = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    terms: list[Json] = rules.get("nodeSelectorTerms", [])
    return terms


def validate_pod_status(new: Json, old: Json, faults: Faults) -> None:
    """A nomination must be possible, the quality of service never changes."""
    status, before = new.get("status") or {}, old.get("status") or {}
    nominated = status.get("nominatedNodeName", "")
    if nominated != before.get("nominatedNodeName", "") and nominated:
        if problem := dns_subdomain(nominated):
            faults.invalid("status.nominatedNodeName", nominated, problem)
        if old["spec"].get("nodeName"):
            faults.forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node")
    if before.get("qosClass") and status.get("qosClass") != before["qosClass"]:
        faults.invalid("status.qosClass", status.get("qosClass", ""), "field is immutable")
    not_negative(status.get("observedGeneration"), "status.observedGeneration", faults)
