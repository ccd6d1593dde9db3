"""What InterPodAffinity says about cluster events."""

from random import Random

import pytest

from moorage.columns import Snapshot
from moorage.config import InterPodAffinityArgs
from moorage.framework.events import Action, Hint, Resource
from moorage.framework.handle import Handle
from moorage.objects import Affinity, LabelSelector, LabelSelectorRequirement, PodAffinity, PodAffinityTerm
from moorage.plugins.inter_pod_affinity import InterPodAffinity
from moorage.testing import ZONE, NodeBuilder, PodBuilder, a_node, a_pod

FOND = a_pod("waiting").near(app="db", by=ZONE)
SHY = a_pod("waiting").away_from(app="db", by=ZONE)
PLAIN = a_pod("waiting").labels(app="web")
DB = a_pod("db").labels(app="db").on("n1")


def hint(waiting: PodBuilder, old: PodBuilder | NodeBuilder | None, new: PodBuilder | NodeBuilder | None) -> bool:
    """Whether the event brings the pod back to the queue."""
    snapshot = Snapshot()
    plugin = InterPodAffinity(InterPodAffinityArgs(), Handle(snapshot, now=lambda: 0.0, random=Random(0)))
    about = Resource.POD if isinstance(old or new, PodBuilder) else Resource.NODE
    (registered,) = (one for one in plugin.events_to_register() if one.event.resource is about)
    assert registered.hint is not None
    return registered.hint(snapshot.info(waiting.build()), old and old.build(), new and new.build()) is Hint.QUEUE


def test_which_events_are_registered() -> None:
    plugin = InterPodAffinity(InterPodAffinityArgs(), Handle(Snapshot(), now=lambda: 0.0, random=Random(0)))
    pods, nodes = (one.event for one in plugin.events_to_register())
    assert pods.action == Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE
    assert nodes.action == Action.ADD | Action.UPDATE_NODE_LABEL


@pytest.mark.parametrize(
    ("waiting", "old", "new", "helps"),
    [
        (FOND, None, DB, True),
        (FOND, None, DB.on(""), False),
        (FOND, None, DB.on("").nominated_to("n1"), True),
        (FOND, None, DB.labels(app="web"), False),
        (FOND, DB, None, False),
        (FOND, DB.labels(app="web"), DB, True),
        (FOND, DB, DB.labels(app="web"), False),
        (SHY, None, DB, False),
        (SHY, DB, None, True),
        (SHY, DB.labels(app="web"), None, False),
        (SHY, DB, DB.labels(app="web"), True),
        (SHY, DB.labels(app="web"), DB, False),
        (PLAIN, a_pod("old").on("n1").away_from(app="web"), None, True),
        (PLAIN, a_pod("old").on("n1").away_from(app="db"), None, False),
        (PLAIN, PLAIN, PLAIN.labels(app="db"), True),
    ],
)
def test_pods(waiting: PodBuilder, old: PodBuilder | None, new: PodBuilder | None, helps: bool) -> None:
    assert hint(waiting, old, new) is helps


@pytest.mark.parametrize(
    ("waiting", "old", "new", "helps"),
    [
        (FOND, None, a_node().zone("a"), True),
        (FOND, None, a_node(), False),
        (FOND, a_node(), a_node().zone("a"), True),
        (FOND, a_node().zone("a"), a_node().zone("b"), True),
        (FOND, a_node().zone("a"), a_node(), False),
        (SHY, None, a_node(), True),
        (SHY, a_node(), a_node().zone("a"), False),
        (SHY, a_node().zone("a"), a_node().zone("b"), True),
        (SHY, a_node().zone("a"), a_node(), True),
        (PLAIN, None, a_node().zone("a"), False),
    ],
)
def test_nodes(waiting: PodBuilder, old: NodeBuilder | None, new: NodeBuilder | None, helps: bool) -> None:
    assert hint(waiting, old, new) is helps


def test_namespace_selectors_that_demand_a_label_never_match() -> None:
    term = PodAffinityTerm(LabelSelector({"app": "db"}), (), ZONE, LabelSelector({"team": "x"}))
    waiting = a_pod("waiting").spec(affinity=Affinity(pod_affinity=PodAffinity((term,))))
    assert not hint(waiting, None, DB)


def test_malformed_terms_are_left_to_the_next_cycle() -> None:
    bad = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "Nearly", ("db",)),))
    affinity = Affinity(pod_affinity=PodAffinity((PodAffinityTerm(bad, (), ZONE),)))
    waiting = a_pod("waiting").spec(affinity=affinity)
    assert hint(waiting, None, DB)
    assert hint(waiting, None, a_node())
