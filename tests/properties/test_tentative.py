"""A tentative block leaves nothing behind: state, orders and decisions are those of a cluster never disturbed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.properties.random_clusters import (
    CONFIGS,
    NODE_NAMES,
    NODE_TRAITS,
    SURROUNDINGS,
    make_node,
    make_pod,
    pod_traits,
)

from moorage.cluster import ClusterState
from moorage.columns import Snapshot
from moorage.columns.changes import ChangeLog, RowLog
from moorage.config import parse_config
from moorage.engine import Engine, make_engine
from moorage.objects import ObjectMeta, PersistentVolumeClaim
from moorage.testing import a_node

PARSED = {name: parse_config(document) for name, document in CONFIGS.items()}
NOW = 2_000_000_000.0
GHOST = "not-there"


@dataclass(frozen=True)
class Change:
    """Something that is changed; numbers are taken modulo what there is."""

    kind: str
    pod: int
    node: int
    traits: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A tentative block: changes and blocks inside it, and whether it is kept."""

    steps: tuple[Any, ...]
    kept: bool


KINDS = ("assume", "assume", "forget", "assign", "remove", "renew", "promise", "unpromise", "claim", "restore", "set",
         "delete", "pending", "decide")  # fmt: skip
changes = st.builds(
    Change, st.sampled_from(KINDS), st.integers(0, 30), st.integers(0, len(NODE_NAMES)), pod_traits().map(tuple)
)
blocks = st.recursive(
    st.builds(Block, st.lists(changes, max_size=8).map(tuple), st.booleans()),
    lambda inner: st.builds(Block, st.lists(st.one_of(changes, inner), max_size=6).map(tuple), st.booleans()),
    max_leaves=5,
)
node_traits = st.lists(st.sampled_from(sorted(NODE_TRAITS)), max_size=2, unique=True)


