"""Which cluster events may let a pod in that was refused for its hard constraints."""

from collections.abc import Sequence

from moorage.columns import PodInfo
from moorage.framework.events import Hint
from moorage.objects import Node, Pod
from moorage.plugins.topology_spread.constraints import Constraint
from moorage.values.selector import Labels


def after_pod(pod: PodInfo, constraints: Sequence[Constraint], old: Pod | None, new: Pod | None) -> Hint:
    """A pod of the same namespace came, went or changed in a way the constraints see."""
    if not all(_is_involved(one, pod) for one in (old, new) if one is not None):
        return Hint.SKIP
    if old is not None and new is not None:
        return _after_pod_update(pod, constraints, old, new)
    moved = new if new is not None else old
    assert moved is not None, "an event is about something"
    return _queue_if(any(one.selector.matches(moved.metadata.labels) for one in constraints))


def after_node(constraints: Sequence[Constraint], old: Node | None, new: Node | None) -> Hint:
    """A node that takes part came, went or changed its domain or its taints."""
    counted_before = old is not None and _has_all_keys(old.metadata.labels, constraints)
    counts_now = new is not None and _has_all_keys(new.metadata.labels, constraints)
    if old is None or new is None:
        return _queue_if(counted_before or counts_now)
    if counted_before != counts_now:
        return Hint.QUEUE
    keys = (one.topology_key for one in constraints)
    moved = any(old.metadata.labels.get(key, "") != new.metadata.labels.get(key, "") for key in keys)
    return _queue_if(counts_now and (moved or old.spec.taints != new.spec.taints))


def _after_pod_update(pod: PodInfo, constraints: Sequence[Constraint], old: Pod, new: Pod) -> Hint:
    tolerates_otherwise = _is_itself(new, pod) and old.spec.tolerations != new.spec.tolerations
    if tolerates_otherwise and any(one.honors_taints for one in constraints):
        return Hint.QUEUE
    before, now = old.metadata.labels, new.metadata.labels
    return _queue_if(any(one.selector.matches(before) != one.selector.matches(now) for one in constraints))


def _is_involved(other: Pod, pod: PodInfo) -> bool:
    if _is_itself(other, pod):
        return True
    is_placed = bool(other.spec.node_name or other.status.nominated_node_name)
    return is_placed and other.metadata.namespace == pod.namespace


def _is_itself(other: Pod, pod: PodInfo) -> bool:
    return (other.metadata.uid or other.key) == pod.uid


def _has_all_keys(labels: Labels, constraints: Sequence[Constraint]) -> bool:
    return all(one.topology_key in labels for one in constraints)


def _queue_if(helps: bool) -> Hint:
    return Hint.QUEUE if helps else Hint.SKIP
