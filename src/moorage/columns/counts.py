"""Pods counted by topology domain: tables that tallies keep current, made anew when nodes change."""

from collections.abc import Mapping
from itertools import chain
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from moorage.columns.domains import DomainIndex, Domains, Topology
from moorage.columns.labels import ABSENT
from moorage.columns.table import NodeTable
from moorage.columns.tallies import Tally

#: The smallest count where there is no domain at all.
NO_DOMAIN_MINIMUM = 2**31 - 1

#: Tables are dropped, least recently used first, while they hold more numbers than this (32 MiB of them) ...
MAX_CELLS = 1 << 22
#: ... but this many are always kept: a decision must never lose the tables it is using.
MIN_TABLES = 64

NOT_KEPT = -1
#: How many changes a table remembers, at least.
_JOURNAL = 64
_NOTHING = np.zeros(1, dtype=np.int64)
_Sources = frozenset[tuple[Tally, int]]


class DomainCounts:
    """The pods of some tallies by domain, each times its tally's weight. Read it only after `CountTables.use`.

    `revision` moves with every change.
    """

    __slots__ = (
        "__weakref__",
        "_histogram",
        "_journal",
        "_of_row",
        "counts",
        "domain_ids",
        "pods",
        "revision",
        "sources",
        "topology",
        "version",
    )

    def __init__(self, topology: Topology, sources: _Sources) -> None:
        self.topology = topology
        self.sources = sources
        #: How many pods lie in any domain, whatever their weight (a pod in two tallies counts twice).
        self.pods = 0
        self.revision = 0
        #: The topology version the counts were made for, NOT_KEPT while there are none.
        self.version = NOT_KEPT
        #: By domain id. One more cell, the last, stays 0: what ABSENT finds.
        self.counts: NDArray[np.int64] = _NOTHING
        #: The domains that have a node taking part; all others count 0.
        self.domain_ids: NDArray[np.intp] = _NOTHING
        self._of_row: NDArray[np.intp] = _NOTHING
        self._histogram: dict[int, int] | None = None
        #: The domains of the latest changes, one for each revision.
        self._journal: list[int] = []

    def add(self, row: int, delta: int, weight: int) -> None:
        """Pods came to a row or went from it."""
        domain = self._of_row.item(row) if row < len(self._of_row) else ABSENT  # later rows have no node yet
        if domain == ABSENT:
            return
        before = self.counts.item(domain)
        after = self.counts[domain] = before + delta * weight
        self.pods += delta
        self.revision += 1
        self._journal.append(domain)
        if len(self._journal) > 2 * _JOURNAL:
            del self._journal[:_JOURNAL]
        histogram = self._histogram
        if histogram is not None and before != after:
            histogram[after] = histogram.get(after, 0) + 1
            if histogram[before] == 1:
                del histogram[before]
            else:
                histogram[before] -= 1

    def count(self, domain: int) -> int:
        """The count of one domain; 0 where the domain is not known."""
        return self.counts.item(domain) if domain < len(self.counts) else 0

    def changed_since(self, revision: int) -> list[int] | None:
        """The domains that changed since a revision, or None where that is not known any more."""
        first = self.revision - len(self._journal)
        return self._journal[revision - first :] if revision >= first else None

    def minimum(self) -> int:
        """The smallest count of any domain."""
        return min(self._numbers(), default=NO_DOMAIN_MINIMUM)

    def minimum_with(self, added: Mapping[int, int]) -> int:
        """The smallest count of any domain if so much were added to some of them."""
        smallest = NO_DOMAIN_MINIMUM
        moved: dict[int, int] = {}
        for domain, delta in added.items():
            before = self.count(domain)
            smallest = min(smallest, before + delta)
            if 0 <= domain < len(self.counts) - 1:
                moved[before] = moved.get(before, 0) + 1
        stayed = (count for count, number in self._numbers().items() if number > moved.get(count, 0))
        return min(smallest, min(stayed, default=NO_DOMAIN_MINIMUM))

    def keep(self, domains: Domains, version: int) -> None:
        """Count everything anew and hear of every pod from now on."""
        if self.version == NOT_KEPT:
            for tally, weight in self.sources:
                tally.attach(self, weight)
        self._of_row, self.domain_ids, self.version = domains.of_row, domains.ids, version
        self._histogram = None
        self._journal.clear()
        self.revision += 1
        self.pods = 0
        self.counts = np.zeros(domains.size + 1, dtype=np.int64)
        for tally, weight in self.sources:
            self._count(tally, weight)

    def release(self) -> None:
        """Give the memory back; the table is made anew when it is next used."""
        for tally, _ in self.sources:
            tally.detach(self)
        self.version = NOT_KEPT
        self.counts = self.domain_ids = self._of_row = _NOTHING
        self._histogram = None

    def _count(self, tally: Tally, weight: int) -> None:
        places = list(tally.places())
        rows = np.fromiter(chain.from_iterable(places), dtype=np.intp)
        pods = np.fromiter(chain.from_iterable(place.values() for place in places), dtype=np.int64)
        known = rows < len(self._of_row)
        domains, pods = self._of_row[rows[known]], pods[known]
        taking_part = domains >= 0
        np.add.at(self.counts, domains[taking_part], pods[taking_part] * weight)
        self.pods += int(pods[taking_part].sum())

    def _numbers(self) -> dict[int, int]:
        """count -> how many domains have it; kept up to date once somebody has asked."""
        if self._histogram is None:
            values, numbers = np.unique(self.counts[self.domain_ids], return_counts=True)
            self._histogram = dict(zip(values.tolist(), numbers.tolist(), strict=True))
        return self._histogram


class CountTables:
    """Tables of counts, shared by all who ask for the same one. Memory is bounded; a dropped table comes back."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._domains = DomainIndex(nodes)
        self._known: WeakValueDictionary[tuple[Topology, _Sources], DomainCounts] = WeakValueDictionary()
        #: The tables that are kept, least recently used first.
        self._kept: dict[DomainCounts, None] = {}
        self._cells = 0

    def table(self, topology: Topology, sources: Mapping[Tally, int]) -> DomainCounts:
        """The table of these tallies, each with its weight, over a topology. `use` it before reading."""
        key = (topology, frozenset(sources.items()))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = DomainCounts(*key)
        return known

    def use(self, table: DomainCounts) -> None:
        """Bring a table up to date; it stays so until the nodes change."""
        kept = self._kept
        if table.version == self._nodes.topology_version:
            del kept[table]
            kept[table] = None
            return
        self._cells -= len(table.counts)
        kept.pop(table, None)
        table.keep(self._domains.of(table.topology), self._nodes.topology_version)
        kept[table] = None
        self._cells += len(table.counts)
        while self._cells > MAX_CELLS and len(kept) > MIN_TABLES:
            oldest = next(iter(kept))
            del kept[oldest]
            self._cells -= len(oldest.counts)
            oldest.release()
