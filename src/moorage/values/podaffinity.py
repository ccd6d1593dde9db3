"""Pod affinity terms, compiled: which pods they speak of, and over which topology."""

from collections.abc import Iterable
from dataclasses import dataclass

from moorage.objects import Pod, PodAffinity, PodAffinityTerm
from moorage.values.selector import NOTHING, Labels, Selector, compile_selector


@dataclass(frozen=True)
class AffinityTerm:
    """Pods in these namespaces (by name or by the namespace's labels) that the selector matches."""

    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        """Whether a pod with these labels in this namespace is meant."""
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels):
            return False
        return self.selector.matches(labels)


@dataclass(frozen=True)
class WeightedTerm:
    """A preferred term and how much it counts."""

    weight: int
    term: AffinityTerm


@dataclass(frozen=True)
class PodAffinityTerms:
    """All (anti-)affinity terms of one pod."""

    required_affinity: tuple[AffinityTerm, ...] = ()
    required_anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred_affinity: tuple[WeightedTerm, ...] = ()
    preferred_anti_affinity: tuple[WeightedTerm, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the pod has no such term at all."""
        return not (
            self.required_affinity
            or self.required_anti_affinity
            or self.preferred_affinity
            or self.preferred_anti_affinity
        )


NO_TERMS = PodAffinityTerms()


def pod_affinity_terms(pod: Pod) -> PodAffinityTerms:
    """Compile the pod's terms. Raises InputError if one is malformed."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    near = affinity.pod_affinity or PodAffinity()
    far = affinity.pod_anti_affinity or PodAffinity()
    home = pod.metadata.namespace
    return PodAffinityTerms(
        _compile_all(near.required_during_scheduling_ignored_during_execution, home),
        _compile_all(far.required_during_scheduling_ignored_during_execution, home),
        _compile_weighted(near, home),
        _compile_weighted(far, home),
    )


def compile_affinity_term(term: PodAffinityTerm, home: str) -> AffinityTerm:
    """Compile one term of a pod that lives in namespace `home`."""
    namespaces = frozenset(term.namespaces)
    if not namespaces and term.namespace_selector is None:
        namespaces = frozenset((home,))
    by_labels = NOTHING if term.namespace_selector is None else compile_selector(term.namespace_selector)
    return AffinityTerm(term.topology_key, compile_selector(term.label_selector), namespaces, by_labels)


def _compile_all(terms: Iterable[PodAffinityTerm], home: str) -> tuple[AffinityTerm, ...]:
    return tuple(compile_affinity_term(term, home) for term in terms)


def _compile_weighted(affinity: PodAffinity, home: str) -> tuple[WeightedTerm, ...]:
    return tuple(
        WeightedTerm(wish.weight, compile_affinity_term(wish.pod_affinity_term, home))
        for wish in affinity.preferred_during_scheduling_ignored_during_execution
        if wish.weight
    )
