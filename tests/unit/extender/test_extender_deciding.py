"""Filter, prioritize and preempt for nodes that a caller names."""

from typing import Any

import pytest

from moorage.columns import PodInfo, Snapshot
from moorage.engine import make_engine
from moorage.engine.asking import ChosenVictims
from moorage.engine.engine import default_registry
from moorage.extender.configuring import plugins_config, register
from moorage.extender.deciding import Candidate, Crowded, Decider
from moorage.extender.promises import LIFETIME, Promises
from moorage.framework import CycleState, NodeInfo, Scope, Status, unresolvable, unschedulable
from moorage.objects import KubeObject
from moorage.testing import PodBuilder, a_node, a_pod


class Slots:
    """As many pods on a node as its label `slots` says; nodes without it are not for anybody. Fuller is better."""

    def __init__(self, args: Any, handle: Any) -> None:
        self.looked_at: list[str] = []

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        self.looked_at.append(node.name)
        if "slots" not in node.labels:
            return unresolvable("no slots")
        return unschedulable("slots taken") if len(node.pods) >= int(node.labels["slots"]) else None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return min(25 * len(node.pods), 100)


class NodeOnly:
    """Looks at the node object alone."""

    filter_scope = Scope.NODE

    def __init__(self, args: Any, handle: Any) -> None: ...

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None if "slots" in node.labels else unschedulable("no slots")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class World:
    def __init__(self, *objects: KubeObject, plugin: type = Slots, promises: bool = False) -> None:
        registry = default_registry()
        names = register(registry, [plugin])
        self.snapshot = Snapshot.of(objects)
        engine = make_engine(self.snapshot, plugins_config(registry, names, None), registry=registry)
        (self.runner,) = engine.runners.values()
        self.clock = Clock()
        self.promises = Promises(self.clock)
        self.decider = Decider(self.runner, self.promises if promises else None)

    def pod(self, builder: PodBuilder) -> PodInfo:
        return self.snapshot.info(builder.build())

    def assigned(self, name: str, node: str, priority: int = 0) -> PodInfo:
        pod = self.pod(a_pod(name).priority(priority)).bound_to(node)
        self.snapshot.nodes.add_pod(pod, node)
        return pod


def nodes(**slots: str) -> list[KubeObject]:
    return [a_node(name).labels(slots=count).build() for name, count in slots.items()]


class TestFilter:
    def test_reasons_by_what_helps(self) -> None:
        world = World(*nodes(free="2", full="0"), a_node("plain").build())
        answer = world.decider.filter(world.pod(a_pod()), ["free", "full", "plain", "gone"])
        assert answer.passed == {"free"}
        assert answer.failed == {"full": "slots taken", "gone": 'node "gone" not found'}
        assert answer.unresolvable == {"plain": "no slots"}

    def test_no_other_nodes_are_looked_at(self) -> None:
        world = World(*nodes(a="1", b="1", c="1"))
        plugin = world.runner.profile.plugins["Slots"]
        assert world.decider.filter(world.pod(a_pod()), ["b"]).passed == {"b"}
        assert set(plugin.looked_at) == {"b"}

    def test_no_nodes(self) -> None:
        world = World(*nodes(a="1"))
        assert world.decider.filter(world.pod(a_pod()), []).passed == frozenset()


