"""percentageOfNodesToScore: how many of the nodes that fit are scored, and from which node on."""

import numpy as np

from moorage.columns import Rows

#: Below this many nodes, and of so many feasible ones at least, all are scored.
FEWEST = 100


class Sampling:
    """Honours an explicit percentage of 1..99; otherwise every node that fits is scored.

    The next search starts where this one stopped, so that all nodes get their turn.
    """

    def __init__(self) -> None:
        self._start = 0

    def sample(self, rows: Rows, nodes: Rows, percentage: int) -> Rows:
        """The first `percentage` of all `nodes` among the feasible `rows`, from the start position on."""
        if not 1 <= percentage <= 99 or len(nodes) < FEWEST:
            return rows
        wanted = max(len(nodes) * percentage // 100, FEWEST)
        if len(rows) <= wanted:
            return rows
        places = np.sort((np.searchsorted(nodes, rows) - self._start) % len(nodes))
        # The search goes on until it meets one feasible node too many: that one is looked at, too.
        looked_at = int(places[wanted]) + 1
        chosen = nodes[(places[:wanted] + self._start) % len(nodes)]
        self._start = (self._start + looked_at - 1) % len(nodes)
        return np.sort(chosen)
