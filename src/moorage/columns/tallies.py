"""Where the pods of a kind lie: the pods a selector selects, the pods that hold an affinity term.

A tally is told of every pod that comes or goes, and tells those who read it (see moorage.columns.counts). Finding the
tallies a pod belongs to costs the same however many there are.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol
from weakref import WeakValueDictionary

from moorage.columns.pods import LabelGroup, PodInfo
from moorage.columns.selectorindex import SelectorIndex
from moorage.values.selector import Labels, Selector


class TallyReader(Protocol):
    """Who wants to know of every pod that comes or goes."""

    def add(self, row: int, delta: int, weight: int) -> None:
        """`delta` pods came to a row; `weight` is what the reader asked for when it was attached."""


class Tally(ABC):
    """A kind of pods. Readers are told of every pod of the kind that comes or goes."""

    __slots__ = ("__weakref__", "_readers")

    def __init__(self) -> None:
        self._readers: dict[TallyReader, int] = {}

    def tell(self, row: int, delta: int) -> None:
        """Pass on that pods came to a row or went from it."""
        for reader, weight in self._readers.items():
            reader.add(row, delta, weight)

    def attach(self, reader: TallyReader, weight: int) -> None:
        """Tell this reader from now on."""
        self._readers[reader] = weight

    def detach(self, reader: TallyReader) -> None:
        """Tell this reader no more."""
        del self._readers[reader]

    @abstractmethod
    def places(self) -> Iterable[Mapping[int, int]]:
        """row -> how many such pods lie there, in parts that add up."""


@dataclass(frozen=True)
class Clause:
    """Pods in these namespaces (None: in any) whose labels match."""

    namespaces: frozenset[str] | None
    selector: Selector

    def matches(self, namespace: str, labels: Labels) -> bool:
        """Whether a pod with these labels in this namespace is meant."""
        return (self.namespaces is None or namespace in self.namespaces) and self.selector.matches(labels)


@dataclass(frozen=True)
class PodSelection:
    """Pods that meet every clause (there is at least one); pods being deleted only where `terminating` says so."""

    clauses: tuple[Clause, ...]
    terminating: bool

    def matches(self, group: LabelGroup) -> bool:
        """Whether the pods of a label group are selected."""
        if group.terminating and not self.terminating:
            return False
        return all(clause.matches(group.namespace, group.labels) for clause in self.clauses)


class SelectedPods(Tally):
    """The pods of a selection, by the label groups that match. Current only while somebody reads it."""

    __slots__ = ("_index", "groups", "selection")

    def __init__(self, selection: PodSelection, index: "PodTallies") -> None:
        super().__init__()
        self.selection = selection
        self.groups: dict[LabelGroup, None] = {}
        self._index = index

    def attach(self, reader: TallyReader, weight: int) -> None:
        """Tell this reader from now on."""
        if not self._readers:
            self._index.watch(self)
        super().attach(reader, weight)

    def detach(self, reader: TallyReader) -> None:
        """Tell this reader no more."""
        super().detach(reader)
        if not self._readers:
            self._index.forget(self)

    def places(self) -> Iterable[Mapping[int, int]]:
        """row -> how many such pods lie there, in parts that add up."""
        return [group.rows for group in self.groups]


class PodTallies:
    """The label groups that have pods on nodes, and the selections somebody reads."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[LabelGroup, list[SelectedPods]]] = {}
        self._watched: SelectorIndex[SelectedPods] = SelectorIndex()
        self._known: WeakValueDictionary[PodSelection, SelectedPods] = WeakValueDictionary()

    def selected(self, selection: PodSelection) -> SelectedPods:
        """The tally of a selection, the same for all who ask."""
        known = self._known.get(selection)
        if known is None:
            known = self._known[selection] = SelectedPods(selection, self)
        return known

    def count(self, row: int, pod: PodInfo, delta: int) -> None:
        """A pod came to (+1) or went from (-1) a row, and its label group already says so."""
        group = pod.label_group
        groups = self._groups.get(group.namespace)
        if groups is None:
            groups = self._groups[group.namespace] = {}
        tallies = groups.get(group)
        if tallies is None:
            tallies = groups[group] = self._enter(group)
        for tally in tallies:
            tally.tell(row, delta)
        if not group.rows:
            self._leave(group, groups)

    def watch(self, tally: SelectedPods) -> None:
        """Somebody reads this tally: bring it up to date and keep it so."""
        clause = tally.selection.clauses[0]
        self._watched.add(clause.namespaces, clause.selector, tally)
        for groups in self._groups_in(clause.namespaces):
            for group, tallies in groups.items():
                if tally.selection.matches(group):
                    tallies.append(tally)
                    tally.groups[group] = None

    def forget(self, tally: SelectedPods) -> None:
        """Nobody reads this tally any more."""
        clause = tally.selection.clauses[0]
        self._watched.remove(clause.namespaces, clause.selector, tally)
        for group in tally.groups:
            self._groups[group.namespace][group].remove(tally)
        tally.groups.clear()

    def _enter(self, group: LabelGroup) -> list[SelectedPods]:
        candidates = self._watched.candidates(group.namespace, group.labels)
        tallies = [tally for tally in candidates if tally.selection.matches(group)]
        for tally in tallies:
            tally.groups[group] = None
        return tallies

    def _leave(self, group: LabelGroup, groups: dict[LabelGroup, list[SelectedPods]]) -> None:
        for tally in groups.pop(group):
            del tally.groups[group]
        if not groups:
            del self._groups[group.namespace]

    def _groups_in(self, namespaces: frozenset[str] | None) -> Iterable[dict[LabelGroup, list[SelectedPods]]]:
        if namespaces is None:
            return self._groups.values()
        return [self._groups[name] for name in namespaces if name in self._groups]
