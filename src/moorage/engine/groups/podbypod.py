"""One attempt at a group as kube-scheduler 1.36 does it: members go through the cycle of a single pod, PostFilter and
Permit included, and the group fits once Permit says so.

QUIRK: a member that fits nowhere makes room by itself, before it is known whether the group will fit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from moorage.columns import PodInfo, Rows
from moorage.config import Features
from moorage.config.gates import TOPOLOGY_AWARE_WORKLOAD_SCHEDULING, WORKLOAD_AWARE_PREEMPTION
from moorage.engine.groups.cycle import broken, broken_all
from moorage.engine.groups.objections import objection
from moorage.engine.groups.outcome import (
    UNSCHEDULABLE,
    GroupAnswers,
    GroupOutcome,
    GroupQuestion,
    GroupVerdict,
    GroupWork,
    appended,
    blocking_of,
    quoted,
    refused,
)
from moorage.engine.groups.placing import scored
from moorage.engine.groups.trial import Asked, Trials, refused_at
from moorage.engine.outcome import Failure, Placement
from moorage.engine.runner import Runner
from moorage.errors import ExtenderError, MoorageError, PluginError
from moorage.framework.answers import blame
from moorage.framework.cycle_state import CycleState
from moorage.framework.groupanswers import group_room_verdict, placements
from moorage.framework.grouping import Assignment, Domain, PodGroupPostFilterAnswer
from moorage.framework.points import Nomination
from moorage.framework.status import Code, Status, error

_WAITING = "pod group is waiting for preemption to complete"
_WAIT = "one or more plugins asked to wait and no plugin rejected pod"


@dataclass(slots=True, eq=False)
class _Try:
    """What trying the members once came to."""

    status: Status | None
    outcomes: list[Placement | Failure] = field(default_factory=list)
    #: Members that are counted where they would go, by uid; and what Permit says of them.
    placed: dict[str, Placement] = field(default_factory=dict)
    permits: dict[str, str] = field(default_factory=dict)
    evictions: list[tuple[PodInfo | None, Nomination]] = field(default_factory=list)
    is_waiting: bool = False


class PodByPodCycle:
    """A group on its way to its nodes."""

    def __init__(
        self, runners: Mapping[str, Runner], work: GroupWork, answers: GroupAnswers, features: Features
    ) -> None:
        self._runners = runners
        self._root = work.root
        self._members = work.pods
        self._answers = answers
        self._features = features
        self._in_domains = TOPOLOGY_AWARE_WORKLOAD_SCHEDULING in features
        #: What was tried, where its order is known.
        self._attempts: list[Placement | Failure] = []

    def run(self) -> GroupQuestion | GroupOutcome:
        """The whole attempt. What a plugin breaks ends in an outcome that says so."""
        text = objection(self._root, self._members, (), self._runners, self._features)
        if text:
            # No condition is written in this case.
            failures: list[Placement | Failure] = [broken(pod, text) for pod in self._members]
            return GroupOutcome(self._root, error(text), failures, [])
        try:
            return self._run()
        except Asked as asked:
            return asked.question
        except (PluginError, ExtenderError) as problem:
            return self.broken(str(problem), problem)

    def broken(self, message: str, problem: MoorageError | None = None) -> GroupOutcome:
        """All members fail with it."""
        failures = broken_all(self._members, message, problem)
        return GroupOutcome(self._root, error(message), failures, [GroupVerdict(self._root, error(message))])

    def _run(self) -> GroupOutcome:
        trials = Trials(self._runners[self._members[0].spec.scheduler_name], self._answers)
        found = self._algorithm(trials, "", makes_room=True)
        evictions = list(found.evictions)
        if (
            WORKLOAD_AWARE_PREEMPTION in self._features
            and found.status is not None
            and found.status.code is Code.UNSCHEDULABLE
        ):
            answer = self._make_room(trials, found)
            if answer.status.code is Code.SUCCESS:
                found.is_waiting = True
                evictions.append((None, Nomination("cluster", answer.victims)))
            elif answer.status.code is Code.ERROR:
                found.status = answer.status
            else:
                found.status = appended(found.status, answer.status.message)
        members = [self._told(found, place, pod) for place, pod in enumerate(self._members)]
        outcome = GroupOutcome(
            self._root,
            found.status,
            members,
            [GroupVerdict(self._root, found.status)],
            self._attempts,
            None,
            evictions,
            is_waiting=found.is_waiting,
            next_start=trials.next_start,
        )
        if found.status is not None:
            scheduled = len(trials.snapshot.groups.members(self._root.path).scheduled)
            outcome.blocking = blocking_of(self._root, found.outcomes, len(self._members), scheduled)
            failed = {one.pod.uid for one in found.outcomes if isinstance(one, Failure)}
            outcome.bystanders = frozenset(pod.uid for pod in self._members if pod.uid not in failed)
        return outcome

    # ------------------------------------------------------------------------------------------------------- trying

    def _algorithm(self, trials: Trials, where: str, *, makes_room: bool) -> _Try:
        with trials.block() as block:
            block.alone(self._members)
            return self._everywhere(trials, where, makes_room=makes_room)

    def _everywhere(self, trials: Trials, where: str, *, makes_room: bool) -> _Try:
        if not self._in_domains:
            found = self._try_members(trials, None, where, makes_room=makes_room)
            self._attempts += found.outcomes
            return found
        profile, rows = trials.runner.compiled, trials.snapshot.nodes.rows
        domains: list[Domain] | Status = [Domain("", rows)]
        for one in profile.placement_generators:
            with blame(one.name, "PlacementGenerate"):
                answer = placements(one.name, one.plugin, one.plugin.generate_placements(self._root, rows), rows)
            domains = answer if isinstance(answer, Status) else list(answer)
        if isinstance(domains, Status):
            return _Try(domains)
        if not domains:
            return _Try(Status(Code.UNSCHEDULABLE, ("no feasible placements found",)))
        return self._best_of(trials, domains, where, makes_room=makes_room)

    def _best_of(self, trials: Trials, domains: list[Domain], where: str, *, makes_room: bool) -> _Try:
        tries: list[tuple[Domain, _Try]] = []
        evictions: list[tuple[PodInfo | None, Nomination]] = []
        for domain in domains:
            within = None if domain.rows is trials.snapshot.nodes.rows else domain.rows
            with trials.block():
                found = self._try_members(trials, within, f"{where}/{domain.name}", makes_room=makes_room)
            evictions += found.evictions
            if found.status is not None and found.status.code is Code.ERROR:
                return found
            tries.append((domain, found))
        fitting = [one for one in tries if one[1].status is None or one[1].is_waiting]
        if not fitting:
            first = tries[0][1]
            assert first.status is not None, "it does not fit"
            text = f"0/{len(domains)} placements are available, first placement status: {quoted(first.status)}"
            first.status, first.evictions = Status(Code.UNSCHEDULABLE, (text,)), evictions
            return first
        best = self._best(trials, fitting)
        if isinstance(best, Status):
            return _Try(best)
        best.evictions = evictions
        return best

    def _best(self, trials: Trials, fitting: list[tuple[Domain, _Try]]) -> _Try | Status:
        if len(fitting) == 1:
            return fitting[0][1]
        profile = trials.runner.compiled
        totals = [0] * len(fitting)
        for one in profile.placement_scores:
            normal = scored(one, self._root, [(domain, _assignments(found)) for domain, found in fitting])
            if isinstance(normal, Status):
                return error(f'plugin "{one.name}" failed with: {normal.message}')
            weight = profile.configured.placement_weights.get(one.name, 1)
            totals = [total + score * weight for total, score in zip(totals, normal, strict=True)]
        best = [found for total, (_, found) in zip(totals, fitting, strict=True) if total == max(totals)]
        return best[trials.answers.seed * len(best) >> 64]

    def _try_members(self, trials: Trials, within: Rows | None, where: str, *, makes_room: bool) -> _Try:
        found = _Try(refused())
        needs_room = False
        for pod in self._members:
            outcome = trials.decide(pod, within, where, makes_room=makes_room)
            found.outcomes.append(outcome)
            placement = _placement(outcome)
            if isinstance(outcome, Failure) and outcome.nomination is not None and outcome.nomination.victims:
                found.evictions.append((pod, outcome.nomination))
            if placement is None:
                if isinstance(outcome, Failure) and outcome.is_error:
                    found.status = error(f"failed to schedule other pod from a pod group: {outcome.message}")
                    found.is_waiting = False
                    return found
                continue
            refusal = self._permit(trials, found, placement)
            if refusal is not None:
                found.outcomes[-1] = refusal
                continue
            needs_room |= isinstance(outcome, Failure)
            if not found.permits[pod.uid]:
                found.status = refused(_WAITING) if needs_room else None
                found.is_waiting = needs_room
        return found

    def _permit(self, trials: Trials, found: _Try, placement: Placement) -> Failure | None:
        """Place the member and ask Permit; where that refuses, it is placed no more."""
        problem = trials.place(placement)
        if problem is not None:
            return problem
        pod = placement.pod
        refusal, waits = trials.runner.permit(placement)
        if refusal is not None:
            trials.withdraw(placement)
            return refused_at(pod, refusal)
        found.placed[pod.uid] = placement
        # Of several that want to wait the last has the word.
        words = [wait.reason for wait in waits.values()]
        found.permits[pod.uid] = f"{words[-1]}, {_WAIT}" if words else ""
        return None

    # -------------------------------------------------------------------------------------------------- making room

    def _make_room(self, trials: Trials, found: _Try) -> PodGroupPostFilterAnswer:
        plugins = [
            one
            for one in trials.runner.compiled.post_filters
            if hasattr(one.plugin, "pod_group_post_filter") and one.name == "DefaultPreemption"
        ]
        if not plugins:
            text = "default preemption plugin is not registered, workload aware preemption is disabled"
            return PodGroupPostFilterAnswer(Status(Code.UNSCHEDULABLE, (text,)))
        if self._root.topology_required:
            text = "workload aware preemption is not supported for pod groups with scheduling constraints"
            return PodGroupPostFilterAnswer(Status(Code.UNSCHEDULABLE, (text,)))
        with blame(plugins[0].name, "PodGroupPostFilter"):
            plugin = plugins[0].plugin
            said = plugin.pod_group_post_filter(_Rejected(self, trials, found))
            return group_room_verdict(plugins[0].name, plugin, said)

    def place(self, trials: Trials) -> list[Assignment] | Status:
        """Try it all again on the cluster as it is at this moment, without making room."""
        found = self._algorithm(trials, "room", makes_room=False)
        return found.status if found.status is not None else _assignments(found)

    # ------------------------------------------------------------------------------------------------------ telling

    def _told(self, found: _Try, place: int, pod: PodInfo) -> Placement | Failure:
        status = found.status
        own = found.outcomes[place] if place < len(found.outcomes) else None
        if status is not None and status.code is Code.ERROR:
            if isinstance(own, Failure) and own.is_error:
                return replace(own, nomination=Nomination(""))
            return broken(pod, status.message)
        if own is None:
            assert status is not None, "of a group that fits every member was tried"
            return Failure(pod, status.message)
        if isinstance(own, Placement):
            if status is None:
                return own
            if found.is_waiting:
                return Failure(pod, status.message, nomination=Nomination(own.node_name))
            return self._held_back(found, pod)
        if pod.uid in found.placed and not found.is_waiting:
            return self._held_back(found, pod)
        nomination = own.nomination
        # Its victims are on their way out already.
        return own if nomination is None else replace(own, nomination=Nomination(nomination.node_name))

    def _held_back(self, found: _Try, pod: PodInfo) -> Failure:
        words = found.permits[pod.uid]
        message = f"{UNSCHEDULABLE}, {words}" if words else UNSCHEDULABLE
        return Failure(pod, message, nomination=Nomination(""))


class _Rejected:
    """The group as the plugin that may make room sees it."""

    def __init__(self, cycle: PodByPodCycle, trials: Trials, found: _Try) -> None:
        self._cycle = cycle
        self._trials = trials
        self.group = cycle._root
        self.members = cycle._members
        self.tried: list[tuple[PodInfo, CycleState]] = [
            (one.pod, one.state if isinstance(one, Placement) else one.cycle_state or CycleState())
            for one in found.outcomes
        ]

    def place(self) -> list[Assignment] | Status:
        """Try it all again."""
        return self._cycle.place(self._trials)


def _placement(outcome: Placement | Failure) -> Placement | None:
    """Where the pod goes, be it only once room is made for it."""
    if isinstance(outcome, Placement):
        return outcome
    nomination = outcome.nomination
    if nomination is None or not nomination.node_name or outcome.cycle_state is None:
        return None
    return Placement(outcome.pod, nomination.node_name, outcome.cycle_state, 1)


def _assignments(found: _Try) -> list[Assignment]:
    return [Assignment(one.pod, one.node_name, one.state) for one in found.placed.values()]
