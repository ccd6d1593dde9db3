"""Which taints a node's conditions call for."""

from collections.abc import Sequence

from moorage.controllers.objects.meta import condition_of
from moorage.controllers.objects.nodes import Node, NodeTaint
from moorage.values.taint import NO_EXECUTE, NO_SCHEDULE

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

_PRESSURES = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
_READINESS = {"False": NOT_READY, "Unknown": UNREACHABLE}
MANAGED_KEYS = frozenset({NOT_READY, UNREACHABLE, UNSCHEDULABLE, *_PRESSURES.values()})


def wanted_taints(node: Node, stamp: str) -> tuple[NodeTaint, ...]:
    """The taints the node should have: those that are not ours as they are, then ours. `stamp` dates new ones."""
    kept = [taint for taint in node.spec.taints if not _is_ours(taint)]
    known = {(taint.key, taint.effect): taint for taint in node.spec.taints}
    ours = [known.get(each, NodeTaint(each[0], effect=each[1])) for each in _called_for(node)]
    dated = [
        NodeTaint(taint.key, effect=taint.effect, time_added=stamp)
        if taint.effect == NO_EXECUTE and not taint.time_added
        else taint
        for taint in ours
    ]
    return (*kept, *dated)


def _called_for(node: Node) -> Sequence[tuple[str, str]]:
    taints: list[tuple[str, str]] = []
    ready = condition_of(node.status.conditions, "Ready")
    key = _READINESS.get(ready.status) if ready is not None else None
    if key is not None:
        taints += [(key, NO_SCHEDULE), (key, NO_EXECUTE)]
    for kind, pressure in _PRESSURES.items():
        condition = condition_of(node.status.conditions, kind)
        if condition is not None and condition.status == "True":
            taints.append((pressure, NO_SCHEDULE))
    if node.spec.unschedulable:
        taints.append((UNSCHEDULABLE, NO_SCHEDULE))
    return taints


def _is_ours(taint: NodeTaint) -> bool:
    if taint.effect == NO_EXECUTE:
        return taint.key in (NOT_READY, UNREACHABLE)
    return taint.effect == NO_SCHEDULE and taint.key in MANAGED_KEYS
