"""Why no node fits: the status of every node, and the sentence that sums them up."""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from moorage.columns import Rows
from moorage.framework.status import Code, Status


class NodeStatuses:
    """A status for each row of the node table, kept as ids of the few distinct ones.

    Rows without one of their own share `absent` (nodes outside a PreFilter result, or all of them where PreFilter
    itself refused).
    """

    def __init__(self, rows: Rows, absent: Status | None = None) -> None:
        self.rows = rows
        self.absent = absent
        self._ids: NDArray[np.intp] = np.full(int(rows.max()) + 1 if len(rows) else 0, -1, dtype=np.intp)
        self._statuses: list[Status] = []
        self._id_of: dict[Status, int] = {}

    def assign(self, row: int, status: Status) -> None:
        """Give one row its status."""
        self._ids[row] = self._intern(status)

    def assign_all(self, rows: Rows, codes: NDArray[np.intp], statuses: Mapping[int, Status]) -> None:
        """Give many rows their status: `codes` index `statuses`."""
        for code in np.unique(codes).tolist():
            self._ids[rows[codes == code]] = self._intern(statuses[code])

    def get(self, row: int) -> Status | None:
        """The status of a row; None where it was never looked at."""
        if not 0 <= row < len(self._ids):
            return None
        known = int(self._ids[row])
        return self._statuses[known] if known >= 0 else self.absent

    def with_code(self, code: Code) -> Rows:
        """The rows whose status has exactly this code, ascending."""
        ids = self._ids[self.rows]
        wanted = np.array([status.code is code for status in self._statuses] + [_has(self.absent, code)], dtype=bool)
        chosen: Rows = self.rows[wanted[ids]]
        return chosen

    def distinct(self, code: Code) -> list[Status]:
        """The different statuses with exactly this code, in the order they were first given."""
        return [status for status in self._statuses if status.code is code]

    def own(self) -> Iterable[tuple[int, Status]]:
        """The rows that have a status of their own."""
        for row in self.rows.tolist():
            known = int(self._ids[row])
            if known >= 0:
                yield row, self._statuses[known]

    def histogram(self) -> Counter[str]:
        """Each reason with the number of nodes that gave it."""
        reasons: Counter[str] = Counter()
        ids = self._ids[self.rows]
        counts = np.bincount(ids[ids >= 0], minlength=len(self._statuses)).tolist()
        for status, count in zip(self._statuses, counts, strict=True):
            for reason in status.reasons if count else ():
                reasons[reason] += count
        missing = int((ids < 0).sum())
        for reason in self.absent.reasons if self.absent and missing else ():
            reasons[reason] += missing
        return reasons

    def plugins(self, code: Code | None = None) -> set[str]:
        """The plugins that refused some node, with this code or with any."""
        used = set(np.unique(self._ids[self.rows]).tolist())
        refusals = [status for index, status in enumerate(self._statuses) if index in used]
        if self.absent is not None:
            refusals.append(self.absent)
        return {status.plugin for status in refusals if status.plugin and code in (None, status.code)}

    def _intern(self, status: Status) -> int:
        known = self._id_of.get(status)
        if known is None:
            known = self._id_of[status] = len(self._statuses)
            self._statuses.append(status)
        return known


def fit_message(nodes: int, reasons: Mapping[str, int], pre_filter: str = "") -> str:
    """The sentence of the FailedScheduling event, before anything PostFilter adds."""
    head = f"0/{nodes} nodes are available:"
    if pre_filter:
        return f"{head} {pre_filter}."
    if not reasons:
        return head
    counted = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f"{head} {', '.join(counted)}."


def _has(status: Status | None, code: Code) -> bool:
    return status is not None and status.code is code
