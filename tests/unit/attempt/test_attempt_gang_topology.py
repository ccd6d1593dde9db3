"""Gangs within domains of a topology: in one if they must, in few and tight ones if they may."""

import pytest
from tests.unit.attempt.gangs import GangRig

from moorage.attempt.scripted import Evict
from moorage.testing import a_node, a_pod

RACK = "example.com/rack"


def racks(*sizes: int) -> GangRig:
    """A rack for each number, with so many nodes of two CPUs."""
    rig = GangRig()
    for rack, size in enumerate(sizes):
        for number in range(size):
            rig.node(a_node(f"r{rack}-{number}").allocatable(cpu="2", pods="110").labels({RACK: f"r{rack}"}))
    return rig


def gang(rig: GangRig, name: str, size: int, *, minimum: int | None = None, **how: str) -> None:
    notes = {f"moorage.dev__topology_{kind}": RACK for kind in how}
    rig.gang(name, size, minimum, **notes)


def used(rig: GangRig, name: str) -> list[str]:
    """The racks that the gang is in."""
    return sorted({node.split("-")[0] for pod, node in rig.nodes_of().items() if node and pod.startswith(name)})


def test_required_means_one_domain_and_the_tightest() -> None:
    rig = racks(4, 2, 3)
    gang(rig, "a", 4, required="")
    assert used(rig, "a") == ["r1"]
    gang(rig, "b", 6, required="")
    assert used(rig, "b") == ["r2"]


def test_a_gang_that_fits_in_no_domain_waits_whatever_room_there_is() -> None:
    rig = racks(2, 2, 2)
    gang(rig, "a", 6, required="")
    assert rig.bound() == []
    message = rig.told("a")[1]
    assert "blocks its group in domain r" in message
    assert "0/2 nodes are available: 2 Insufficient cpu. 4 of 6 would fit" in message
    before = rig.attempts()
    rig.advance(100)
    assert rig.attempts() == before
    rig.node(a_node("r1-9").allocatable(cpu="2", pods="110").labels({RACK: "r1"}))
    rig.advance(5)
    assert used(rig, "a") == ["r1"]


def test_nodes_without_the_label_are_in_no_domain() -> None:
    rig = racks(1)
    rig.nodes(4)
    gang(rig, "a", 4, required="")
    assert rig.bound() == []
    nothing = GangRig()
    nothing.nodes(4)
    gang(nothing, "a", 4, required="")
    assert f"no node has the label {RACK}" in nothing.told("a")[1]


def test_preferred_takes_one_domain_where_there_is_one() -> None:
    rig = racks(1, 4, 2)
    gang(rig, "a", 4, preferred="")
    assert used(rig, "a") == ["r2"]


def test_preferred_takes_as_few_as_may_be() -> None:
    rig = racks(1, 3, 2)
    gang(rig, "a", 8, preferred="")
    assert len(rig.bound("a")) == 8
    assert used(rig, "a") == ["r0", "r1"], "the largest, and the tightest that takes the rest"


def test_preferred_uses_nodes_without_the_label_last() -> None:
    rig = racks(1, 1)
    rig.nodes(2)
    gang(rig, "a", 8, preferred="")
    assert len(rig.bound("a")) == 8


def test_preferred_within_required() -> None:
    rig = GangRig()
    for zone, block in (("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b1")):
        number = len(rig.core.cluster.snapshot.nodes)
        labels = {"zone": zone, "block": block}
        rig.node(a_node(f"{block}-{number}").allocatable(cpu="2", pods="110").labels(labels))
    notes = {"moorage.dev__topology_required": "zone", "moorage.dev__topology_preferred": "block"}
    rig.gang("a", 4, None, "1", **notes)
    assert used(rig, "a") in (["a1", "a2"], ["b1"])
    assert len(rig.bound()) == 4


def test_late_members_go_where_the_gang_is() -> None:
    rig = racks(3, 4)
    gang(rig, "a", 4, minimum=4, required="")
    (rack,) = used(rig, "a")
    rig.pod(rig.member("a", "a-late"))
    rig.settle()
    assert used(rig, "a") == [rack]
    assert "a-late" in rig.bound()


def test_room_is_made_within_a_domain() -> None:
    rig = racks(2, 2)
    for number in range(8):
        rig.pod(a_pod(f"low-{number}").requests(cpu="1").priority(0))
    rig.settle()
    rig.group("a", 4, **{"moorage.dev__topology_required": RACK})
    for number in range(4):
        rig.pod(rig.member("a", f"a-{number}").priority(10))
    rig.settle()
    rig.advance(20)
    assert len(rig.asked(Evict)) == 4
    assert len(used(rig, "a")) == 1
    assert len(rig.bound("a")) == 4


@pytest.mark.parametrize("size", [16, 64])
def test_what_is_known_without_a_try_is_what_trying_finds(size: int) -> None:
    """Many members that are alike: the words are those of the member that finds all places taken."""
    rig = GangRig()
    rig.nodes((size - 2) // 2)
    rig.gang("a", size)
    nodes = (size - 2) // 2
    words = f"0/{nodes} nodes are available: {nodes} Insufficient cpu. {size - 2} of {size} would fit"
    assert words in rig.told("a")[1]
    assert rig.bound() == []
    assert rig.leftovers() == {}
    rig.nodes(1)
    rig.advance(5)
    assert len(rig.bound()) == size
