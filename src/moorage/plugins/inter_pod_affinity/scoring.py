"""Preferred terms, the incoming pod's and those of the pods already there."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from moorage.columns import PodInfo, Rows, Snapshot
from moorage.columns.counts import CountTables, DomainCounts
from moorage.columns.domains import Topology
from moorage.columns.heldterms import Role
from moorage.columns.tallies import Tally
from moorage.framework.points import MAX_SCORE, Scores
from moorage.plugins.inter_pod_affinity.terms import resolve, select
from moorage.values.selector import Labels

#: Topology key, the pods that count, and what each of them counts.
_Source = tuple[str, Tally, int]
#: Where raw scores lie within so narrow a range, looking up is quicker than dividing.
_FEW_SCORES = 1024


class ScorePlan:
    """The terms that make nodes better or worse for pods that are alike, as weights added up by domain.

    `hard_weight` is what a required affinity term of a pod already there counts. Good for as long as no namespace
    changes.
    """

    def __init__(
        self, pod: PodInfo, snapshot: Snapshot, tables: CountTables, hard_weight: int, *, unrolled: bool
    ) -> None:
        self._nodes = snapshot.nodes
        self._tables = tables
        self._hard_weight = hard_weight
        self._group = pod.label_group
        self._namespace_labels = snapshot.namespace_labels(pod.namespace)
        self._own = list(_own_sources(pod, snapshot, unrolled=unrolled))
        self._held_version = -1
        self.tables: dict[str, DomainCounts] = {}

    def refresh(self) -> None:
        """Bring everything up to date at the start of a cycle."""
        held_version = self._nodes.held_terms.version
        if self._held_version != held_version:
            self._held_version = held_version
            self.tables = self._find_tables()
        for table in self.tables.values():
            self._tables.use(table)

    @property
    def is_idle(self) -> bool:
        """Whether no pod adds to any score."""
        return not any(table.pods for table in self.tables.values())

    def score(self, labels: Labels) -> int:
        """The score of a node with these labels, not normalised."""
        total = 0
        for key, table in self.tables.items():
            if key in labels:
                total += table.count(self._nodes.label(key).find(labels[key]))
        return total

    def scores(self, rows: Rows) -> Scores:
        """The scores of many rows, not normalised."""
        total: Scores | None = None
        for key, table in self.tables.items():
            if table.pods:
                shares: Scores = table.counts.take(self._nodes.pick(self._nodes.label(key).ids, rows))
                total = shares if total is None else total + shares
        return np.zeros(len(rows), dtype=np.int64) if total is None else total

    def _find_tables(self) -> dict[str, DomainCounts]:
        sources: dict[str, dict[Tally, int]] = {}
        for key, tally, weight in (*self._own, *self._held_sources()):
            weights = sources.setdefault(key, {})
            weights[tally] = weights.get(tally, 0) + weight
        return {key: self._tables.table(Topology(key), weights) for key, weights in sources.items()}

    def _held_sources(self) -> Iterator[_Source]:
        group = self._group
        for held in self._nodes.held_terms.scored(group.namespace, group.labels, self._namespace_labels):
            weight = self._hard_weight if held.role is Role.REQUIRED_AFFINITY else held.weight
            if weight:
                yield held.term.topology_key, held, weight


def normalize(scores: Scores) -> Scores:
    """Bring scores into 0..100, the lowest to 0 and the highest to 100; all to 0 where they are equal."""
    if not len(scores):
        return scores
    lowest = int(scores.min())
    width = int(scores.max()) - lowest
    if width == 0:
        return np.zeros_like(scores)
    above = scores - lowest
    return _scaled_table(width).take(above) if width < _FEW_SCORES else _scale(above, width)


def _scale(above: Scores, width: int) -> Scores:
    scaled: Scores = (MAX_SCORE * (above / width)).astype(np.int64)
    return scaled


@lru_cache(maxsize=256)
def _scaled_table(width: int) -> Scores:
    """The normalised score for everything that may lie above the lowest."""
    return _scale(np.arange(width + 1, dtype=np.int64), width)


def _own_sources(pod: PodInfo, snapshot: Snapshot, *, unrolled: bool) -> Iterator[_Source]:
    tallies = snapshot.nodes.tallies
    terms = pod.terms
    for sign, wishes in ((1, terms.preferred_affinity), (-1, terms.preferred_anti_affinity)):
        for wish in wishes:
            selected = tallies.selected(select((resolve(wish.term, snapshot, unrolled=unrolled),)))
            yield wish.term.topology_key, selected, sign * wish.weight
