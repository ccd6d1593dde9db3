"""PreScore, Score and NormalizeScore for one pod: how good each node that fits is."""

from random import Random

import numpy as np

from moorage.columns import NodeTable, Rows
from moorage.errors import PluginError
from moorage.framework.filtering import Search
from moorage.framework.lifting import NodeScore, broken, is_skip
from moorage.framework.points import Scores
from moorage.framework.profile import Profile

#: Ties are many if they are more than one row in so many; then so many draws all but surely find one.
MANY_TIES = 8
MOST_DRAWS = 100


class Scoring:
    """Runs the PreScore and Score plugins of a profile."""

    def __init__(self, profile: Profile, nodes: NodeTable) -> None:
        self._profile = profile
        self._nodes = nodes
        kept = {one.name for one in profile.scores if one.is_kept}
        self._asked_pre_scores = [one for one in profile.pre_scores if one.name not in kept]
        self._asked_scores = [one for one in profile.scores if not one.is_kept]

    def prepare(self, search: Search, rows: Rows) -> list[NodeScore]:
        """Run PreScore over the rows that fit; returns the plugins that are asked to score in this cycle."""
        try:
            search.columns.scores.prepare(rows)
        except PluginError:
            search.columns.forget_scores()
            raise
        skipped = set(search.columns.scores.skipped)
        for one in self._asked_pre_scores:
            try:
                answer = one.plugin.pre_score(search.state, search.pod, self._nodes, rows)
            except Exception as error:
                raise broken(one.name, "PreScore", error) from error
            if is_skip(one.name, "PreScore", answer):
                skipped.add(one.name)
        search.state.skipped_scores = frozenset(skipped)
        return [one for one in self._asked_scores if one.name not in skipped]

    def totals(self, search: Search, rows: Rows, asked: list[NodeScore]) -> Scores:
        """The sum of all plugins' weighted scores for each of `rows`."""
        total = search.columns.scores.totals(rows)
        for one in asked:
            total += one.weighted(search.state, search.pod, self._nodes, rows)
        return total

    def by_plugin(self, search: Search, rows: Rows) -> dict[str, Scores]:
        """Every plugin's weighted scores for each of `rows`, computed afresh; call `prepare` first."""
        return {
            one.name: one.weighted(search.state, search.pod, self._nodes, rows)
            for one in self._profile.scores
            if one.name not in search.state.skipped_scores
        }

    @property
    def is_empty(self) -> bool:
        """Whether no plugin scores: every node is then as good as any other."""
        return not self._profile.scores


def best_rows(rows: Rows, totals: Scores) -> Rows:
    """The rows with the highest total."""
    best: Rows = rows[totals == totals.max()]
    return best


def one_of_the_best(ranked: Scores, random: Random) -> int:
    """A random row among those with the highest rank, each as likely as any other."""
    best = ranked == ranked.max()
    count = int(np.count_nonzero(best))
    if count * MANY_TIES > len(ranked):
        # Where ties are many, drawing rows until one of them comes up is quicker than listing them.
        for _ in range(MOST_DRAWS):
            row = random.randrange(len(ranked))
            if best[row]:
                return row
    rows = np.flatnonzero(best)
    return int(rows[random.randrange(count)] if count > 1 else rows[0])
