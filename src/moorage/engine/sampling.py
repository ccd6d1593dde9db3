"""percentageOfNodesToScore: how many of the nodes that fit are scored, and from which node on."""

from typing import NamedTuple

import numpy as np

from moorage.columns import Rows

#: Below this many nodes, and of so many feasible ones at least, all are scored.
FEWEST = 100
#: What the adaptive share never falls below, in hundredths.
LOWEST_SHARE = 5


class Sample(NamedTuple):
    """The rows to be scored, those the search looked at to find them, and where the next search starts."""

    rows: Rows
    visited: Rows
    next_start: int


def wanted_nodes(nodes: int, percentage: int, *, adaptive: bool) -> int:
    """How many feasible nodes are enough; `nodes` where all are wanted.

    An explicit percentage of 1..99 is honoured. Without one (0) all nodes are scored, unless every node costs a caller
    (`adaptive`): then the share shrinks as the cluster grows, as it does in kube-scheduler.
    """
    if percentage == 0 and adaptive:
        percentage = max(50 - nodes // 125, LOWEST_SHARE)
    if not 1 <= percentage <= 99 or nodes < FEWEST:
        return nodes
    return max(nodes * percentage // 100, FEWEST)


def sample(feasible: Rows, searched: Rows, wanted: int, start: int, nodes: int) -> Sample | None:
    """The first `wanted` of the `feasible` rows among those `searched`, from the start position on.

    None where there are no more than that: then all were looked at. The next search starts where this one stopped, so
    that all `nodes` get their turn.
    """
    if len(feasible) <= wanted:
        return None
    places = np.sort((np.searchsorted(searched, feasible) - start) % len(searched))
    # The search goes on until it meets one feasible node too many: that one is looked at, too.
    next_start = (start + int(places[wanted])) % nodes
    turned = np.roll(searched, -(start % len(searched)))
    return Sample(np.sort(turned[places[:wanted]]), visited_rows(searched, start, next_start, nodes), next_start)


def visited_rows(searched: Rows, start: int, next_start: int, nodes: int) -> Rows:
    """The rows a search looked at that began and ended there, ascending."""
    looked_at = (next_start - start) % nodes
    return np.sort(np.roll(searched, -(start % len(searched)))[:looked_at])
