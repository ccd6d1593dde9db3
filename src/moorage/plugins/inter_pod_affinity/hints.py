"""Which cluster events may let a pod in that was refused for inter-pod affinity.

QUIRK: namespace selectors are asked about no labels at all here, so those that demand a label never match.
"""

from collections.abc import Sequence

from moorage.columns import PodInfo
from moorage.framework.events import Hint
from moorage.objects import Node, Pod
from moorage.values.podaffinity import AffinityTerm, pod_affinity_terms
from moorage.values.selector import Labels

_NO_LABELS: Labels = {}


def after_pod(pod: PodInfo, old: Pod | None, new: Pod | None, *, any_wakes: bool) -> Hint:
    """A pod with a node came near enough, went, or changed its labels. Raises InputError on malformed terms.

    QUIRK: before 1.37 (not `any_wakes`) all anti-affinity terms had to have matched, although each keeps pods apart.
    """
    matches_hated = _matches_any if any_wakes else _matches_all
    if old is not None and new is not None and (new.metadata.uid or new.key) == pod.uid:
        return Hint.QUEUE
    if not all(one.spec.node_name or one.status.nominated_node_name for one in (old, new) if one is not None):
        return Hint.SKIP
    wanted, hated = pod.terms.required_affinity, pod.terms.required_anti_affinity
    if old is not None and new is not None:
        begins = not _matches_all(wanted, old) and _matches_all(wanted, new)
        ends = matches_hated(hated, old) and not matches_hated(hated, new)
        return _queue_if(begins or ends)
    if new is not None:
        return _queue_if(_matches_all(wanted, new))
    assert old is not None, "an event is about something"
    gone = matches_hated(hated, old) or matches_hated(pod_affinity_terms(old).checked().required_anti_affinity, pod.pod)
    return _queue_if(gone)


def after_node(pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
    """A node came or changed domains. Raises InputError on malformed terms."""
    if new is None:
        return Hint.SKIP
    wanted, hated = pod.terms.required_affinity, pod.terms.required_anti_affinity
    now = new.metadata.labels
    if old is None:
        return _queue_if(bool(hated) or any(term.topology_key in now for term in wanted))
    before = old.metadata.labels
    joined = any(key in now and before.get(key) != now[key] for key in _keys(wanted))
    left = any(key in before and before[key] != now.get(key) for key in _keys(hated))
    return _queue_if(joined or left)


def _keys(terms: Sequence[AffinityTerm]) -> list[str]:
    return [term.topology_key for term in terms]


def _matches_all(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    meta = pod.metadata
    return bool(terms) and all(term.matches(meta.namespace, meta.labels, _NO_LABELS) for term in terms)


def _matches_any(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    meta = pod.metadata
    return any(term.matches(meta.namespace, meta.labels, _NO_LABELS) for term in terms)


def _queue_if(helps: bool) -> Hint:
    return Hint.QUEUE if helps else Hint.SKIP
