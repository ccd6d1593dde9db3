"""Members placed for a while, one after the other, each seeing those before it."""

from collections.abc import Iterable
from types import TracebackType
from typing import Protocol, Self

from moorage.columns import PodInfo, Rows, Snapshot
from moorage.engine.cycle import Cycle
from moorage.engine.groups.outcome import GroupAnswers, GroupQuestion
from moorage.engine.groups.series import Series, is_plain
from moorage.engine.outcome import Failure, Placement
from moorage.engine.runner import Runner
from moorage.errors import PluginError
from moorage.framework.answers import DecisionEnds
from moorage.framework.diagnosis import fit_message
from moorage.framework.points import Nomination
from moorage.framework.status import Code, Status


class Asked(DecisionEnds):
    """The decision on the group ends in a question about a member."""

    def __init__(self, question: GroupQuestion) -> None:
        super().__init__(f"extenders have to be asked about pod {question.question.pod.key}")
        self.question = question


class Counting(Protocol):
    """Counts pods on nodes that were decided on."""

    def assume(self, pod: PodInfo, node_name: str) -> PodInfo:
        """Count the pod on the node; answers it as it will be once bound."""

    def forget(self, uid: str) -> bool:
        """Count it no more."""


class Trials:
    """Places members of groups for a while. Complete for one attempt: it counts who was tried."""

    def __init__(self, runner: Runner, answers: GroupAnswers, counting: Counting | None = None) -> None:
        """`counting` knows what is assumed; without it only the snapshot does."""
        self._counting = counting or SnapshotCounting(runner.snapshot)
        #: The members that are counted now, as they are counted.
        self.assumed: dict[str, PodInfo] = {}
        self.runner = runner
        self.snapshot = runner.snapshot
        self.answers = answers
        self._tried = 0
        self._start = answers.start
        self.next_start: int | None = None
        #: The members that are placed by one search at the moment, and whether others may be.
        self._series: Series | None = None
        self._may_share = runner.compiled.skips_alike
        #: Those placed at this moment, the innermost block last.
        self._open: list[list[Placement]] = []

    def block(self) -> "Trial":
        """A block at whose end all that was placed in it is gone, unless it is kept for the block around it."""
        return Trial(self)

    def decide(self, pod: PodInfo, within: Rows | None, where: str, *, makes_room: bool = False) -> Placement | Failure:
        """Where the member would go now."""
        answers = self.answers.of(where, pod.uid, self._tried, self._start)
        self._tried += 1
        if within is None and not makes_room and self._may_share and is_plain(pod):
            placement = self._next_of_series(pod, answers.seed)
            if placement is not None:
                return placement
        outcome = Cycle(self.runner, pod, answers, within=within, makes_room=makes_room).run()
        if not isinstance(outcome, Placement | Failure):
            raise Asked(GroupQuestion(where, answers, outcome))
        if outcome.next_start is not None:
            self._start = self.next_start = outcome.next_start
        return outcome

    def _next_of_series(self, pod: PodInfo, seed: int) -> Placement | None:
        if self._series is None or not self._series.serves(pod):
            self._series = Series.begin(self.runner, pod, seed)
        placement = self._series.place(pod, seed) if self._series is not None else None
        # Where one search does not do once, it hardly will for others: nobody is asked twice about each of them.
        self._may_share = placement is not None
        return placement

    def place(self, placement: Placement) -> Failure | None:
        """Count the member on its node and reserve what it needs, within the innermost block."""
        pod, node_name, runner = placement.pod, placement.node_name, self.runner
        self.assumed[pod.uid] = self._counting.assume(pod, node_name)
        problem: Failure | None = None
        try:
            refusal = runner.reserve(placement.state, pod, node_name)
            if refusal is not None:
                problem = refused_at(pod, refusal)
        except PluginError as error:
            problem = Failure(pod, str(error), is_error=True, nomination=Nomination(""), error=error)
        if problem is not None:
            self._counting.forget(pod.uid)
            return problem
        self._open[-1].append(placement)
        return None

    def count(self, pod: PodInfo, node_name: str) -> None:
        """Count a member on a node till the end of the innermost block, without more."""
        self._counting.assume(pod, node_name)

    def withdraw(self, placement: Placement) -> None:
        """Take back the member that was placed last."""
        next(one for one in reversed(self._open) if placement in one).remove(placement)
        self.runner.unreserve(placement.state, placement.pod, placement.node_name)
        self._counting.forget(placement.pod.uid)

    # For blocks.

    def opened(self) -> None:
        """A block begins."""
        self._series = None
        self._open.append([])

    def closed(self, *, kept: bool) -> None:
        """The innermost block ends."""
        self._series = None
        placed = self._open.pop()
        if kept:
            if self._open:
                self._open[-1] += placed
            return
        for placement in reversed(placed):
            self.runner.unreserve(placement.state, placement.pod, placement.node_name)


class SnapshotCounting:
    """Counting where nobody but the snapshot has to know."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._bound: dict[str, PodInfo] = {}

    def assume(self, pod: PodInfo, node_name: str) -> PodInfo:
        """Count the pod on the node."""
        bound = self._bound[pod.uid] = pod.bound_to(node_name)
        self._snapshot.nominations.forget(pod)
        self._snapshot.nodes.add_pod(bound, node_name)
        self._snapshot.groups.placed(bound, assumed=True)
        return bound

    def forget(self, uid: str) -> bool:
        """Count it no more."""
        bound = self._bound.pop(uid)
        self._snapshot.nodes.remove_pod(bound, bound.spec.node_name)
        self._snapshot.groups.unplaced(bound)
        return True


class Trial:
    """A block of tentative placements."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._block = trials.snapshot.tentative()
        self._is_kept = False

    def keep(self) -> None:
        """Leave it to the block around this one."""
        self._is_kept = True
        self._block.keep()

    def __enter__(self) -> Self:
        self._block.__enter__()
        self._trials.opened()
        return self

    def alone(self, members: Iterable[PodInfo]) -> None:
        """Members do not stand back for what was promised to each other."""
        nominations = self._trials.snapshot.nominations
        if len(nominations):
            for pod in members:
                nominations.forget(pod)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._trials.closed(kept=self._is_kept and error is None)
        self._block.__exit__(kind, error, trace)


def refused_at(pod: PodInfo, status: Status) -> Failure:
    """A refusal after the decision (Reserve, Permit): as if the one node there is did not fit."""
    return Failure(
        pod,
        fit_message(1, dict.fromkeys(status.reasons, 1)),
        plugins=frozenset((status.plugin,)) if status.plugin else frozenset(),
        nomination=Nomination(""),
        pending=frozenset((status.plugin,)) if status.code is Code.PENDING else frozenset(),
    )
