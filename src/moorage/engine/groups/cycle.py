"""One attempt at a group, as kube-scheduler does it since 1.37.

    object      members that do not agree end it
    place       members one after the other, each seeing those before; in every domain the group may lie in
    make room   where that fails: what has to go so that the whole group fits
    tell        what becomes of each member, and what is said of each group

It changes nothing, but where it is told to leave what makes the group whole as it was placed.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from moorage.columns import GroupInfo, PodInfo
from moorage.config import Features
from moorage.engine.groups.objections import objection
from moorage.engine.groups.outcome import (
    UNSCHEDULABLE,
    GroupAnswers,
    GroupOutcome,
    GroupQuestion,
    GroupResult,
    GroupVerdict,
    GroupWork,
    appended,
    blocking_of,
)
from moorage.engine.groups.placing import Results, TreePlacing, placed_in
from moorage.engine.groups.trial import Asked, Counting, Trials
from moorage.engine.outcome import Failure, Placement
from moorage.engine.profiles import CompiledProfile
from moorage.engine.runner import Runner
from moorage.errors import ExtenderError, MoorageError, PluginError
from moorage.framework.answers import blame
from moorage.framework.cycle_state import CycleState
from moorage.framework.groupanswers import group_room_verdict
from moorage.framework.grouping import Assignment, PodGroupPostFilter, PodGroupPostFilterAnswer
from moorage.framework.points import Nomination
from moorage.framework.profile import Named
from moorage.framework.status import Code, Status, error


class GroupCycle:
    """A group on its way to its nodes."""

    def __init__(
        self,
        runners: Mapping[str, Runner],
        work: GroupWork,
        answers: GroupAnswers,
        features: Features,
        counting: Counting | None = None,
    ) -> None:
        """`counting`: where the group is whole its members stay counted there, and reserved."""
        self._counting = counting
        self._runners = runners
        self._work = work
        self._answers = answers
        self._features = features
        self._groups = next(iter(runners.values())).snapshot.groups

    def run(self) -> GroupQuestion | GroupOutcome:
        """The whole attempt. What a plugin breaks ends in an outcome that says so."""
        text = self._objection()
        if text:
            return self.broken(text)
        try:
            return self._run()
        except Asked as asked:
            return asked.question
        except (PluginError, ExtenderError) as problem:
            return self.broken(str(problem), problem)

    def broken(self, message: str, problem: MoorageError | None = None) -> GroupOutcome:
        """All members fail with it."""
        status = error(message)
        members = broken_all(self._work.pods, message, problem)
        verdicts = [GroupVerdict(leaf, status) for leaf in self._groups.leaves(self._work.root.path)]
        return GroupOutcome(self._work.root, status, members, verdicts)

    def _objection(self) -> str:
        leaves = self._groups.leaves(self._work.root.path)
        scheduled = [pod for leaf in leaves for pod in self._groups.members(leaf.path).scheduled.values()]
        return objection(self._work.root, self._work.pods, scheduled, self._runners, self._features)

    def _run(self) -> GroupOutcome:
        root = self._work.root
        trials = Trials(self._runners[self._work.pods[0].spec.scheduler_name], self._answers, self._counting)
        placing = TreePlacing(trials, self._work, self._features)
        results = placing.run(keeps=self._counting is not None)
        self._complete(results, root, None)
        # Members that were not tried are told what was known when the placing ended.
        untold = {path: result.status for path, result in results.items()}
        answer = PodGroupPostFilterAnswer(Status(Code.SUCCESS))
        status = results[root.path].status
        if status is not None and status.code is Code.UNSCHEDULABLE:
            answer = self._make_room(trials, placing, results)
            _apply(results, answer)
            if answer.status.code is not Code.ERROR:
                status = results[root.path].status
        outcome = GroupOutcome(
            root,
            status,
            [],
            [GroupVerdict(result.group, result.status) for result in results.values() if not result.group.is_composite],
            [] if root.is_composite else list(results[root.path].outcomes),
            placing.domains,
            effects=list(answer.effects),
            is_waiting=status is not None and answer.status.code is Code.SUCCESS,
            next_start=trials.next_start,
        )
        if status is None and self._counting is not None:
            outcome.assumed = trials.assumed
        if status is not None:
            self._explain(outcome, results, answer)
        if answer.victims:
            outcome.evictions.append((None, Nomination("cluster", answer.victims)))
        for path, members in self._work.members.items():
            told = _Members(results[path], untold[path], answer.nominations, is_waiting=outcome.is_waiting)
            outcome.members += [told.of(pod) for pod in members]
        return outcome

    def _explain(self, outcome: GroupOutcome, results: Results, answer: PodGroupPostFilterAnswer) -> None:
        for path, members in self._work.members.items():
            result = results[path]
            scheduled = len(self._groups.members(path).scheduled)
            blocking = blocking_of(
                result.group, result.outcomes, len(members), scheduled, result.fitting, result.domain
            )
            if blocking is not None:
                outcome.blocking = blocking
                break
        outcome.room_message = answer.status.message
        failed = {one.pod.uid for result in results.values() for one in result.outcomes if isinstance(one, Failure)}
        outcome.bystanders = frozenset(pod.uid for pod in self._work.pods if pod.uid not in failed)

    def _complete(self, results: Results, group: GroupInfo, parent: GroupResult | None) -> None:
        """Groups that were not reached, or whose parent does not fit, share its fate."""
        result = results.get(group.path)
        if parent is not None and (result is None or (parent.status is not None and result.status is None)):
            result = results[group.path] = GroupResult(group, parent.status)
        for child in self._groups.children(group.path):
            self._complete(results, child, result)

    def _make_room(self, trials: Trials, placing: TreePlacing, results: Results) -> PodGroupPostFilterAnswer:
        """Ask the plugins in order until one makes room or rules it out; reasons are collected."""
        rejected = _Rejected(trials, placing, self._work, results)
        reasons: list[str] = []
        effects: list[Callable[[], Coroutine[Any, Any, None]]] = []
        for one in _that_make_room(trials.runner.compiled, self._work.root):
            with blame(one.name, "PodGroupPostFilter"):
                answer = group_room_verdict(one.name, one.plugin, one.plugin.pod_group_post_filter(rejected))
            effects += answer.effects
            code = answer.status.code
            if code in (Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE):
                return replace(answer, effects=tuple(effects))
            if code is not Code.UNSCHEDULABLE:
                text = f'error in "{one.name}" PodGroupPostFilter plugins: {answer.status.message}'
                return PodGroupPostFilterAnswer(error(text), effects=tuple(effects))
            reasons += answer.status.reasons
        return PodGroupPostFilterAnswer(Status(Code.UNSCHEDULABLE, tuple(reasons)), effects=tuple(effects))


class _Rejected:
    """The group as plugins that may make room see it: framework.grouping.RejectedGroup."""

    def __init__(self, trials: Trials, placing: TreePlacing, work: GroupWork, results: Results) -> None:
        self._trials = trials
        self._placing = placing
        self._work = work
        self.group = work.root
        self.members: Sequence[PodInfo] = work.pods
        outcomes = [one for result in results.values() for one in result.outcomes]
        self.tried: Sequence[tuple[PodInfo, CycleState]] = [
            (one.pod, one.state if isinstance(one, Placement) else one.cycle_state or CycleState()) for one in outcomes
        ]

    def place(self) -> list[Assignment] | Status:
        """Try it all again on the cluster as it is at this moment."""
        results = self._placing.run("room")
        root = results[self.group.path]
        if root.status is not None:
            return root.status
        children = self._trials.snapshot.groups.children
        placed = placed_in(self.group, results, lambda group: children(group.path))
        return [Assignment(one.pod, one.node_name, one.state) for one in placed]


def _apply(results: Results, answer: PodGroupPostFilterAnswer) -> None:
    for result in results.values():
        if answer.status.code is Code.ERROR:
            result.status = answer.status
        elif result.status is not None:
            result.status = appended(result.status, answer.status.message)


class _Members:
    """What members of one group are told."""

    def __init__(
        self, result: GroupResult, untold: Status | None, nominations: Mapping[str, str], *, is_waiting: bool
    ) -> None:
        self._status = result.status
        self._untold = untold
        self._own = {one.pod.uid: one for one in result.outcomes}
        self._nominations = nominations
        self._is_waiting = is_waiting

    def of(self, pod: PodInfo) -> Placement | Failure:
        """A place to be taken now, or why not."""
        own, status = self._own.get(pod.uid), self._status
        if status is not None and status.code is Code.ERROR:
            if isinstance(own, Failure) and own.is_error:
                return replace(own, nomination=Nomination(""))
            return broken(pod, status.message)
        promised = self._nominations.get(pod.uid)
        nomination = None if promised is None else Nomination(promised)
        if isinstance(own, Failure):
            return own if nomination is None else replace(own, nomination=nomination)
        if own is None:
            assert self._untold is not None, "of a group that fits every member was tried"
            return Failure(pod, self._untold.message, nomination=nomination)
        if status is None:
            return own
        if self._is_waiting:
            return Failure(pod, status.message, nomination=nomination)
        return Failure(pod, f"{UNSCHEDULABLE}, {status.message}", nomination=Nomination(""))


def _that_make_room(profile: CompiledProfile, group: GroupInfo) -> Sequence[Named]:
    """Before 1.37 there is no such point; groups that are not Kubernetes' own are not held to that."""
    if profile.pod_group_post_filters or group.is_native:
        return profile.pod_group_post_filters
    return [one for one in profile.post_filters if isinstance(one.plugin, PodGroupPostFilter)]


def broken(pod: PodInfo, message: str, problem: MoorageError | None = None) -> Failure:
    """The pod fails with what broke the attempt at its group."""
    return Failure(pod, message, is_error=True, nomination=Nomination(""), error=problem)


def broken_all(pods: Sequence[PodInfo], message: str, problem: MoorageError | None) -> list[Placement | Failure]:
    """All of them do. The first brings what broke, which is counted once."""
    return [broken(pod, message, None if place else problem) for place, pod in enumerate(pods)]
