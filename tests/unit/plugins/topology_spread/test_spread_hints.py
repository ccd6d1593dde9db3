"""What PodTopologySpread says about cluster events."""

from random import Random

import pytest
from msgspec.structs import replace

from moorage.columns import Snapshot
from moorage.config import PodTopologySpreadArgs
from moorage.framework.events import Action, Hint, Resource
from moorage.framework.handle import Handle
from moorage.plugins.topology_spread import PodTopologySpread
from moorage.testing import HOSTNAME, NodeBuilder, PodBuilder, a_node, a_pod

WAITING = a_pod("waiting").labels(app="web").spread(app="web")
OTHER = a_pod("other").labels(app="web").on("n1")


def hint(
    old: PodBuilder | NodeBuilder | None, new: PodBuilder | NodeBuilder | None, waiting: PodBuilder = WAITING
) -> bool:
    """Whether the event brings the pod back to the queue."""
    snapshot = Snapshot()
    plugin = PodTopologySpread(PodTopologySpreadArgs(), Handle(snapshot, now=lambda: 0.0, random=Random(0)))
    about = Resource.POD if isinstance(old or new, PodBuilder) else Resource.NODE
    (registered,) = (one for one in plugin.events_to_register() if one.event.resource is about)
    assert registered.hint is not None
    return registered.hint(snapshot.info(waiting.build()), old and old.build(), new and new.build()) is Hint.QUEUE


def test_which_events_are_registered() -> None:
    plugin = PodTopologySpread(PodTopologySpreadArgs(), Handle(Snapshot(), now=lambda: 0.0, random=Random(0)))
    pods, nodes = (one.event for one in plugin.events_to_register())
    assert pods.action == Action.ADD | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION | Action.DELETE
    assert nodes.action == Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT


@pytest.mark.parametrize(
    ("pod", "helps"),
    [
        (OTHER, True),
        (OTHER.on("").nominated_to("n1"), True),
        (OTHER.on(""), False),
        (OTHER.namespace("elsewhere"), False),
        (OTHER.labels(app="db"), False),
    ],
)
def test_a_pod_came_or_went(pod: PodBuilder, helps: bool) -> None:
    assert hint(None, pod) is helps
    assert hint(pod, None) is helps


@pytest.mark.parametrize(
    ("before", "now", "helps"),
    [
        (OTHER, OTHER.labels(app="db"), True),
        (OTHER.labels(app="db"), OTHER, True),
        (OTHER, OTHER.labels(tier="x"), False),
        (OTHER.namespace("elsewhere"), OTHER.namespace("elsewhere").labels(app="db"), False),
        (WAITING, WAITING.labels(app="db"), True),
    ],
)
def test_a_pod_changed_its_labels(before: PodBuilder, now: PodBuilder, helps: bool) -> None:
    assert hint(before, now) is helps


def test_the_pods_own_tolerations_matter_where_taints_are_honoured() -> None:
    (constraint,) = WAITING.pod.spec.topology_spread_constraints
    honouring = WAITING.spec(topology_spread_constraints=(replace(constraint, node_taints_policy="Honor"),))
    assert hint(honouring, honouring.tolerates("dedicated"), honouring)
    assert not hint(WAITING, WAITING.tolerates("dedicated"), WAITING)


@pytest.mark.parametrize(
    ("before", "now", "helps"),
    [
        (None, a_node().zone("a"), True),
        (a_node().zone("a"), None, True),
        (None, a_node(), False),
        (a_node(), None, False),
        (a_node(), a_node().zone("a"), True),
        (a_node().zone("a"), a_node(), True),
        (a_node().zone("a"), a_node().zone("b"), True),
        (a_node().zone("a"), a_node().zone("a").labels(disk="ssd"), False),
        (a_node().zone("a"), a_node().zone("a").taint("dedicated"), True),
        (a_node(), a_node().taint("dedicated"), False),
    ],
)
def test_nodes(before: NodeBuilder | None, now: NodeBuilder | None, helps: bool) -> None:
    assert hint(before, now) is helps


def test_soft_constraints_have_no_say() -> None:
    soft = a_pod("waiting").labels(app="web").spread(app="web", by=HOSTNAME, hard=False)
    assert not hint(None, OTHER, soft)
