"""One shape for every filter and score, whichever of the two forms a plugin was written in."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.errors import PluginError
from moorage.framework.answers import broken, unfit, verdict, wrong
from moorage.framework.cycle_state import CycleState
from moorage.framework.normalizing import NormalizeByMax
from moorage.framework.points import MAX_SCORE, MIN_SCORE, Scope, Scores, Verdicts
from moorage.framework.status import Status

#: Up to this many rows the one-node form is quicker than the dispatch of array operations.
FEW_ROWS = 6


class NodeFilter:
    """A plugin's Filter. Statuses get small ids of their own, so that verdicts can be kept as arrays."""

    def __init__(self, name: str, plugin: Any) -> None:
        self.name = name
        self.plugin = plugin
        self.scope: Scope = getattr(plugin, "filter_scope", Scope.CLUSTER)
        self._one: Callable[..., Status | None] | None = getattr(plugin, "filter", None)
        self._many = getattr(plugin, "filter_nodes", None)
        #: Where the filter passes exactly if enough is free (FilterBySums): what must be.
        self.needs: Callable[[CycleState], Mapping[str, int]] | None = getattr(plugin, "needs", None)
        #: Status ids start at 1; 0 means the pod fits.
        self.statuses: dict[int, Status] = {}
        self._id_of: dict[Status, int] = {}

    @property
    def is_kept(self) -> bool:
        """Whether verdicts stay good for a pod class until the node changes."""
        return self.scope is not Scope.CLUSTER

    def one(self, state: CycleState, pod: PodInfo, nodes: NodeTable, node: NodeInfo) -> Status | None:
        """The verdict on one node; None where the pod fits. `node` may be a changed copy."""
        if self._one is None:
            code = int(self.many(state, pod, nodes, np.array([node.row], dtype=np.intp))[0])
            return self.statuses[code] if code else None
        try:
            status = self._one(state, pod, node)
        except BaseException as error:
            raise broken(self.name, "Filter", error) from error
        return None if status is None else verdict(self.name, self.plugin, "Filter", status)

    def one_code(self, state: CycleState, pod: PodInfo, nodes: NodeTable, row: int) -> int:
        """The verdict on one row as an id of `statuses`, 0 where the pod fits."""
        status = self.one(state, pod, nodes, nodes.infos[row])
        return 0 if status is None else self._intern(status)

    def many(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> NDArray[np.intp]:
        """The verdicts on many rows as ids of `statuses`, 0 where the pod fits."""
        codes = self.refusals(state, pod, nodes, rows)
        return np.zeros(len(rows), dtype=np.intp) if codes is None else codes

    def refusals(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> NDArray[np.intp] | None:
        """The same; None where all rows fit."""
        try:
            verdicts = self._verdicts(state, pod, nodes, rows)
            if verdicts is None:
                return None
            known = [self._intern(self._checked(status)) for status in verdicts.statuses]
            mapped: NDArray[np.intp] = np.array([0, *known], dtype=np.intp)[verdicts.codes]
            return mapped
        except PluginError:
            raise
        except BaseException as error:
            raise broken(self.name, "Filter", error) from error

    def fitting(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Rows:
        """Those of `rows` that pass; `rows` itself where all do."""
        try:
            verdicts = self._verdicts(state, pod, nodes, rows)
            if verdicts is None:
                return rows
            for status in verdicts.statuses:
                self._checked(status)
            fits: Rows = rows[verdicts.codes == 0]
            return fits
        except PluginError:
            raise
        except BaseException as error:
            raise broken(self.name, "Filter", error) from error

    def _verdicts(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts | None:
        """What the plugin says; None where all rows fit."""
        if self._many is None or (self._one is not None and len(rows) <= FEW_ROWS):
            refusals = [self.one(state, pod, nodes, nodes.infos[row]) for row in rows.tolist()]
            found = list(dict.fromkeys(status for status in refusals if status is not None))
            ids = {status: index for index, status in enumerate(found, start=1)}
            given = [ids[status] if status is not None else 0 for status in refusals]
            return Verdicts(np.array(given, dtype=np.intp), found) if found else None
        answer = self._many(state, pod, nodes, rows)
        if type(answer) is not Verdicts:
            raise unfit(self.name, self.plugin, "Filter", answer, "Verdicts")
        codes, statuses = answer
        if not isinstance(codes, np.ndarray) or codes.dtype.kind not in "iu" or codes.shape != rows.shape:
            raise unfit(self.name, self.plugin, "Filter", codes, f"the codes of {len(rows)} nodes as integers")
        if not codes.any():
            return None
        if int(codes.max()) > len(statuses) or int(codes.min()) < 0:
            raise wrong(self.name, self.plugin, "Filter", f"a verdict names none of the {len(statuses)} statuses")
        return answer

    def _checked(self, status: Status) -> Status:
        refusal = verdict(self.name, self.plugin, "Filter", status)
        if refusal is None:
            raise wrong(self.name, self.plugin, "Filter", "answered a verdict whose status says yes")
        return refusal

    def _intern(self, status: Status) -> int:
        known = self._id_of.get(status)
        if known is None:
            known = self._id_of[status] = len(self._id_of) + 1
            self.statuses[known] = status
        return known


class OutOfRange(PluginError):
    """A score that cannot be right. It fails an attempt only where the node fits: others are not scored."""

    def __init__(self, plugin: str, score: int, node: str) -> None:
        super().__init__(plugin, "Score", "")
        self.add_note(f"it is the score of node {node}")
        # kube-scheduler's words: it looks at scores when it weighs them.
        self.args = (
            f'applying score defaultWeights on Score plugins: plugin "{plugin}" returns an invalid score {score}, '
            f"it should in the range of [{MIN_SCORE}, {MAX_SCORE}] after normalizing",
        )


class NodeScore:
    """A plugin's Score with its weight and, if it has one, its NormalizeScore."""

    def __init__(self, name: str, plugin: Any, weight: int) -> None:
        self.name = name
        self.weight = weight
        self.scope: Scope = getattr(plugin, "score_scope", Scope.CLUSTER)
        self.normalize = getattr(plugin, "normalize_scores", None)
        self.plugin = plugin
        self._one: Callable[..., int] | None = getattr(plugin, "score", None)
        self._many = getattr(plugin, "score_nodes", None)
        #: Whether raw scores below 0 cannot be normalised into the range.
        self._is_by_max = isinstance(self.normalize, NormalizeByMax)
        self._kept_until: Callable[[NodeTable], Hashable] | None = getattr(plugin, "kept_until", None)

    @property
    def is_kept(self) -> bool:
        """Whether raw scores stay good for a pod class until the node changes and can be ranked without the rest."""
        return self.scope is not Scope.CLUSTER and (self.normalize is None or self._is_by_max)

    @property
    def looks_wider(self) -> bool:
        """Whether kept scores also depend on something cluster-wide: see `kept_until`."""
        return self._kept_until is not None

    def kept_until(self, nodes: NodeTable) -> Hashable:
        """A value whose change makes every kept score stale (plugins that also read something cluster-wide)."""
        if self._kept_until is None:
            return None
        try:
            return self._kept_until(nodes)
        except BaseException as error:
            raise broken(self.name, "Score", error) from error

    def one(self, state: CycleState, pod: PodInfo, nodes: NodeTable, node: NodeInfo) -> int:
        """The raw score of one node."""
        if self._one is None:
            return int(self.many(state, pod, nodes, np.array([node.row], dtype=np.intp))[0])
        try:
            score = self._one(state, pod, node)
        except BaseException as error:
            raise broken(self.name, "Score", error) from error
        if type(score) is not int and (isinstance(score, bool) or not isinstance(score, int | np.integer)):
            raise unfit(self.name, self.plugin, "Score", score, f"an integer (for node {node.name})")
        if not self._is_possible(score, score):
            raise OutOfRange(self.name, score, node.name)
        return score

    def many(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Scores:
        """The raw scores of many rows."""
        if self._many is None or (self._one is not None and len(rows) <= FEW_ROWS):
            given = [self.one(state, pod, nodes, nodes.infos[row]) for row in rows.tolist()]
            try:
                return np.array(given, dtype=np.int64)
            except OverflowError:
                raise wrong(self.name, self.plugin, "Score", f"answered {max(given, key=abs)}: too big") from None
        try:
            scores: Scores = self._many(state, pod, nodes, rows)
        except PluginError:
            raise
        except BaseException as error:
            raise broken(self.name, "Score", error) from error
        self._check_shape(scores, rows, "Score")
        if len(scores) and not self._is_possible(int(np.minimum.reduce(scores)), int(np.maximum.reduce(scores))):
            self._check(scores, nodes, rows)
        return scores

    def weighted(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Scores:
        """The scores of `rows`, normalised among them, times the weight."""
        scores = self.many(state, pod, nodes, rows)
        if self.normalize is not None:
            try:
                scores = self.normalize(state, pod, scores, rows)
            except BaseException as error:
                raise broken(self.name, "NormalizeScore", error) from error
            self._check_shape(scores, rows, "NormalizeScore")
            self._check(scores, nodes, rows)
        return scores * self.weight

    def _is_possible(self, lowest: int, highest: int) -> bool:
        """Whether raw scores in this range can be right."""
        if self.normalize is None:
            return lowest >= MIN_SCORE and highest <= MAX_SCORE
        return lowest >= MIN_SCORE or not self._is_by_max

    def _check_shape(self, scores: Any, rows: Rows, point: str) -> None:
        if not isinstance(scores, np.ndarray) or scores.dtype.kind not in "iu" or scores.shape != rows.shape:
            expected = f"an array of {len(rows)} integers"
            if isinstance(scores, np.ndarray):
                problem = f"answered {scores.dtype} {scores.shape}; expected {expected}"
                raise wrong(self.name, self.plugin, point, problem)
            raise unfit(self.name, self.plugin, point, scores, expected)

    def _check(self, scores: Scores, nodes: NodeTable, rows: Rows) -> None:
        if len(scores) and not (int(scores.min()) >= MIN_SCORE and int(scores.max()) <= MAX_SCORE):
            bad = int(np.flatnonzero((scores < MIN_SCORE) | (scores > MAX_SCORE))[0])
            raise OutOfRange(self.name, int(scores[bad]), nodes.infos[int(rows[bad])].name)
