"""Attempts under every answer and fault in every order: nothing lost, nothing doubled, nothing left behind.

Pods come, change, are stolen and deleted; nodes join; the watch lags; requests stay open and are answered in any order,
rightly or with a failure; plugins hold, dawdle and break; time passes. In the end everything is answered and told, and
time enough is given: then every pod is bound, or in the queue, and nothing is assumed, reserved, held or promised that
should not be.
"""

from typing import Any, ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.attempt.conftest import Rig

from moorage.attempt.scripted import Bind, Evict, OpenRequest, PatchStatus
from moorage.cluster.invariants import overcommitted
from moorage.framework import PermitAnswer, Status, unschedulable, wait
from moorage.framework.writes import Conflict, Refused, Unknown
from moorage.testing import NodeBuilder, a_node, a_pod

NAMES = "abcdef"
KINDS = (Bind, Evict, PatchStatus)
#: What a plugin does with a pod, by its annotation `mood`, at most so often.
MOODS = ("", "hold", "deny", "slow", "refuse", "break", "cancel")
FAILURES = (
    Refused("no", 403, "Forbidden"),
    Conflict("changed", 409, "Conflict"),
    Unknown("unreachable", may_be_done=False),
    Unknown("the answer was lost"),
)


class Moody:
    """Does with each pod what its mood says, and keeps account of what is reserved."""

    reserved: ClassVar[dict[str, int]] = {}
    handle: ClassVar[Any] = None
    #: Once this is set every plugin behaves.
    is_calm: ClassVar[bool] = False

    def __init__(self, _args: Any, handle: Any) -> None:
        type(self).handle = handle
        self.reserved.clear()
        Moody.is_calm = False

    def mood(self, pod: Any) -> str:
        return "" if self.is_calm else pod.annotations.get("mood", "")

    def reserve(self, _state: Any, pod: Any, _node_name: str) -> None:
        self.reserved[pod.uid] = self.reserved.get(pod.uid, 0) + 1

    def unreserve(self, _state: Any, pod: Any, _node_name: str) -> None:
        self.reserved[pod.uid] -= 1

    def permit(self, _state: Any, pod: Any, _node_name: str) -> PermitAnswer | Status | None:
        match self.mood(pod):
            case "hold":
                return PermitAnswer(wait(), 7.0)
            case "deny":
                return unschedulable("denied")
        return None

    async def pre_bind(self, _state: Any, pod: Any, _node_name: str) -> Status | None:
        match self.mood(pod):
            case "slow":
                await self.handle.host.sleep(4.0)
            case "refuse":
                return unschedulable("refused")
            case "break":
                raise ZeroDivisionError
            case "cancel":
                raise SystemExit
        return None


