"""Priority: pods and groups of pods get the number of their class."""

from dataclasses import dataclass
from typing import Any

from moorage.apiserver.registry import Operation

Json = dict[str, Any]

POLICY = "preemptionPolicy"
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
DESCRIPTIONS = {
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    ),
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
}


@dataclass(frozen=True, slots=True)
class Priority:
    """What a class says."""

    value: int = 0
    preemption_policy: str = "PreemptLowerPriority"


def resolve(operation: Operation, spec: Json) -> Priority:
    """What the class of a spec says, or the default one, whose name is filled in. 403 for one that is not there."""
    name = spec.get("priorityClassName", "")
    found = _named(operation, name) if name else _default(operation)
    if found is None:
        return Priority()
    spec["priorityClassName"] = found["metadata"]["name"]
    return Priority(found.get("value", 0), found.get(POLICY, Priority().preemption_policy))


def set_priority(operation: Operation, pod: Json) -> None:
    """Resolve the class to a number and a preemption policy; 403 where the pod says otherwise."""
    spec = pod["spec"]
    found = resolve(operation, spec)
    value, policy = found.value, found.preemption_policy
    if spec.get("priority", value) != value:
        raise operation.resource.forbidden(
            operation.name,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority admission "
            f"controller computed {value} from the given PriorityClass name",
        )
    if spec.get(POLICY, policy) != policy:
        raise operation.resource.forbidden(
            operation.name,
            f"the string value of PreemptionPolicy ({spec[POLICY]}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name",
        )
    spec["priority"], spec[POLICY] = value, policy


def keep_priority(_: Operation, new: Json, old: Json) -> None:
    """A change that leaves priority out does not take it away."""
    for name in ("priority", POLICY):
        if name in old["spec"]:
            new["spec"].setdefault(name, old["spec"][name])


def _named(operation: Operation, name: str) -> Json:
    item = operation.registry.resource("priorityclasses", "scheduling.k8s.io").collection.get("", name)
    if item is None:
        raise operation.resource.forbidden(operation.name, f"no PriorityClass with name {name} was found")
    return item.decode()


def _default(operation: Operation) -> Json | None:
    """The class for pods that name none: the lowest of those marked as default."""
    collection = operation.registry.resource("priorityclasses", "scheduling.k8s.io").collection
    marked = [item.decode() for item in collection.items() if b'"globalDefault":true' in item.data]
    return min(marked, key=lambda each: each.get("value", 0), default=None)


def keep_system_classes(operation: Operation, found: Json) -> None:
    """The system's own classes stay."""
    if found["metadata"]["name"] in SYSTEM_CLASSES:
        raise operation.resource.forbidden(operation.name, "this is a system priority class and cannot be deleted")


def check_only_default(operation: Operation, new: Json, _old: Json | None = None) -> None:
    """Only one class may be the default one."""
    if not new.get("globalDefault"):
        return
    for item in operation.resource.collection.items():
        if item.name != new["metadata"].get("name") and b'"globalDefault":true' in item.data:
            raise operation.resource.forbidden(
                operation.name,
                f"PriorityClass {item.name} is already marked as default. Only one default can exist",
            )
