"""The affinity terms that pods on nodes hold, and where their holders are."""

import enum
from collections.abc import Iterable, Iterator, Mapping

from moorage.columns.pods import AffinityClass, PodInfo
from moorage.columns.selectorindex import SelectorIndex
from moorage.columns.tallies import Tally
from moorage.values.podaffinity import NO_TERMS, AffinityTerm, PodAffinityTerms
from moorage.values.selector import Labels


class Role(enum.Enum):
    """What a term is in its holder's spec."""

    REQUIRED_AFFINITY = "podAffinity, required"
    REQUIRED_ANTI_AFFINITY = "podAntiAffinity, required"
    PREFERRED = "podAffinity (weight above 0) or podAntiAffinity (below), preferred"


_TermKey = tuple[Role, int, AffinityTerm]


class TermHolders(Tally):
    """The pods that hold one term in one role. The weight is 0 for required terms."""

    __slots__ = ("_rows", "classes", "role", "term", "weight")

    def __init__(self, role: Role, weight: int, term: AffinityTerm) -> None:
        super().__init__()
        self.role = role
        self.weight = weight
        self.term = term
        #: How many affinity classes hold the term.
        self.classes = 0
        self._rows: dict[int, int] = {}

    def count(self, row: int, delta: int) -> None:
        """A holder came or went."""
        held = self._rows.get(row, 0) + delta
        if held:
            self._rows[row] = held
        else:
            del self._rows[row]
        self.tell(row, delta)

    def places(self) -> Iterable[Mapping[int, int]]:
        """row -> how many holders lie there."""
        return (self._rows,)


class HeldTerms:
    """Terms of pods on nodes, found by the pods they speak of. `version` moves when terms appear or vanish."""

    def __init__(self) -> None:
        self.version = 0
        self._anti_affinity: SelectorIndex[TermHolders] = SelectorIndex()
        self._scored: SelectorIndex[TermHolders] = SelectorIndex()
        self._holders: dict[_TermKey, TermHolders] = {}
        self._classes: dict[AffinityClass, tuple[list[TermHolders], int]] = {}

    def count(self, row: int, pod: PodInfo, delta: int) -> None:
        """A pod with inter-pod affinity came to (+1) or went from (-1) a row."""
        affinity = pod.affinity_class
        assert affinity is not None, "the caller has looked"
        known = self._classes.get(affinity)
        holders, pods = known if known is not None else (self._enter(pod), 0)
        for one in holders:
            one.count(row, delta)
        pods += delta
        if pods:
            self._classes[affinity] = (holders, pods)
        else:
            del self._classes[affinity]
            self._leave(holders)

    @property
    def has_anti_affinity(self) -> bool:
        """Whether any pod on a node has required anti-affinity."""
        return bool(self._anti_affinity)

    @property
    def has_scored(self) -> bool:
        """Whether any pod on a node has required affinity or preferred terms."""
        return bool(self._scored)

    def anti_affinity(self, namespace: str, labels: Labels, namespace_labels: Labels) -> list[TermHolders]:
        """The required anti-affinity terms that speak of a pod with these labels."""
        return _matching(self._anti_affinity, namespace, labels, namespace_labels)

    def scored(self, namespace: str, labels: Labels, namespace_labels: Labels) -> list[TermHolders]:
        """The required affinity and the preferred terms that speak of a pod with these labels."""
        return _matching(self._scored, namespace, labels, namespace_labels)

    def _enter(self, pod: PodInfo) -> list[TermHolders]:
        found = []
        for role, weight, term in _each_term(terms_that_bind(pod)):
            one = self._holders.get((role, weight, term))
            if one is None:
                one = self._holders[(role, weight, term)] = TermHolders(role, weight, term)
                self._index_for(role).add(_namespaces(term), term.selector, one)
                self.version += 1
            one.classes += 1
            found.append(one)
        return found

    def _leave(self, holders: list[TermHolders]) -> None:
        for one in holders:
            one.classes -= 1
            if not one.classes:
                del self._holders[(one.role, one.weight, one.term)]
                self._index_for(one.role).remove(_namespaces(one.term), one.term.selector, one)
                self.version += 1

    def _index_for(self, role: Role) -> SelectorIndex[TermHolders]:
        return self._anti_affinity if role is Role.REQUIRED_ANTI_AFFINITY else self._scored


def terms_that_bind(pod: PodInfo) -> PodAffinityTerms:
    """The terms of a pod that has a node: those that compile, whatever it got there by."""
    return NO_TERMS if pod.affinity_class is None else pod.affinity_class.terms


def _each_term(terms: PodAffinityTerms) -> Iterator[_TermKey]:
    for term in terms.required_affinity:
        yield Role.REQUIRED_AFFINITY, 0, term
    for term in terms.required_anti_affinity:
        yield Role.REQUIRED_ANTI_AFFINITY, 0, term
    for wish in terms.preferred_affinity:
        yield Role.PREFERRED, wish.weight, wish.term
    for wish in terms.preferred_anti_affinity:
        yield Role.PREFERRED, -wish.weight, wish.term


def _namespaces(term: AffinityTerm) -> frozenset[str] | None:
    return term.namespaces if term.namespace_selector.nothing else None


def _matching(
    index: SelectorIndex[TermHolders], namespace: str, labels: Labels, namespace_labels: Labels
) -> list[TermHolders]:
    candidates = index.candidates(namespace, labels)
    return [one for one in candidates if one.term.matches(namespace, labels, namespace_labels)]