class TestPromises:
    """Two pods in flight do not take the same room."""

    def test_room_is_taken_until_the_binding_is_seen(self) -> None:
        world = World(*nodes(a="1", b="2"), promises=True)
        first, second = world.pod(a_pod("first")), world.pod(a_pod("second"))
        assert world.decider.filter(first, ["a", "b"]).passed == {"a", "b"}
        answer = world.decider.filter(second, ["a", "b"])
        assert answer.passed == {"b"}
        assert answer.failed == {"a": "slots taken (counting pods on their way)"}
        world.promises.withdraw(first.uid)
        assert world.decider.filter(second, ["a", "b"]).passed == {"a", "b"}

    def test_where_only_promises_stand_in_the_way_that_is_no_verdict(self) -> None:
        world = World(*nodes(a="1", full="0"), promises=True)
        world.decider.filter(world.pod(a_pod("first")), ["a"])
        with pytest.raises(Crowded):
            world.decider.filter(world.pod(a_pod("second")), ["a", "full"])
        assert len(world.promises) == 1

    def test_a_pod_asked_about_again_does_not_stand_in_its_own_way(self) -> None:
        world = World(*nodes(a="1"), promises=True)
        pod = world.pod(a_pod("first"))
        for _ in range(3):
            assert world.decider.filter(pod, ["a"]).passed == {"a"}
        assert len(world.promises) == 1

    def test_they_lapse(self) -> None:
        world = World(*nodes(a="1"), promises=True)
        world.decider.filter(world.pod(a_pod("first")), ["a"])
        world.clock.now = LIFETIME
        assert world.decider.filter(world.pod(a_pod("second")), ["a"]).passed == {"a"}
        assert len(world.promises) == 1

    def test_a_plugin_that_looks_at_nodes_alone_needs_none(self) -> None:
        world = World(*nodes(a="1"), plugin=NodeOnly, promises=True)
        world.decider.filter(world.pod(a_pod("first")), ["a"])
        assert len(world.promises) == 0

    def test_who_waits_hears_of_room(self) -> None:
        world = World()
        heard: list[int] = []
        world.promises.on_change = lambda: heard.append(1)
        world.promises.give(world.pod(a_pod("first")), ["a"])
        world.promises.withdraw(world.pod(a_pod("first")).uid)
        world.promises.withdraw("unknown")
        assert heard == [1]
        assert world.promises.on("a") == []


class TestPrioritize:
    def test_hundreds_go_out_as_tens_rounded(self) -> None:
        world = World(*nodes(empty="9", one="9", two="9", three="9", four="9"))
        for count, name in enumerate(["one", "two", "three", "four"], 1):
            for index in range(count):
                world.assigned(f"{name}-{index}", name)
        names = ["empty", "one", "two", "three", "four", "gone"]
        assert world.decider.prioritize(world.pod(a_pod()), names) == {
            "empty": 0,
            "one": 3,
            "two": 5,
            "three": 8,
            "four": 10,
            "gone": 0,
        }

    def test_plugins_that_do_not_score(self) -> None:
        world = World(*nodes(a="1"), plugin=NodeOnly)
        assert world.decider.prioritize(world.pod(a_pod()), ["a"]) == {"a": 0}


class TestPreempt:
    def test_a_candidate_stays_where_its_victims_are_enough(self) -> None:
        world = World(*nodes(a="1"), a_node("plain").build())
        victim = world.assigned("low", "a")
        pod = world.pod(a_pod("high").priority(10))
        left = world.decider.preempt(pod, {"a": Candidate([victim], 1), "plain": Candidate([]), "gone": Candidate([])})
        assert left == {"a": ChosenVictims((victim.uid,), 1)}

    def test_more_victims_the_least_important_first(self) -> None:
        world = World(*nodes(a="2"))
        low, middle, high = (world.assigned(name, "a", priority) for priority, name in enumerate(("x", "y", "z")))
        left = world.decider.preempt(world.pod(a_pod("high").priority(10)), {"a": Candidate([high])})
        assert left == {"a": ChosenVictims((high.uid, low.uid))}
        assert middle.uid not in left["a"].uids

    def test_none_where_nobody_less_important_is_left(self) -> None:
        world = World(*nodes(a="1"))
        victim = world.assigned("low", "a", 1)
        world.assigned("higher", "a", 50)
        assert world.decider.preempt(world.pod(a_pod("high").priority(10)), {"a": Candidate([victim])}) == {}
        assert len(world.snapshot.nodes.get("a").pods) == 2  # type: ignore[union-attr]
