"""One attempt at a group: decided as one, placed whole or not at all, then each member bound by itself."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from moorage.attempt import reporting
from moorage.attempt.binding import Bindings
from moorage.attempt.failing import FailureHandler
from moorage.attempt.groupstatuses import GroupStatusWriter
from moorage.attempt.placing import Placed, Placer
from moorage.attempt.preempting import Evictions
from moorage.attempt.world import Job, World
from moorage.cluster import ClusterState
from moorage.columns import PodGroups, PodInfo
from moorage.engine import (
    Engine,
    Failure,
    GroupAnswers,
    GroupOutcome,
    GroupQuestion,
    GroupVerdict,
    GroupWork,
    Placement,
)
from moorage.framework.status import Code, Status
from moorage.queue import QueuedGroup, QueuedPod, SchedulingQueue

logger = logging.getLogger(__name__)

QUIET: Final = 1.0
"""Seconds for which members that stand back for others are not told anew why."""


@dataclass(slots=True, eq=False)
class _Attempt:
    """A group that is being decided."""

    entity: QueuedGroup
    #: The members that are tried, by uid, with the pods as they were when the attempt began.
    members: dict[str, tuple[QueuedPod, PodInfo]]
    started: float
    answers: GroupAnswers
    job: Job | None = None


class GroupAttempts:
    """Takes groups that the queue gives and tries to schedule them."""

    def __init__(
        self,
        *,
        world: World,
        cluster: ClusterState,
        queue: SchedulingQueue,
        engine: Engine,
        placer: Placer,
        failures: FailureHandler,
        bindings: Bindings,
        evictions: Evictions,
        statuses: GroupStatusWriter,
        explains: bool,
        wake: Callable[[], None],
    ) -> None:
        """`explains`: members are told which one blocks the group; else what kube-scheduler tells them."""
        self._explains = explains
        self._world = world
        self._cluster = cluster
        self._queue = queue
        self._engine = engine
        self._placer = placer
        self._failures = failures
        self._bindings = bindings
        self._evictions = evictions
        self._statuses = statuses
        self._wake = wake
        self._groups: PodGroups = cluster.snapshot.groups
        #: Groups whose bystanders were told a moment ago, by path, and what they were not told since.
        self._quiet: dict[str, tuple[list[PodInfo], str] | None] = {}
        #: Attempts that wait for extenders, by the path of the group.
        self._asking: dict[str, _Attempt] = {}

    def gather(self, popped: QueuedPod) -> QueuedGroup | None:
        """The group of a pod that was popped by itself, with all its members that wait (where groups do not wait as
        one). None for a pod without a group."""
        path = self._groups.path_of(popped.pod)
        root = self._groups.get(path) if path else None
        if root is None:
            return None
        group = QueuedGroup(popped.pod, popped.timestamp, root=path)
        group.key = popped.key  # it is known by the pod that brought it
        members = self._groups.members(path)
        missing = [pod for uid, pod in members.all.items() if uid not in members.scheduled and uid != popped.pod.uid]
        others = [queued for pod in missing if (queued := self._queue.pop_specific(pod)) is not None]
        group.queued = sorted(
            [popped, *others], key=lambda one: (-one.pod.priority, one.initial_attempt_timestamp or 0.0)
        )
        return group

    def attempt(self, entity: QueuedGroup) -> None:
        """One attempt at what was popped."""
        members = {queued.pod.uid: (queued, queued.pod) for queued in entity.queued if self._is_wanted(queued)}
        if not members:
            self._return(entity, None)
            return
        self._decide(_Attempt(entity, members, self._world.now(), self._engine.begin_group()))

    def stop(self) -> None:
        """Take everything back: the process stops."""
        for attempt in list(self._asking.values()):
            if attempt.job is not None:
                attempt.job.cancel()
            self._let_go(attempt)

    # ------------------------------------------------------------------------------------------------------ deciding

    def _is_wanted(self, queued: QueuedPod) -> bool:
        """Whether the pod is still to be scheduled; if not it is let go."""
        pod = queued.pod
        if pod.pod.is_terminating:
            self._queue.done(pod.uid)
            self._world.record(reporting.failed(pod, f"skip schedule deleting pod: {pod.key}"))
            return False
        if self._cluster.is_assumed(pod.uid) or self._cluster.pending(pod.uid) is None:
            self._queue.done(pod.uid)
            return False
        return True

    def _decide(self, attempt: _Attempt) -> None:
        work = self._work(attempt)
        if work is None:
            self._let_go(attempt)
            return
        outcome = self._decision(work, attempt.answers)
        if isinstance(outcome, GroupQuestion):
            self._asking[attempt.entity.key] = attempt
            attempt.job = self._world.spawn(self._ask(attempt, outcome))
            return
        self._engine.commit_group(outcome)
        self._world.observer.decided_group(attempt.entity.key, outcome, self._world.now() - attempt.started)
        self._carry_out(attempt, outcome)

    def _work(self, attempt: _Attempt) -> GroupWork | None:
        """What is to be placed, as it is now; None where the group is gone."""
        root = self._groups.get(attempt.entity.root)
        if root is None:
            return None
        by_path: dict[str, list[PodInfo]] = {leaf.path: [] for leaf in self._groups.leaves(root.path)}
        for _, pod in attempt.members.values():
            path = self._groups.path_of(pod)
            if path not in by_path:
                return None
            by_path[path].append(pod)
        return GroupWork(root, by_path)

    def _decision(self, work: GroupWork, answers: GroupAnswers) -> GroupQuestion | GroupOutcome:
        """The engine's answer. What it does not foresee is a bug of ours and fails this group's attempt alone."""
        try:
            return self._engine.decide_group(work, answers, self._cluster if self._queue.holds_groups else None)
        except Exception as problem:
            logger.exception("deciding group %s broke", work.root.key)
            return self._engine.break_group(work, f"{type(problem).__name__}: {problem}")

    async def _ask(self, attempt: _Attempt, asked: GroupQuestion) -> None:
        answer = await self._world.ask(asked.question)
        if self._asking.pop(attempt.entity.key, None) is not attempt:
            return
        attempt.answers = attempt.answers.answered(asked, answer)
        for uid, (queued, _) in list(attempt.members.items()):
            current = self._cluster.pending(uid)
            if current is None or current.pod.is_terminating:
                del attempt.members[uid]
                self._queue.done(uid)
            else:
                attempt.members[uid] = queued, current
        if attempt.members:
            self._decide(attempt)
        else:
            self._return(attempt.entity, None)
        self._wake()

    # --------------------------------------------------------------------------------------------------- carrying out

    def _carry_out(self, attempt: _Attempt, outcome: GroupOutcome) -> None:
        # Before members go back: while victims are being evicted, PreEnqueue keeps them out.
        for pod, nomination in outcome.evictions:
            if pod is None:
                self._evictions.begin_for_group(outcome.root, [one.pod for one in outcome.members], nomination)
            else:
                self._evictions.begin(pod, nomination)
        for effect in outcome.effects:
            self._failures.make_room(effect)
        taken = self._take(outcome) if self._queue.holds_groups else outcome.members
        words = self._words(outcome)
        told: list[PodInfo] = []
        tells = self._tells_bystanders(outcome.root.path)
        for member, found in zip(outcome.members, taken, strict=True):
            queued, _ = attempt.members[member.pod.uid]
            placed = self._place(found)
            if words and isinstance(placed, Failure) and member.pod.uid in outcome.bystanders:
                placed = replace(placed, message=words, post_filter_message="")
            if isinstance(placed, Failure):
                is_bystander = bool(words) and member.pod.uid in outcome.bystanders
                if is_bystander:
                    told.append(member.pod)
                self._failures.handle(queued, placed, attempt.started, tells=tells or not is_bystander)
            else:
                self._bindings.start(queued, placed, attempt.started)
        if told:
            self._told(outcome.root.path, told, words, now=tells)
        for verdict in outcome.verdicts:
            self._tell(verdict, outcome, words, again=attempt.entity.attempts > 1)
        self._return(attempt.entity, outcome)

    def _tells_bystanders(self, path: str) -> bool:
        """Whether those that stand back for others are told at once: not where they were a moment ago, since a request
        for each of a large gang, at each try, holds up the binds that follow."""
        return path not in self._quiet

    def _told(self, path: str, pods: list[PodInfo], words: str, *, now: bool) -> None:
        if now:
            self._quiet[path] = None
            self._world.call_later(QUIET, partial(self._tell_last, path))
        else:
            self._quiet[path] = pods, words

    def _tell_last(self, path: str) -> None:
        """What was not told meanwhile, of those that wait still."""
        pods, words = self._quiet.pop(path) or ((), "")
        for pod in pods:
            self._failures.tell(pod, words)

    def _words(self, outcome: GroupOutcome) -> str:
        """Who blocks the group and why, as its members and the group itself are told."""
        if not self._explains or outcome.status is None or outcome.blocking is None:
            return ""
        room = outcome.room_message
        return f"{outcome.blocking.text}; {room}" if room else outcome.blocking.text

    def _tell(self, verdict: GroupVerdict, outcome: GroupOutcome, words: str, *, again: bool) -> None:
        """The condition of a group; where people are told more, an event, too: of success where it was tried before."""
        status = verdict.status
        if words and status is not None and status.code is not Code.ERROR:
            verdict = GroupVerdict(verdict.group, Status(status.code, (words,)))
        if not self._explains or verdict.status is not None or not verdict.group.min_count:
            self._statuses.tell(verdict)  # else it is said once enough members are bound
        if self._explains:
            profile = outcome.members[0].pod.spec.scheduler_name
            example = outcome.members[0].pod
            if verdict.status is None and again:
                placed = sum(isinstance(one, Placement) for one in outcome.members)
                self._world.record(reporting.group_scheduled(profile, verdict.group, example, placed))
            elif verdict.status is not None:
                self._world.record(reporting.group_failed(profile, verdict.group, example, verdict.message))

    def _take(self, outcome: GroupOutcome) -> list[Placed | Failure]:
        """Take the places that were decided: all, before Permit is asked about any, so that none has to wait."""
        taken: list[Placed | Failure] = []
        for one in outcome.members:
            if isinstance(one, Failure):
                taken.append(one)
            elif (assumed := outcome.assumed.get(one.pod.uid)) is not None:
                taken.append(Placed(one, assumed, self._engine.runner_of(one.pod), {}))
            else:
                taken.append(self._placer.take(one))
        return taken

    def _place(self, found: Placement | Placed | Failure) -> Placed | Failure:
        """Ask Permit; where the place is not taken yet, take it first."""
        if isinstance(found, Placement):
            return self._placer.place(found)
        return self._placer.permit(found) if isinstance(found, Placed) else found

    def _return(self, entity: QueuedGroup, outcome: GroupOutcome | None) -> None:
        if self._queue.holds_groups:
            if outcome is None:
                self._queue.return_group(entity, None)
            else:
                self._queue.return_group(entity, outcome.status, self._in_the_way(outcome))

    def _in_the_way(self, outcome: GroupOutcome) -> frozenset[str]:
        """The plugins whose events may help: those that refused members, and those that hold the group together."""
        refused = [one for one in outcome.members if isinstance(one, Failure)]
        plugins = {name for one in refused for name in one.plugins}
        if not plugins and not any(one.status is not None and one.status.plugin for one in outcome.verdicts):
            return frozenset()
        runner = self._engine.runners[outcome.members[0].pod.spec.scheduler_name]
        compiled = runner.compiled
        of_groups = (*compiled.feasibles, *compiled.placement_generators)
        return frozenset((*plugins, *(one.name for one in of_groups)))

    def _let_go(self, attempt: _Attempt) -> None:
        """The group is gone, or the process stops: members that are still there wait for what comes next."""
        for uid, (queued, _) in attempt.members.items():
            current = self._cluster.pending(uid)
            if current is None:
                self._queue.done(uid)
            else:
                self._queue.return_unschedulable(queued, pod=current)
        self._return(attempt.entity, None)
        self._asking.pop(attempt.entity.key, None)
