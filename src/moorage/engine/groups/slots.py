"""How many members nodes take, where members are alike and their fitting is a matter of sums: known without a try."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.columns import PodInfo, Rows
from moorage.engine.runner import Runner

#: More than any node takes.
_PLENTY: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Slots:
    """Rows that take members, ascending, and how many each takes."""

    rows: Rows
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        """How many in all."""
        return int(self.counts.sum())

    def within(self, rows: Rows) -> int:
        """How many of these rows take in all."""
        return int(self.counts[np.isin(self.rows, rows, assume_unique=True)].sum())


def slots_for(runner: Runner, members: Sequence[PodInfo], within: Rows | None = None) -> Slots | None:
    """None where members differ, or where more than sums decides."""
    snapshot = runner.snapshot
    if not members or len(snapshot.nominations) or any(one.is_interested(members[0]) for one in runner.extenders):
        return None
    first = members[0]
    if any(not _is_alike(first, other) for other in members):
        return None
    search = runner.filtering.begin(first)
    if search.rejection is not None:
        return None
    search.within = within
    needs = runner.filtering.needs_alone(search.state)
    if needs is None:
        return None
    rows = runner.filtering.feasible(search)
    counts = np.full(len(rows), _PLENTY, dtype=np.int64)
    for name, amount in needs.items():
        if amount > 0:
            counts = np.minimum(counts, snapshot.nodes.resources.free(name).take(rows) // amount)
    return Slots(rows, np.maximum(counts, 0))


def _is_alike(pod: PodInfo, other: PodInfo) -> bool:
    return (
        other.pod_class is pod.pod_class
        and other.affinity_class is None
        and not other.spec.volumes
        and not other.spec.resource_claims
        and not other.spec.topology_spread_constraints
        and not other.pod.status.nominated_node_name
    )
