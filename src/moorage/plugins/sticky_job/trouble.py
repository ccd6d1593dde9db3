"""What keeps a pod off its node, in words for its condition."""

from collections.abc import Iterable

from moorage.columns import NodeInfo, PodInfo
from moorage.objects import Taint
from moorage.values.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from moorage.values.taint import NO_SCHEDULE, UNSCHEDULABLE, first_untolerated, tolerated
from moorage.values.time import parse_time

_NOT_READY = Taint(key="node.kubernetes.io/not-ready", effect=NO_SCHEDULE)
# Of other resources NodeResourcesFit may be told to take no notice.
_COUNTED = (CPU, MEMORY, EPHEMERAL_STORAGE)


def trouble_with(node: NodeInfo, pod: PodInfo, now: float) -> str:
    """Why the node takes no pods such as this, whoever leaves it; empty if it does."""
    tolerations = pod.spec.tolerations
    ready = next((one for one in node.node.status.conditions if one.type == "Ready"), None)
    if ready is not None and ready.status != "True" and not tolerated(_NOT_READY, tolerations):
        since = ready.last_transition_time
        return f"NotReady for {max(0, int(now - parse_time(since)))} s" if since else "NotReady"
    if node.node.spec.unschedulable and not tolerated(UNSCHEDULABLE, tolerations):
        return "cordoned"
    taint = first_untolerated(node.taints, tolerations)
    if taint is not None:
        value = f"={taint.value}" if taint.value else ""
        return f"tainted {taint.key}{value}:{taint.effect}"
    return ""


def shortage_on(node: NodeInfo, pod: PodInfo) -> str:
    """What the node has not enough of for the pod; empty if there is room."""
    return _named(lacking for lacking, missing in _missing(node, pod).items() if missing > 0)


def may_make_room(node: NodeInfo, pod: PodInfo) -> bool:
    """Whether there would be room if all pods of lower priority left: then preemption is worth a try."""
    if pod.spec.preemption_policy == "Never":
        return False
    missing = _missing(node, pod)
    for other in node.pods.values():
        if other.priority < pod.priority:
            missing[PODS] -= 1
            for name, amount in other.request.amounts.items():
                if name in missing:
                    missing[name] -= amount
    return all(amount <= 0 for amount in missing.values())


def _missing(node: NodeInfo, pod: PodInfo) -> dict[str, int]:
    wanted = pod.pod_class.request.amounts
    missing = {name: wanted[name] - node.free(name) for name in _COUNTED if wanted.get(name, 0) > 0}
    return {**missing, PODS: 1 - node.free(PODS)}


def _named(names: Iterable[str]) -> str:
    lacking = list(names)
    return f"insufficient {', '.join(lacking)}" if lacking else ""
