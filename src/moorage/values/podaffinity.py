"""Pod affinity terms, compiled: which pods they speak of, and over which topology."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from moorage.errors import InputError
from moorage.objects import Pod, PodAffinity, PodAffinityTerm
from moorage.values.selector import NOTHING, Labels, Selector, compile_selector, together


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
    """All (anti-)affinity terms of one pod.

    QUIRK: one malformed term takes those of its list with it, no others; `problems` says what is wrong with which list.
    """

    required_affinity: tuple[AffinityTerm, ...] = ()
    required_anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred_affinity: tuple[WeightedTerm, ...] = ()
    preferred_anti_affinity: tuple[WeightedTerm, ...] = ()
    problems: tuple[str, ...] = ()

    def checked(self) -> "PodAffinityTerms":
        """These terms, if all are well formed. Raises InputError else."""
        if self.problems:
            raise InputError(together(self.problems))
        return self

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
    """Compile the pod's terms, as far as they are well formed."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    near = affinity.pod_affinity or PodAffinity()
    far = affinity.pod_anti_affinity or PodAffinity()
    home = pod.metadata.namespace
    problems: list[str] = []
    return PodAffinityTerms(
        _or_none(_compile_all, near, home, "requiredAffinityTerms", problems),
        _or_none(_compile_all, far, home, "requiredAntiAffinityTerms", problems),
        _or_none(_compile_weighted, near, home, "preferredAffinityTerms", problems),
        _or_none(_compile_weighted, far, home, "preferredAntiAffinityTerms", problems),
        tuple(problems),
    )


T = TypeVar("T")


def _or_none(
    how: Callable[[PodAffinity, str], tuple[T, ...]], affinity: PodAffinity, home: str, name: str, problems: list[str]
) -> tuple[T, ...]:
    try:
        return how(affinity, home)
    except InputError as bad:
        problems.append(f"{name}: {bad.problem}")
        return ()


def compile_affinity_term(term: PodAffinityTerm, home: str) -> AffinityTerm:
    """Compile one term of a pod that lives in namespace `home`."""
    namespaces = frozenset(term.namespaces)
    if not namespaces and term.namespace_selector is None:
        namespaces = frozenset((home,))
    by_labels = NOTHING if term.namespace_selector is None else compile_selector(term.namespace_selector)
    return AffinityTerm(term.topology_key, compile_selector(term.label_selector), namespaces, by_labels)


def _compile_all(affinity: PodAffinity, home: str) -> tuple[AffinityTerm, ...]:
    terms = affinity.required_during_scheduling_ignored_during_execution
    return tuple(compile_affinity_term(term, home) for term in terms)


def _compile_weighted(affinity: PodAffinity, home: str) -> tuple[WeightedTerm, ...]:
    wishes = affinity.preferred_during_scheduling_ignored_during_execution
    compiled = (WeightedTerm(wish.weight, compile_affinity_term(wish.pod_affinity_term, home)) for wish in wishes)
    return tuple(one for one in compiled if one.weight)
