"""The points of one profile, ready to be run for pod after pod."""

from collections.abc import Hashable, Sequence
from dataclasses import replace

from moorage.columns import PodInfo, Snapshot
from moorage.engine.asking import Extender
from moorage.engine.chance import CycleRandom
from moorage.engine.filtering import Filtering
from moorage.engine.outcome import Placement
from moorage.engine.profiles import CompiledProfile
from moorage.engine.scoring import Scoring
from moorage.engine.timing import Timing
from moorage.errors import PluginError
from moorage.framework.answers import (
    blame,
    broken,
    check_nothing,
    permit_verdict,
    post_filter_verdict,
    verdict,
)
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NodeStatuses
from moorage.framework.faults import Faults
from moorage.framework.points import Nomination, PostFilterAnswer, Wait
from moorage.framework.profile import Profile
from moorage.framework.status import Code, Status

_SUCCESS, _WAIT = Code.SUCCESS.label, Code.WAIT.label


class Runner:
    """Runs the synchronous points of a profile. Binding is the host's."""

    def __init__(
        self,
        *,
        profile: Profile,
        snapshot: Snapshot,
        chance: CycleRandom,
        extenders: Sequence[Extender] = (),
        faults: Faults | None = None,
        timing: Timing | None = None,
    ) -> None:
        """`faults` is told what nobody else hears of. With `timing` it is measured how long plugins take."""
        self.profile = profile
        self._faults = faults or Faults()
        self.timing = timing
        self.compiled = CompiledProfile(profile, timing)
        self.snapshot = snapshot
        #: What the handle of the profile offers its plugins as chance.
        self.chance = chance
        #: Those that may be ignored come last, as kube-scheduler asks them: nothing is wasted on what others refuse.
        self.extenders = tuple(sorted(extenders, key=lambda one: one.ignorable))
        self.filtering = Filtering(self.compiled, snapshot)
        self.scoring = Scoring(self.compiled, snapshot.nodes)
        post_filters = [one.plugin for one in self.compiled.post_filters]
        self._answers_kept_until = [getattr(one, "post_filter_until", None) for one in post_filters]

    def post_filter_until(self, pod: PodInfo) -> Hashable | None:
        """As long as this stays the same PostFilter says the same "no" (PostFilterUntil); None where nobody knows."""
        answers = []
        for one, kept_until in zip(self.compiled.post_filters, self._answers_kept_until, strict=True):
            if kept_until is None:
                return None
            with blame(one.name, "PostFilter"):
                answers.append(kept_until(pod))
        return None if None in answers else tuple(answers)

    def post_filter(self, state: CycleState, pod: PodInfo, statuses: NodeStatuses) -> PostFilterAnswer:
        """Run PostFilter until one plugin makes room or breaks; rejections are collected."""
        began = self._now()
        answer = self._post_filter(state, pod, statuses)
        if self.timing is not None:
            self.timing.status("PostFilter", answer.status, began)
        return answer

    def _now(self) -> float:
        return 0.0 if self.timing is None else self.timing.clock()

    def _post_filter(self, state: CycleState, pod: PodInfo, statuses: NodeStatuses) -> PostFilterAnswer:
        reasons: list[str] = []
        nomination: Nomination | None = None
        written = PostFilterAnswer(None)
        for one in self.compiled.post_filters:
            with blame(one.name, "PostFilter"):
                answer = post_filter_verdict(one.name, one.plugin, one.plugin.post_filter(state, pod, statuses))
            if answer.status is None or answer.status.is_success:
                return replace(answer, effect=written.effect, deallocated=written.deallocated)
            if answer.status.code is not Code.UNSCHEDULABLE:
                status = answer.status.by(one.name)
                return PostFilterAnswer(status, effect=written.effect, deallocated=written.deallocated)
            reasons += answer.status.reasons
            if answer.effect is not None:
                written = answer
            if answer.nomination is not None:
                nomination = answer.nomination
        status = Status(Code.UNSCHEDULABLE, tuple(reasons))
        return PostFilterAnswer(status, nomination, written.effect, written.deallocated)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Run Reserve; on any failure everything is unreserved and the status returned."""
        began = self._now()
        refusal = None
        for one in self.compiled.reserves:
            try:
                answer = one.plugin.reserve(state, pod, node_name)
                refusal = None if answer is None else verdict(one.name, one.plugin, "Reserve", answer)
            except PluginError:
                self.unreserve(state, pod, node_name)
                raise
            except BaseException as error:
                problem = broken(one.name, "Reserve", error)
                self.unreserve(state, pod, node_name)
                raise problem from error
            if refusal is not None:
                self.unreserve(state, pod, node_name)
                break
        if self.timing is not None and self.compiled.reserves:
            self.timing.status("Reserve", refusal, began)
        return refusal

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Run Unreserve of every plugin, in reverse order. One that breaks does not keep the others from it."""
        for one in reversed(self.compiled.reserves):
            try:
                check_nothing(one.name, one.plugin, "Unreserve", one.plugin.unreserve(state, pod, node_name))
            except BaseException as problem:
                self._faults.see(broken(one.name, "Unreserve", problem), f"what pod {pod.key} took is let go by others")

    def permit(self, placement: Placement) -> tuple[Status | None, dict[str, Wait]]:
        """Run Permit: a rejection if there is one, and the plugins that wait."""
        began = self._now()
        refusal: Status | None = None
        waits: dict[str, Wait] = {}
        for one in self.compiled.permits:
            with blame(one.name, "Permit"):
                answer = one.plugin.permit(placement.state, placement.pod, placement.node_name)
            status, seconds = permit_verdict(one.name, one.plugin, answer)
            if status is None:
                continue
            if status.code is not Code.WAIT:
                refusal, waits = status, {}
                break
            waits[one.name] = Wait(seconds, status.message)
        if self.timing is not None and self.compiled.permits:
            self.timing.ran("Permit", refusal.code.label if refusal else (_WAIT if waits else _SUCCESS), began)
        return refusal, waits
