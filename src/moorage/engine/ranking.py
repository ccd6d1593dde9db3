"""Scores kept per pod class, and the ranking they make.

Kept are: for each normalised plugin its raw scores; the weighted sum of all other kept plugins (`base`), with the part
that only node changes touch apart (`fixed`); and the ranking, which is base plus the normalised parts, -1 where the
pod does not fit. A pod placed on a node moves one row of base and of the ranking.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moorage.columns import NodeTable, PodInfo, Rows
from moorage.engine.levels import Levels
from moorage.engine.lifting import NodeScore, OutOfRange
from moorage.engine.profiles import CompiledProfile
from moorage.framework.answers import broken, is_skip
from moorage.framework.cycle_state import CycleState
from moorage.framework.normalizing import NormalizeByMax
from moorage.framework.points import Scope, Scores
from moorage.framework.profile import Named

#: Rows that are counted together when one of many ties is looked for, and from how many of them on that pays.
BLOCK = 4096
MANY_BLOCKS = 8

Mask = NDArray[np.bool_]


@dataclass(slots=True)
class KeptRaw:
    """A normalised plugin's raw scores for one class; `constant` where every live row has the same."""

    score: NodeScore
    normalize: NormalizeByMax
    raw: Scores
    constant: int | None


class KeptScores:
    """The kept scores of one pod class in one profile. Nothing is computed before the first `prepare`."""

    def __init__(self, profile: CompiledProfile, pod: PodInfo, nodes: NodeTable, state: CycleState) -> None:
        self._profile = profile
        self._nodes = nodes
        self._pod = pod
        self._state = state
        self.skipped: frozenset[str] = frozenset()
        self._scores: list[NodeScore] = []
        #: The scores that pods on the node move, and those that something cluster-wide moves.
        self._moving: list[NodeScore] = []
        self._wider: list[NodeScore] = []
        self._is_prepared = False
        self._key: Hashable = None
        self._forget()

    def _forget(self) -> None:
        self._raws: list[KeptRaw] = []
        #: Whether pods that come and go move a normalised score: then nothing can be kept when they do.
        self._pods_move_raws = False
        self._fixed: Scores = np.zeros(0, dtype=np.int64)
        self._base: Scores = np.zeros(0, dtype=np.int64)
        self._normalized: Scores = np.zeros(0, dtype=np.int64)
        self._ranked_for: tuple[int, ...] = ()
        self._rank_anew(None)
        #: Scores that cannot be right, by row and plugin: they count 0 and hurt only if the node fits.
        self._bad: dict[tuple[int, str], OutOfRange] = {}

    def _rank_anew(self, ranked: Scores | None) -> None:
        """This is the ranking from now on; None: it is not known."""
        self._ranked: Scores | None = ranked
        self._forget_levels()

    def _forget_levels(self) -> None:
        #: The rows that rank highest: listed once only single rows move between decisions.
        self._levels: Levels | None = None
        self._is_steady = False

    # -------------------------------------------------------------------------------------------------- preparation

    def prepare(self, feasible: Rows) -> None:
        """Run PreScore of the kept plugins, once for the class, and see that the columns are there."""
        if not self._is_prepared:
            self._run_pre_scores(feasible)
        key = tuple([one.kept_until(self._nodes) for one in self._wider])
        if len(self._base) != self._nodes.capacity or key != self._key:
            self._key = key
            self._rebuild()

    def _run_pre_scores(self, feasible: Rows) -> None:
        by_name: dict[str, Named] = {one.name: one for one in self._profile.pre_scores}
        skipped = set()
        for score in self._profile.scores:
            if not score.is_kept:
                continue
            if score.name in by_name and self._skips(by_name[score.name], feasible):
                skipped.add(score.name)
            else:
                self._scores.append(score)
        self.skipped = frozenset(skipped)
        self._moving = [one for one in self._scores if one.normalize is None and one.scope is Scope.NODE_AND_PODS]
        self._wider = [one for one in self._scores if one.looks_wider]
        self._is_prepared = True

    def _skips(self, one: Named, feasible: Rows) -> bool:
        try:
            answer = one.plugin.pre_score(self._state, self._pod, self._nodes, feasible)
        except BaseException as error:
            raise broken(one.name, "PreScore", error) from error
        return is_skip(one.name, one.plugin, "PreScore", answer)

    # --------------------------------------------------------------------------------------------------- evaluation

    def _rebuild(self) -> None:
        capacity = self._nodes.capacity
        self._forget()
        self._fixed = np.zeros(capacity, dtype=np.int64)
        self._base = np.zeros(capacity, dtype=np.int64)
        for one in self._scores:
            if isinstance(one.normalize, NormalizeByMax):
                self._raws.append(KeptRaw(one, one.normalize, np.zeros(capacity, dtype=np.int64), None))
                self._pods_move_raws = self._pods_move_raws or one.scope is Scope.NODE_AND_PODS
        self._evaluate(self._nodes.rows)
        for kept in self._raws:
            kept.constant = _constant(kept.raw[self._nodes.rows])

    def _evaluate(self, rows: Rows) -> None:
        """Every kept plugin's scores of these rows."""
        for kept in self._raws:
            kept.raw[rows] = self._scores_of(kept.score, rows)
        fixed = np.zeros(len(rows), dtype=np.int64)
        for one in self._scores:
            if one.normalize is None and one.scope is Scope.NODE:
                fixed += self._scores_of(one, rows) * one.weight
        self._fixed[rows] = fixed
        self._base[rows] = self._moved(rows)

    def _moved(self, rows: Rows) -> Scores:
        base: Scores = self._fixed.take(rows)
        for one in self._moving:
            scores = self._scores_of(one, rows)
            base += scores if one.weight == 1 else scores * one.weight
        return base

    def _scores_of(self, one: NodeScore, rows: Rows) -> Scores:
        """The scores of these rows, and in `_bad` those that cannot be right."""
        if self._bad:
            gone = set(rows.tolist())
            self._bad = {at: error for at, error in self._bad.items() if at[1] != one.name or at[0] not in gone}
        try:
            return one.many(self._state, self._pod, self._nodes, rows)
        except OutOfRange:
            return np.array([self._score_of(one, row) for row in rows.tolist()], dtype=np.int64)

    def _score_of(self, one: NodeScore, row: int) -> int:
        try:
            return one.one(self._state, self._pod, self._nodes, self._nodes.infos[row])
        except OutOfRange as error:
            self._bad[row, one.name] = error
            return 0

    # -------------------------------------------------------------------------------------------------- catching up

    @property
    def is_current(self) -> bool:
        """Whether there are columns to be kept current."""
        return len(self._base) == self._nodes.capacity

    def nodes_changed(self, rows: Rows) -> None:
        """The node objects of these live rows changed."""
        if not self.is_current:
            return
        self._evaluate(rows)
        for kept in self._raws:
            if kept.constant is not None and (kept.raw[rows] != kept.constant).any():
                kept.constant = None
        self._rank_anew(None)

    def pods_changed(self, rows: Rows, passing: Mask) -> None:
        """Pods came to or went from these rows. `passing` is the mask of all rows, already up to date."""
        if not self.is_current:
            return
        if self._pods_move_raws:
            self._forget()
            return
        base = self._moved(rows)
        self._base[rows] = base
        if self._ranked is not None:
            self._ranked[rows] = np.where(passing.take(rows), base + self._normalized.take(rows), -1)
            self._forget_levels()

    def few_pods_changed(self, rows: Iterable[int], passing: Mask) -> None:
        """The same for a few rows, one by one."""
        if not self.is_current:
            return
        if self._pods_move_raws:
            self._forget()
            return
        infos = self._nodes.infos
        for row in rows:
            base = int(self._fixed[row])
            for one in self._moving:
                if self._bad:
                    self._bad.pop((row, one.name), None)
                try:
                    base += one.one(self._state, self._pod, self._nodes, infos[row]) * one.weight
                except OutOfRange as error:
                    self._bad[row, one.name] = error
            self._base[row] = base
            if self._ranked is not None:
                rank = base + int(self._normalized[row]) if passing[row] else -1
                if self._levels is not None:
                    self._levels.move(row, int(self._ranked[row]), rank)
                self._ranked[row] = rank

    # ----------------------------------------------------------------------------------------------------- ranking

    def check(self, rows: Rows) -> None:
        """Raise OutOfRange if one of these rows has a score that cannot be right. Nodes that do not fit may have."""
        for (row, _), error in self._bad.items():
            at = int(np.searchsorted(rows, row))
            if at < len(rows) and rows[at] == row:
                raise error.with_traceback(None)

    def totals(self, rows: Rows) -> Scores:
        """The weighted sum of the kept scores of `rows`, normalised among them."""
        total: Scores = self._base.take(rows)
        for one in self._raws:
            if one.constant is not None:
                total += one.normalize.scale_one(one.constant, one.constant) * one.score.weight
            else:
                raw = one.raw.take(rows)
                total += one.normalize.scale(raw, int(raw.max())) * one.score.weight
        return total

    def one_of_the_best(self, passing: Mask, seed: int) -> int:
        """A row among those with the highest rank; a seed of 64 random bits makes each as likely as any other."""
        ranked = self._ranked_now(passing)[: len(self._nodes.infos)]
        best = self._levels.best() if self._levels is not None else []
        if not best:
            if not self._is_steady:
                self._is_steady = True
                return one_of_the_best(ranked, seed)
            self._levels = Levels(ranked)
            best = self._levels.best()
        return best[seed * len(best) >> 64]

    def _ranked_now(self, passing: Mask) -> Scores:
        """Totals of all rows, -1 where the pod does not fit (`passing`, as kept up to date)."""
        highest = tuple(
            [
                one.constant if one.constant is not None else int(one.raw.max(where=passing, initial=0))
                for one in self._raws
            ]
        )
        if self._ranked is None or highest != self._ranked_for:
            self._normalized = np.zeros(self._nodes.capacity, dtype=np.int64)
            for one, top in zip(self._raws, highest, strict=True):
                self._normalized += one.normalize.scale(one.raw, top) * one.score.weight
            self._rank_anew(np.where(passing, self._base + self._normalized, -1))
            self._ranked_for = highest
        assert self._ranked is not None
        return self._ranked


def _constant(raw: Scores) -> int | None:
    return int(raw[0]) if len(raw) and (raw == raw[0]).all() else None


def one_of_the_best(ranked: Scores, seed: int) -> int:
    """A row among those with the highest rank; a seed of 64 random bits makes each as likely as any other."""
    best = ranked == np.maximum.reduce(ranked)
    if len(best) > MANY_BLOCKS * BLOCK:
        return _nth_true(best, seed * int(np.count_nonzero(best)) >> 64)
    ties = best.nonzero()[0]
    return int(ties[seed * len(ties) >> 64])


def _nth_true(mask: Mask, n: int) -> int:
    """Where the n-th true stands. Counts by blocks first: on a large cluster listing all ties would cost more."""
    whole = len(mask) // BLOCK * BLOCK
    upto = np.cumsum(mask[:whole].reshape(-1, BLOCK).sum(axis=1))
    block = int(np.searchsorted(upto, n, side="right"))
    start = block * BLOCK
    rest = mask[start : start + BLOCK]
    return start + int(rest.nonzero()[0][n - (int(upto[block - 1]) if block else 0)])