class World:
    """A cluster that is changed for a while."""

    def __init__(self, config: str, nodes: list[list[str]], pods: list[tuple[list[str], int]]) -> None:
        snapshot = Snapshot.of([*SURROUNDINGS, *map(make_node, NODE_NAMES, nodes)])
        # Short, so that they are cut within a block.
        snapshot.nodes.pod_changes, snapshot.nodes.pod_rows = ChangeLog(keep=4), RowLog(keep=8)
        self.names = (*NODE_NAMES[: len(nodes)], GHOST)
        self.state = ClusterState(snapshot)
        self.engine: Engine = make_engine(snapshot, PARSED[config], now=lambda: NOW)
        self.made = 0
        for number, (traits, node) in enumerate(pods):
            pod = make_pod(f"old{number}", traits, node=self.names[node % len(self.names)])
            if pod.spec.node_name != GHOST or number % 2:
                self.state.set_assigned(pod)
            else:
                self.state.assume(snapshot.info(make_pod(f"old{number}", traits)), self.names[0])
            snapshot.nominations.nominate(snapshot.info(make_pod(f"waiting{number}", traits)), self.names[node % 2])
        snapshot.objects.assume(
            replace(self.claim("late"), metadata=ObjectMeta("late", "default", annotations={"a": "1"}))
        )

    def claim(self, name: str) -> PersistentVolumeClaim:
        """A claim as it counts now."""
        found = self.state.snapshot.objects.get(PersistentVolumeClaim, f"default/{name}")
        return found or PersistentVolumeClaim(ObjectMeta(name, "default"))

    def run(self, block: Block) -> None:
        """Do what the block says, blocks inside it included."""
        with self.state.tentative() as tentative:
            for step in block.steps:
                self.run(step) if isinstance(step, Block) else self.change(step)
            if block.kept:
                tentative.keep()

    def change(self, change: Change) -> None:
        """Change something."""
        self.made += 1
        state, objects = self.state, self.state.snapshot.objects
        name = self.names[change.node % len(self.names)]
        counted = [pod for info in state.snapshot.nodes.infos for pod in info.pods.values()]
        chosen = counted[change.pod % len(counted)] if counted else None
        waiting = [pod for node in state.snapshot.nominations.nodes() for pod in state.snapshot.nominations.on(node)]
        new = make_pod(f"new{self.made}", list(change.traits))
        match change.kind:
            case "assume":
                state.assume(state.snapshot.info(new), name)
            case "forget" if list(state.assumed()):
                state.forget(next(state.assumed()).uid)
            case "assign":
                state.set_assigned(make_pod(f"new{self.made}", list(change.traits), node=name))
            case "remove" if chosen is not None:
                state.remove_assigned(chosen.uid)
            case "renew" if chosen is not None:
                state.set_assigned(replace(chosen.pod, metadata=replace(chosen.pod.metadata, resource_version="9")))
            case "promise":
                state.snapshot.nominations.nominate(state.snapshot.info(new), name)
            case "unpromise" if waiting:
                state.snapshot.nominations.forget(waiting[change.pod % len(waiting)])
            case "claim":
                late = self.claim("late")
                objects.assume(replace(late, metadata=replace(late.metadata, annotations={"a": str(self.made)})))
            case "restore":
                objects.restore(self.claim("late"))
            case "set":
                objects.set(PersistentVolumeClaim(ObjectMeta(("late", "zonal", "more")[change.pod % 3], "default",
                                                             resource_version=str(self.made))))  # fmt: skip
            case "delete":
                objects.remove(self.claim("zonal"))
            case "pending":
                state.set_pending(state.snapshot.info(new))
            case "decide":
                self.engine.explain(state.snapshot.info(new))

    def told(self) -> dict[str, Any]:
        """Everything that is counted, listed or looked up, and every order of it."""
        snapshot, nodes = self.state.snapshot, self.state.snapshot.nodes
        live = {info.name: info for info in nodes.infos if info.name}
        resources = sorted({name for info in live.values() for name in (*info.requested, *info.allocatable)})
        return {
            "nodes": [(row, info.name) for row, info in enumerate(nodes.infos) if info.name],
            "pods": {name: [(uid, id(pod)) for uid, pod in info.pods.items()] for name, info in live.items()},
            "requested": {name: list(info.requested.items()) for name, info in live.items()},
            "ports": {name: list(info.ports.items()) for name, info in live.items()},
            "scored": {name: (info.scored_cpu, info.scored_memory) for name, info in live.items()},
            "columns": [
                (name, column(name)[[info.row for info in live.values()]].tolist())
                for name in resources
                for column in (nodes.requested, nodes.allocatable, nodes.resources.free)
            ],
            "counts": nodes.resources.pod_count[: len(nodes.infos)].tolist()[: len(live)],
            "groups": self.groups(),
            "claims used": [nodes.is_claim_used(f"default/{name}") for name in ("late", "zonal", "exclusive")],
            "anti-affinity": nodes.held_terms.has_anti_affinity,
            "scored terms": nodes.held_terms.has_scored,
            "assumed": [pod.key for pod in self.state.assumed()],
            "sizes": self.state.sizes,
            "promises": [
                (name, [p.key for p in snapshot.nominations.on(name)]) for name in snapshot.nominations.nodes()
            ],
            "objects": [(item.key, id(item)) for item in snapshot.objects.each(PersistentVolumeClaim)],
            "looked up": [id(snapshot.objects.get(PersistentVolumeClaim, f"default/{n}")) for n in ("late", "zonal")],
            "pending": [self.state.pending(f"new{n}-uid") for n in range(30)],
        }

    def groups(self) -> dict[Any, dict[int, int]]:
        """Where pods of equal labels lie."""
        found: dict[Any, dict[int, int]] = {}
        for info in self.state.snapshot.nodes.infos:
            for pod in info.pods.values():
                group = pod.label_group
                found[group.namespace, frozenset(group.labels.items()), group.terminating] = dict(group.rows)
        return found

    def decisions(self, templates: list[list[str]]) -> Iterator[dict[str, Any]]:
        """What becomes of pods of some kinds."""
        for number, traits in enumerate(templates):
            yield self.engine.explain(self.state.snapshot.info(make_pod(f"probe{number}", traits))).as_data()


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(sorted(CONFIGS)),
    st.lists(node_traits, min_size=2, max_size=6),
    st.lists(st.tuples(pod_traits(), st.integers(0, 6)), max_size=8),
    blocks,
    st.lists(pod_traits(), min_size=1, max_size=3),
)
def test_what_is_undone_was_never_there(
    config: str,
    nodes: list[list[str]],
    pods: list[tuple[list[str], int]],
    block: Block,
    templates: list[list[str]],
) -> None:
    world, undisturbed = World(config, nodes, pods), World(config, nodes, pods)
    list(world.decisions(templates))  # what is kept between decisions has to be put right, too
    before = world.told()
    world.run(Block(block.steps, kept=False))
    assert world.told() == before
    assert list(world.decisions(templates)) == list(undisturbed.decisions(templates))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(pod_traits(), st.integers(0, 6)), max_size=6), st.lists(changes, max_size=10))
