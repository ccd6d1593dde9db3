"""NodePorts."""

from typing import Any

import pytest
from tests.unit.plugins.volumes.volume_builders import hint

from moorage.columns import Snapshot
from moorage.framework.events import Action, Hint, Resource
from moorage.plugins import NodePorts
from moorage.testing import Cluster, PodBuilder, a_node, a_pod


@pytest.mark.parametrize(
    ("held", "fits"),
    [
        (a_pod("old").host_port(80), False),
        (a_pod("old").host_port(80, address="10.0.0.1"), False),
        (a_pod("old").host_port(81), True),
        (a_pod("old").host_port(80, protocol="UDP"), True),
        (a_pod("old"), True),
    ],
)
def test_a_port_is_held_by_one_pod(held: PodBuilder, fits: bool) -> None:
    decided = Cluster(a_node("n"), held.on("n")).decide(a_pod("new").host_port(80))
    assert bool(decided.chosen) is fits
    if not fits:
        decided.assert_refused(
            "n", by="NodePorts", because="node(s) didn't have free ports for the requested pod ports"
        )


def test_the_port_is_free_again_when_its_holder_is_preempted() -> None:
    cluster = Cluster(a_node("n"), a_pod("old").host_port(80).on("n"))
    preemption = cluster.decide(a_pod("new").host_port(80).priority(1)).preemption
    assert preemption is not None
    assert (preemption.node, preemption.victims) == ("n", ("default/old",))


@pytest.mark.parametrize(
    ("gone", "answer"),
    [
        (a_pod("old").host_port(80).on("n"), Hint.QUEUE),
        (a_pod("old").host_port(80).nominated_to("n"), Hint.QUEUE),
        (a_pod("old").host_port(80), Hint.SKIP),
        (a_pod("old").host_port(81).on("n"), Hint.SKIP),
    ],
)
def test_hints_of_ports(gone: PodBuilder, answer: Hint) -> None:
    pod = Snapshot().info(a_pod().host_port(80).build())
    plugin: Any = NodePorts(None, None)  # type: ignore[arg-type]
    assert hint(plugin, pod, Resource.ASSIGNED_POD, Action.DELETE, gone.build()) is answer
    assert hint(plugin, pod, Resource.NODE, Action.ADD, None, a_node().build()) is Hint.QUEUE
