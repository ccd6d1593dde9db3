"""Gangs under every answer and fault in every order: none half placed, nothing lost, nothing tried in vain.

Gangs, members and nodes come and go; groups are deleted and made again; binds fail, are answered late, or their answers
are lost; the watch lags; the process dies and another begins; time passes. At any time a gang that waits holds no room.
In the end everything is answered and told, and time enough is given: then every gang is whole, or has no member on a
node, or has lost members after it was whole, or people are told which members run alone; and nothing is tried any more.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.unit.attempt.gangs import GangRig

from moorage.attempt.scripted import LATER, Bind, OpenRequest
from moorage.cluster.invariants import overcommitted
from moorage.framework.writes import Refused, Unknown
from moorage.testing import a_node, a_pod

GANGS = "ab"
MOST = 4
FAILURES = (Refused("no", 403, "Forbidden"), Unknown("unreachable", may_be_done=False), Unknown("the answer was lost"))


class GangMachine(RuleBasedStateMachine):
    """A scheduler in a scripted world, and the account of what must hold."""

    @initialize(native=st.booleans(), cpus=st.lists(st.integers(1, 3), min_size=1, max_size=2))
    def begin(self, native: bool, cpus: list[int]) -> None:
        self.rig = GangRig(native=native)
        self.made = 0
        self.minimum: dict[str, int] = {}
        self.whole: set[str] = set()
        self.late = False
        self.cursed: set[str] = set()
        self.rig.world.answer = self.answer
        for cpu in cpus:
            self.node_joins(cpu)

    # The cluster.

    @rule(cpu=st.integers(1, 3))
    def node_joins(self, cpu: int) -> None:
        nodes = len(self.rig.core.cluster.snapshot.nodes)
        if nodes < 4:
            self.rig.node(a_node(f"n{nodes}").allocatable(cpu=str(cpu), pods="10"))
            self.rig.settle()

    @rule(name=st.sampled_from(GANGS), minimum=st.integers(1, MOST))
    def group_is_made_or_changed(self, name: str, minimum: int) -> None:
        if self.rig.native and name in self.minimum and (minimum != self.minimum[name]):
            minimum = self.minimum[name]
        self.minimum[name] = minimum
        self.rig.group(name, minimum)

    @rule(name=st.sampled_from(GANGS))
    def group_is_gone(self, name: str) -> None:
        if name in self.minimum:
            del self.minimum[name]
            self.whole.discard(name)
            self.rig.ungroup(name)

    @rule(name=st.sampled_from(GANGS), number=st.integers(0, MOST), cpu=st.integers(1, 2))
    def member_is_made(self, name: str, number: int, cpu: int) -> None:
        if f"{name}-{number}" not in self.rig.pods:
            self.made += 1
            pod = self.rig.member(name, f"{name}-{number}", str(cpu))
            self.rig.pod(pod.metadata(uid=f"uid-{self.made}"))
            self.rig.settle()

    @rule(name=st.sampled_from(GANGS), size=st.integers(1, MOST))
    def gang_is_made(self, name: str, size: int) -> None:
        self.group_is_made_or_changed(name, size)
        for number in range(size):
            self.member_is_made(name, number, 1)

    @rule(name=st.sampled_from(GANGS), number=st.integers(0, MOST))
    def member_is_gone(self, name: str, number: int) -> None:
        if f"{name}-{number}" in self.rig.pods:
            self.rig.vanish(f"{name}-{number}")
            self.rig.settle()

    @rule(number=st.integers(0, 1), cpu=st.integers(1, 2))
    def single_is_made(self, number: int, cpu: int) -> None:
        if f"single-{number}" not in self.rig.pods:
            self.made += 1
            self.rig.pod(a_pod(f"single-{number}").metadata(uid=f"uid-{self.made}").requests(cpu=str(cpu)))
            self.rig.settle()

    @rule(number=st.integers(0, 1))
    def single_is_gone(self, number: int) -> None:
        if f"single-{number}" in self.rig.pods:
            self.rig.vanish(f"single-{number}")
            self.rig.settle()

    @rule(tells=st.booleans())
    def watch_lags(self, tells: bool) -> None:
        self.rig.tells = tells
        self.rig.settle()

    # Answers and time.

    def answer(self, request: Any) -> Any:
        """At once, or later."""
        return LATER if self.late and isinstance(request, Bind) else self.serve(request)

    def serve(self, request: Any) -> Any:
        """As the cluster would; some pods are never bound."""
        if isinstance(request, Bind) and request.pod.name in self.cursed:
            return FAILURES[0]
        return self.rig.serve(request)

    @rule(name=st.sampled_from(GANGS), number=st.integers(0, MOST))
    def pod_is_cursed(self, name: str, number: int) -> None:
        self.cursed.add(f"{name}-{number}")

    @rule(late=st.booleans())
    def binds_take_their_time(self, late: bool) -> None:
        self.late = late

    @rule(data=st.data(), failure=st.none() | st.sampled_from(FAILURES), is_done=st.booleans())
    def a_bind_is_answered(self, data: st.DataObject, failure: Any, is_done: bool) -> None:
        """Rightly, or with a failure; an answer that was lost may have been carried out or not."""
        if not self.rig.world.open:
            return
        one: OpenRequest = data.draw(st.sampled_from(self.rig.world.open))
        if failure is None or (isinstance(failure, Unknown) and failure.may_be_done and is_done):
            answer = self.serve(one.request)
            one.give(answer if failure is None else failure)
        else:
            one.give(failure)
        self.rig.settle()

    @rule(seconds=st.sampled_from((0.3, 1.0, 6.0, 30.0)))
    def time_passes(self, seconds: float) -> None:
        self.rig.advance(seconds)

    @rule(done=st.booleans())
    def the_process_dies(self, done: bool) -> None:
        """What it has asked for may have been done; another process begins with what there is."""
        for one in self.rig.world.open if done else ():
            self.serve(one.request)
        self.rig = self.rig.successor()
        self.rig.world.answer = self.answer
        self.rig.settle()

    # What holds at any time.

    @invariant()
    def nothing_is_doubled_and_who_waits_holds_nothing(self) -> None:
        if not hasattr(self, "rig"):
            return
        core = self.rig.core
        assert overcommitted(core.cluster.snapshot.nodes) == []
        under_way = {binding.pod.uid for binding in core.under_way}
        if self.rig.tells:
            assert {pod.uid for pod in core.cluster.assumed()} <= under_way, "only what is being bound counts"
        for name, minimum in self.minimum.items():
            if self.bound(name) >= minimum:
                self.whole.add(name)

    def bound(self, name: str) -> int:
        return len(self.rig.bound(f"{name}-"))

    def teardown(self) -> None:
        if not hasattr(self, "rig"):
            return
        rig = self.rig
        self.late = False
        rig.tells = True
        for _round in range(3):
            for one in list(rig.world.open):
                one.give(self.serve(one.request))
            rig.advance(400.0)
        assert rig.leftovers() == {}
        for name, pod in rig.pods.items():
            assert bool(pod.spec.node_name) != bool(rig.place(name)), (
                f"{name} on {pod.spec.node_name!r}, {rig.place(name)!r}"
            )
        for name, minimum in self.minimum.items():
            bound = self.bound(name)
            is_fine = bound == 0 or bound >= minimum or name in self.whole or rig.told(name)[0] == "True"
            assert is_fine or rig.told(name, "HalfBound")[0] == "True", f"{bound} of {minimum} of {name} run alone"
        before = rig.attempts()
        rig.advance(250.0)
        # What nothing has helped is looked at every five minutes; what is not bound, at each end of its back-off.
        is_cursed = any(name in self.cursed for name in rig.pods)
        assert rig.attempts() - before <= (len(GANGS) if not is_cursed else 100)


GangMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestGangs = GangMachine.TestCase