def test_what_is_kept_is_as_if_there_had_been_no_block(pods: list[tuple[list[str], int]], steps: list[Change]) -> None:
    world, plain = World("default", [[], [], []], pods), World("default", [[], [], []], pods)
    world.run(Block((Block(tuple(steps), kept=True),), kept=True))
    for step in steps:
        plain.change(step)
    mine, others = world.told(), plain.told()
    for told in (mine, others):
        for ids in ("pods", "objects", "looked up", "pending"):
            told[ids] = None  # of another world
    assert mine == others


def test_what_is_kept_stays_and_what_is_undone_inside_goes() -> None:
    world = World("default", [[], []], [([], 0)])
    with world.state.tentative() as outer:
        world.change(Change("assume", 0, 0, ("small",)))
        with world.state.tentative():
            world.change(Change("assume", 0, 1, ("small",)))
        with world.state.tentative() as inner:
            world.change(Change("assume", 0, 1, ("big",)))
            inner.keep()
        outer.keep()
    assert [pod.name for pod in world.state.assumed()] == ["new1", "new3"]


def test_what_raises_is_undone_even_if_kept() -> None:
    world = World("default", [[], []], [])
    before = world.told()

    def break_off() -> None:
        with world.state.tentative() as tentative:
            world.change(Change("assume", 0, 0, ("small",)))
            tentative.keep()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_off()
    assert world.told() == before


def test_nodes_do_not_change_tentatively() -> None:
    world = World("default", [[], []], [])
    with world.state.tentative():
        for change in (
            lambda: world.state.snapshot.nodes.set_node(a_node("new").build()),
            lambda: world.state.snapshot.nodes.remove_node(NODE_NAMES[0]),
        ):
            with pytest.raises(RuntimeError, match="nodes do not change"):
                change()
    world.state.snapshot.nodes.set_node(a_node("new").build())


def test_another_map_joins() -> None:
    world = World("default", [[]], [])
    in_flight = {"b": 1, "a": 2}
    with world.state.tentative():
        undo = world.state.snapshot.undo
        assert undo is not None
        undo.save(in_flight)
        in_flight.pop("b")
        in_flight["c"] = 3
        in_flight["b"] = 4
    assert list(in_flight.items()) == [("b", 1), ("a", 2)]
    assert world.state.snapshot.undo is None


def test_a_large_group_does_not_make_readers_start_afresh() -> None:
    world = World("default", [[], []], [])
    nodes = world.state.snapshot.nodes
    read_to = nodes.pod_changes.position
    with world.state.tentative():
        for number in range(100):
            world.change(Change("assume", 0, number, ("small",)))
        inside = nodes.pod_changes.since(read_to)
    after = nodes.pod_changes.since(read_to)
    assert inside is not None
    assert after is not None
    assert len(after) == 2 * len(inside)
    assert np.sum([change.delta for change in after]) == 0


def by_volume(claim: PersistentVolumeClaim) -> str:
    return claim.spec.volume_name


def test_what_was_looked_up_inside_is_looked_up_anew() -> None:
    world = World("default", [[]], [])
    objects = world.state.snapshot.objects
    before = {name: list(map(id, found)) for name, found in objects.by(PersistentVolumeClaim, by_volume).items()}
    with world.state.tentative():
        world.change(Change("claim", 0, 0, ()))
        inside = objects.by(PersistentVolumeClaim, by_volume)
        assert {name: list(map(id, found)) for name, found in inside.items()} != before
    assert {name: list(map(id, f)) for name, f in objects.by(PersistentVolumeClaim, by_volume).items()} == before