class AttemptMachine(RuleBasedStateMachine):
    """A scheduler in a scripted world, and the account of what must hold."""

    @initialize(cpus=st.lists(st.integers(1, 3), max_size=2))
    def begin(self, cpus: list[int]) -> None:
        self.rig = Rig([Moody], profiles=[{"plugins": {"multiPoint": {"enabled": [{"name": "Moody"}]}}}])
        self.account(cpus)

    def account(self, cpus: list[int]) -> None:
        """Begin with nodes of so many CPUs."""
        self.nodes = 0
        self.made = 0
        self.late: set[type] = set()
        self.stolen = False
        self.rig.later = lambda request: type(request) in self.late
        for cpu in cpus:
            self.join(a_node(f"node-{self.nodes}").allocatable(cpu=str(cpu), pods="10"))

    # The cluster.

    @rule(cpu=st.integers(1, 3))
    def node_joins(self, cpu: int) -> None:
        if self.nodes < 3:
            self.join(a_node(f"node-{self.nodes}").allocatable(cpu=str(cpu), pods="10"))

    def join(self, node: NodeBuilder) -> None:
        self.rig.node(node)
        self.nodes += 1

    @rule(
        name=st.sampled_from(NAMES),
        cpu=st.integers(1, 2),
        priority=st.sampled_from((0, 10)),
        mood=st.sampled_from(MOODS),
    )
    def pod_is_made(self, name: str, cpu: int, priority: int, mood: str) -> None:
        if name not in self.rig.pods:
            self.made += 1
            pod = a_pod(name).metadata(uid=f"uid-{self.made}").annotations(mood=mood)
            self.rig.pod(pod.requests(cpu=str(cpu)).priority(priority))

    @rule(name=st.sampled_from(NAMES))
    def pod_is_gone(self, name: str) -> None:
        if name in self.rig.pods:
            self.rig.vanish(name)

    @rule(name=st.sampled_from(NAMES))
    def pod_is_about_to_go(self, name: str) -> None:
        if name in self.rig.pods:
            self.rig.change(name, deletion_timestamp="2026-01-01T00:00:00Z")

    @precondition(lambda self: self.nodes)
    @rule(name=st.sampled_from(NAMES), node=st.integers(0, 2))
    def pod_is_stolen(self, name: str, node: int) -> None:
        if name in self.rig.pods and not self.rig.pods[name].spec.node_name:
            self.stolen = True
            self.rig.steal(name, f"node-{node % self.nodes}")

    @rule(tells=st.booleans())
    def watch_lags(self, tells: bool) -> None:
        self.rig.tells = tells

    # Answers.

    @rule(late=st.sets(st.sampled_from(KINDS)))
    def answers_take_their_time(self, late: set[type]) -> None:
        self.late = late

    @rule(data=st.data(), failure=st.none() | st.sampled_from(FAILURES), is_done=st.booleans())
    def something_is_answered(self, data: st.DataObject, failure: Any, is_done: bool) -> None:
        """Rightly, or with a failure; an answer that was lost may have been carried out or not."""
        if self.rig.world.open:
            self.answer(data.draw(st.sampled_from(self.rig.world.open)), failure, is_done=is_done)
            self.rig.settle()

    def answer(self, one: OpenRequest, failure: Any, *, is_done: bool) -> None:
        """Answer what was asked; with an unknown failure it may be done all the same."""
        if isinstance(one.request, Bind) and isinstance(failure, Conflict):
            failure = None
        answer = failure
        if failure is None:
            answer = self.rig.serve(one.request)
        elif isinstance(failure, Unknown) and failure.may_be_done and is_done:
            self.rig.serve(one.request)
        one.give(answer)

    # Plugins and time.

    @rule(allows=st.booleans())
    def held_pods_hear(self, allows: bool) -> None:
        for held in self.rig.core.held:
            if allows:
                held.allow("Moody")
            else:
                held.reject("Moody", "not today")
        self.rig.settle()

    @rule(name=st.sampled_from(NAMES))
    def pod_is_stopped(self, name: str) -> None:
        if name in self.rig.pods:
            self.rig.core.under_way.preempt(self.rig.pods[name].metadata.uid, "Somebody")

    @rule(seconds=st.sampled_from((0.0, 0.3, 1.0, 5.0, 20.0)))
    def time_passes(self, seconds: float) -> None:
        self.rig.advance(seconds)

    # What holds at any time.

    @invariant()
    def nothing_is_doubled(self) -> None:
        if not hasattr(self, "rig"):
            return
        assert all(count in (0, 1) for count in Moody.reserved.values()), Moody.reserved
        if not self.stolen:
            assert overcommitted(self.rig.core.cluster.snapshot.nodes) == []

    def teardown(self) -> None:
        if not hasattr(self, "rig"):
            return
        rig = self.rig
        if len(rig.world.requests) % 2:
            self._wind_up()
        Moody.is_calm = True
        self.late = set()
        rig.tells = True
        for _round in range(3):
            for one in list(rig.world.open):
                one.give(rig.serve(one.request))
            rig.advance(400.0)
        assert rig.leftovers() == {}
        for name, pod in rig.pods.items():
            uid, node_name = pod.metadata.uid, pod.spec.node_name
            place = rig.place(name)
            assert bool(node_name) != bool(place) or pod.is_terminating, f"{name} on {node_name!r}, queued {place!r}"
            if not node_name:
                assert Moody.reserved.get(uid, 0) == 0
        nominations = rig.core.cluster.snapshot.nominations
        promised = {one.name for node_name in nominations.nodes() for one in nominations.on(node_name)}
        assert promised <= {name for name, pod in rig.pods.items() if not pod.spec.node_name}
        assert len(rig.bindings) == len(set(rig.bindings)) or len({*rig.pods}) < self.made

    def _wind_up(self) -> None:
        """Half of all runs stop the scheduler in the middle: what is on its way is finished or undone."""
        rig = self.rig
        rig.world.time.finish(rig.core.bindings.wind_up(3.0))
        assert len(rig.core.under_way) == 0
        assert len(rig.core.held) == 0
        assert rig.core.under_way.writing == 0
        # What counts still was bound, though the watch may not have said so yet.
        bound = {pod.metadata.uid for pod in rig.pods.values() if pod.spec.node_name}
        gone = {one.uid for one in rig.core.cluster.assumed()} - bound
        assert gone <= {uid for uid in gone if all(pod.metadata.uid != uid for pod in rig.pods.values())}
        # Whoever schedules next sees the pods that were given up as new.
        for pod in [pod for pod in rig.pods.values() if not pod.spec.node_name]:
            pending = rig.core.cluster.pending(pod.metadata.uid)
            if pending is not None and not rig.place(pod.metadata.name):
                rig.core.queue.add(pending)


AttemptMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestAttempts = AttemptMachine.TestCase
