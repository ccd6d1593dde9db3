"""PreScore, Score and NormalizeScore for one pod: how good each node that fits is."""

from moorage.columns import NodeTable, Rows
from moorage.engine.filtering import Search
from moorage.engine.lifting import NodeScore
from moorage.engine.profiles import CompiledProfile
from moorage.errors import PluginError
from moorage.framework.answers import broken, is_skip
from moorage.framework.points import Scores, ScoresAlike
from moorage.framework.status import INDIFFERENT, SKIP


class Scoring:
    """Runs the PreScore and Score plugins of a profile."""

    def __init__(self, profile: CompiledProfile, nodes: NodeTable) -> None:
        self._profile = profile
        self._nodes = nodes
        kept = {one.name for one in profile.scores if one.is_kept}
        self._asked_pre_scores = [one for one in profile.pre_scores if one.name not in kept]
        self._asked_scores = [one for one in profile.scores if not one.is_kept]
        plugins = [(one.name, profile.configured.plugins[one.name]) for one in self._asked_scores]
        self._alike = [(name, plugin) for name, plugin in plugins if isinstance(plugin, ScoresAlike)]

    def prepare(self, search: Search, rows: Rows) -> list[NodeScore]:
        """Run PreScore over the rows that fit; returns the plugins that are asked to score in this cycle."""
        try:
            search.columns.scores.prepare(rows)
        except PluginError:
            search.columns.forget_scores()
            raise
        search.columns.scores.check(rows)
        skipped = set(search.columns.scores.skipped)
        indifferent: set[str] = set()
        timing = self._profile.timing
        began = timing.clock() if timing is not None else 0.0
        for one in self._asked_pre_scores:
            try:
                answer = one.plugin.pre_score(search.state, search.pod, self._nodes, rows)
            except BaseException as error:
                raise broken(one.name, "PreScore", error) from error
            if answer is SKIP:
                skipped.add(one.name)
            elif answer is INDIFFERENT:
                indifferent.add(one.name)
            elif is_skip(one.name, one.plugin, "PreScore", answer):
                skipped.add(one.name)
        if timing is not None and self._asked_pre_scores:
            timing.status("PreScore", None, began)
        search.state.skipped_scores = frozenset(skipped)
        for name, plugin in self._alike:
            try:
                if plugin.scores_alike(search.state):
                    indifferent.add(name)
            except BaseException as error:
                raise broken(name, "Score", error) from error
        silent = skipped | indifferent
        return [one for one in self._asked_scores if one.name not in silent]

    def totals(self, search: Search, rows: Rows, asked: list[NodeScore]) -> Scores:
        """The sum of all plugins' weighted scores for each of `rows`."""
        timing = self._profile.timing
        began = timing.clock() if timing is not None else 0.0
        total = search.columns.scores.totals(rows)
        for one in asked:
            total += one.weighted(search.state, search.pod, self._nodes, rows)
        if timing is not None:
            timing.status("Score", None, began)
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
