"""The same as test_attempt_machine with extenders that are asked and that bind, and plugins that are worse behaved.

Questions stay open while pods change and go; extenders break, pass nobody, or bind and fail to say so; plugins refuse
or break at every point, and cling to a pod that they were told to let go.
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule
from tests.properties import test_attempt_machine as machine
from tests.properties.test_decided_again import says
from tests.unit.attempt.conftest import Rig

from moorage.attempt.scripted import LATER, Ask, Bind, BindThrough, OpenRequest, Request
from moorage.columns import NodeInfo, PodInfo
from moorage.engine import Question
from moorage.engine.asking import (
    Answer,
    Broken,
    ChosenVictims,
    FilterAnswer,
    FilterQuestion,
    PreemptAnswer,
    PreemptQuestion,
    PrioritizeAnswer,
)
from moorage.framework import SKIP, PermitAnswer, Status, pending, unschedulable
from moorage.framework.writes import Bound, BoundElsewhere, Refused
from moorage.testing import a_node, a_pod

GPU = "example.com/gpu"
EXTENDERS = [
    {"urlPrefix": "http://strict", "filterVerb": "f", "prioritizeVerb": "p", "preemptVerb": "v", "weight": 2},
    {"urlPrefix": "http://meek", "filterVerb": "f", "weight": 1, "ignorable": True},
    {"urlPrefix": "http://binder", "bindVerb": "b", "weight": 1, "managedResources": [{"name": GPU}]},
]
MOODS = (
    *(
        "",
        "",
        "hold",
        "no room",
        "reserve breaks",
        "permit breaks",
        "permit is odd",
        "preflight breaks",
        "busy",
        "slow",
        "cling",
    ),
    *("cancel", "after", "wait for more"),
)


def agrees(question: Question) -> Answer:
    """Every node will do, with the victims it costs."""
    match question:
        case FilterQuestion(nodes=nodes):
            return FilterAnswer(frozenset(nodes))
        case PreemptQuestion(victims=victims):
            chosen = {name: ChosenVictims(tuple(pod.uid for pod in one.pods)) for name, one in victims.items()}
            return PreemptAnswer(chosen)
    return PrioritizeAnswer({one.place: dict.fromkeys(question.nodes, 5) for one in question.extenders})


class Moodier(machine.Moody):
    """Does worse things, and says beforehand whether it has work at PreBind."""

    def filter(self, _state: Any, pod: PodInfo, _node: NodeInfo) -> Status | None:
        return pending("not yet") if self.mood(pod) == "wait for more" else None

    def reserve(self, state: Any, pod: PodInfo, node_name: str) -> Any:
        super().reserve(state, pod, node_name)
        match self.mood(pod):
            case "no room":
                return unschedulable("no room")
            case "reserve breaks":
                raise KeyError("reserve")
        return None

    def permit(self, state: Any, pod: PodInfo, node_name: str) -> PermitAnswer | Status | None:
        match self.mood(pod):
            case "permit breaks":
                raise KeyError("permit")
            case "permit is odd":
                return SKIP
        return super().permit(state, pod, node_name)

    def pre_bind_pre_flight(self, _state: Any, pod: PodInfo, _node_name: str) -> Status | None:
        match self.mood(pod):
            case "preflight breaks":
                raise KeyError("preflight")
            case "" | "after":
                return SKIP
        return None

    async def pre_bind(self, state: Any, pod: PodInfo, node_name: str) -> Status | None:
        if self.mood(pod) == "cling":
            for _ in range(3):
                try:
                    await self.handle.host.sleep(3.0)
                except BaseException:
                    continue
        return await super().pre_bind(state, pod, node_name)

    def post_bind(self, _state: Any, pod: PodInfo, _node_name: str) -> None:
        if self.mood(pod) == "after":
            raise KeyError("after")


class AskedRig(Rig):
    """A cluster beside which there are extenders."""

    def __init__(self, salt: int) -> None:
        enabled = [{"name": "Moodier"}]
        super().__init__([Moodier], extenders=EXTENDERS, profiles=[{"plugins": {"multiPoint": {"enabled": enabled}}}])
        self.salt = salt
        self.is_calm = False

    def _answer(self, request: Request) -> Any:
        return LATER if self.later(request) else self.serve(request)

    def serve(self, request: Request) -> Any:
        match request:
            case Ask(question):
                return says(question, self.salt) if self.salt % 4 == 3 and not self.is_calm else agrees(question)
            case BindThrough(_, pod, node_name):
                return self.objects.serve(Bind(pod, node_name, False))
        return super().serve(request)


class AskingMachine(machine.AttemptMachine):
    """A scheduler whose extenders answer when they please."""

    rig: AskedRig

    @initialize(
        cpus=st.lists(st.integers(1, 2), min_size=1, max_size=3),
        salt=st.integers(0, 1000),
        crowd=st.lists(st.tuples(st.sampled_from(MOODS), st.sampled_from((0, 10))), max_size=len(machine.NAMES)),
    )
    def begin(self, cpus: list[int], salt: int = 0, crowd: Sequence[tuple[str, int]] = ()) -> None:
        self.rig = AskedRig(salt)
        self.account(cpus)
        for name, (mood, priority) in zip(machine.NAMES, crowd, strict=False):
            self.come(name, mood, priority)

    @rule()
    def large_node_joins(self) -> None:
        if self.nodes < 3:
            self.join(a_node(f"node-{self.nodes}").allocatable(cpu="2", pods="10", **{GPU: "2"}))

    @rule(
        names=st.sets(st.sampled_from(machine.NAMES), min_size=1),
        gpu=st.booleans(),
        priority=st.sampled_from((0, 10, 20)),
        mood=st.sampled_from(MOODS),
    )
    def crowd_comes(self, names: set[str], gpu: bool, priority: int, mood: str) -> None:
        for name in sorted(names - self.rig.pods.keys()):
            self.come(name, mood, priority, gpu=gpu)
        self.rig.settle()

    def come(self, name: str, mood: str, priority: int, *, gpu: bool = False) -> None:
        self.made += 1
        asked = {"cpu": "1", **({GPU: "1"} if gpu else {})}
        pod = a_pod(name).metadata(uid=f"uid-{self.made}").annotations(mood=mood)
        self.rig.pod(pod.requests(**asked).priority(priority))

    @rule(failure=st.none() | st.sampled_from(machine.FAILURES), is_done=st.booleans())
    def everything_is_answered(self, failure: Any, is_done: bool) -> None:
        for one in list(self.rig.world.open):
            self.answer(one, failure, is_done=is_done)
        self.rig.settle()

    @rule(node=st.integers(0, 2))
    def whoever_is_being_bound_is_stolen(self, node: int) -> None:
        for binding in self.rig.core.under_way if self.nodes else ():
            known = self.rig.pods.get(binding.pod.name)
            if known is not None and known.metadata.uid == binding.pod.uid and not known.spec.node_name:
                self.stolen = True
                self.rig.steal(binding.pod.name, f"node-{node % self.nodes}")

    @rule(name=st.sampled_from(machine.NAMES), labels=st.sampled_from(({}, {"a": "b"}, {"a": "c"})))
    def pod_changes(self, name: str, labels: dict[str, str]) -> None:
        if name in self.rig.pods:
            self.rig.change(name, labels=labels)

    @rule(late=st.sets(st.sampled_from((*machine.KINDS, Ask, BindThrough))))
    def answers_take_their_time(self, late: set[type]) -> None:
        self.late = late

    @rule(allows=st.booleans())
    def held_pods_hear(self, allows: bool) -> None:
        for held in self.rig.core.held:
            for name in held.pending_plugins():
                if allows:
                    held.allow(name)
                else:
                    held.reject(name, "not today")
        self.rig.settle()

    def answer(self, one: OpenRequest, failure: Any, *, is_done: bool) -> None:
        match one.request:
            case Ask() if failure is not None:
                one.give(Broken(failure.message))
            case BindThrough(_, pod, node_name) if failure is not None:
                one.give(self._found(pod, node_name, one.request, is_done=is_done))
            case Ask() | BindThrough():
                one.give(self.rig.serve(one.request))
            case _:
                super().answer(one, failure, is_done=is_done)

    def _found(self, pod: PodInfo, node_name: str, request: Request, *, is_done: bool) -> Any:
        """What is found out about a pod after the extender that was to bind it has failed."""
        if is_done:
            return self.rig.serve(request)
        known = self.rig.pods.get(pod.name)
        there = known.spec.node_name if known is not None and known.metadata.uid == pod.uid else ""
        if there == node_name:
            return Bound()
        return BoundElsewhere("taken", node_name=there) if there else Refused("the extender broke")

    def teardown(self) -> None:
        if hasattr(self, "rig"):
            self.rig.is_calm = len(self.rig.world.requests) % 3 == 0
        super().teardown()

    def _wind_up(self) -> None:
        rig = self.rig
        rig.world.time.finish(rig.core.wind_up(3.0))
        assert len(rig.core.attempts.inquiries) == 0
        super()._wind_up()


AskingMachine.TestCase.settings = settings(max_examples=250, stateful_step_count=40, deadline=None)
TestAskingAttempts = AskingMachine.TestCase
