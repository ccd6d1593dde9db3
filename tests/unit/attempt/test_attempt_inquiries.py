"""Attempts that wait for extenders: asked, answered, taken back, bound by them."""

from typing import Any

import pytest
from tests.unit.attempt.conftest import Rig

from moorage.attempt.inquiries import MOST_ASKING, MOST_PUT_OFF
from moorage.attempt.pacing import FIRST
from moorage.attempt.scripted import Ask, Bind, BindThrough
from moorage.columns import PodInfo
from moorage.engine.asking import Answer, Answers, Broken, FilterAnswer, PrioritizeAnswer
from moorage.framework.writes import Bound, BoundElsewhere, Refused
from moorage.objects import Pod
from moorage.testing import a_node, a_pod

WEB = a_pod("web").requests(cpu="1")


def extender(**fields: Any) -> dict[str, Any]:
    return {"urlPrefix": "http://one", "filterVerb": "filter", **fields}


def rig_with(*extenders: dict[str, Any], nodes: str = "ab") -> Rig:
    """Two nodes, and extenders whose answers wait."""
    rig = Rig(extenders=list(extenders))
    rig.later = lambda request: isinstance(request, Ask)
    for name in nodes:
        rig.node(a_node(name).allocatable(cpu="2", pods="1000"))
    return rig


def passing(*names: str) -> FilterAnswer:
    return FilterAnswer(frozenset(names))


def asked(rig: Rig) -> list[tuple[str, tuple[str, ...]]]:
    """Every pod that was asked about, and the nodes in question."""
    return [(one.question.pod.name, one.question.nodes) for one in rig.asked(Ask)]


def test_a_pod_is_decided_again_with_the_answer() -> None:
    rig = rig_with(extender())
    rig.pod(WEB)
    rig.settle()
    assert asked(rig) == [("web", ("a", "b"))]
    assert rig.leftovers() == {"in flight": 1, "open": 1}
    rig.give(Ask, passing("b"))
    assert rig.nodes_of() == {"web": "b"}
    assert rig.leftovers() == {}


def test_each_extender_is_asked_in_its_turn() -> None:
    rig = rig_with(extender(), extender(urlPrefix="http://two"), extender(prioritizeVerb="rank", weight=1))
    rig.pod(WEB)
    rig.settle()
    for answer in (passing("a", "b"), passing("a", "b"), passing("a", "b"), PrioritizeAnswer({2: {"b": 10}})):
        rig.give(Ask, answer)
    assert rig.nodes_of() == {"web": "b"}


def test_others_are_decided_meanwhile_and_the_cluster_is_looked_at_anew() -> None:
    rig = rig_with(extender(), nodes="a")
    rig.pod(WEB.requests(cpu="2"))
    rig.pod(a_pod("other").requests(cpu="2"))
    rig.settle()
    assert [name for name, _ in asked(rig)] == ["web", "other"]
    _give(rig, "other", passing("a"))
    assert rig.nodes_of() == {"other": "a", "web": ""}
    _give(rig, "web", passing("a"))
    assert "1 Insufficient cpu" in rig.condition("web")[1]
    assert rig.leftovers() == {}


def _give(rig: Rig, name: str, answer: Any) -> None:
    (one,) = [one for one in rig.world.open if isinstance(one.request, Ask) and one.request.question.pod.name == name]
    one.give(answer)
    rig.settle()


def test_only_so_many_are_asked_about_at_once_the_most_important_next() -> None:
    rig = rig_with(extender())
    for number in range(FIRST + 2):
        rig.pod(a_pod(f"pod-{number:02}").requests(cpu="10m"))
    rig.settle()
    rig.pod(a_pod("late").requests(cpu="10m").priority(5))
    rig.settle()
    assert len(rig.world.open) == FIRST
    assert not rig.core.attempts.has_next
    wakes = rig.wakes
    _give(rig, "pod-03", passing("a"))
    assert rig.wakes > wakes
    rig.settle()
    assert len(rig.world.open) == FIRST
    assert rig.nodes_of()["pod-03"] == "a"
    assert asked(rig)[-1][0] == "late"
    _give_all(rig, passing("a", "b"))
    assert len(_placed(rig)) == FIRST + 3
    assert rig.leftovers() == {}


def test_one_that_answers_quickly_is_asked_about_more_at_once_but_never_about_more_than_allowed() -> None:
    rig = rig_with(extender())
    for number in range(5 * MOST_ASKING):
        rig.pod(a_pod(f"pod-{number:03}").requests(cpu="1m"))
    rig.settle()
    seen = [len(rig.world.open)]
    while rig.world.open:
        _give(rig, rig.world.open[0].request.question.pod.name, passing("a", "b"))  # type: ignore[union-attr]
        seen.append(len(rig.world.open))
    assert (seen[0], max(seen)) == (FIRST, MOST_ASKING)
    assert len(_placed(rig)) == 5 * MOST_ASKING
    assert rig.leftovers() == {}


def test_one_extender_that_is_slow_does_not_keep_others_from_being_asked() -> None:
    cards, disks = "example.com/card", "example.com/disk"
    of_cards = extender(managedResources=[{"name": cards}])
    of_disks = extender(urlPrefix="http://two", managedResources=[{"name": disks}])
    rig = rig_with(of_cards, of_disks)
    for number in range(FIRST + 5):
        rig.pod(a_pod(f"card-{number:02}").requests({cards: 0}))
    rig.pod(a_pod("disk").requests({disks: 0}))
    rig.settle()
    assert [name for name, _ in asked(rig)] == [*(f"card-{number:02}" for number in range(FIRST)), "disk"]
    _give(rig, "disk", passing("b"))
    assert _placed(rig) == {"disk"}


def test_those_put_off_go_on_even_if_nothing_has_to_be_asked_by_then() -> None:
    rig = rig_with(extender())
    for number in range(5 * MOST_ASKING):
        rig.pod(a_pod(f"pod-{number:03}").requests(cpu="1m"))
    rig.settle()
    for name in "ab":
        rig.core.node_events.updated(a_node(name).build(), a_node(name).cordoned().build())
    _give_all(rig, passing("a", "b"))
    assert {rig.condition(f"pod-{number:03}")[0] for number in range(5 * MOST_ASKING)} == {"Unschedulable"}
    assert rig.leftovers() == {}


def test_others_do_not_wait_behind_those_that_are_put_off() -> None:
    rig = rig_with(extender(managedResources=[{"name": "example.com/card"}]))
    for number in range(FIRST + 5):
        rig.pod(a_pod(f"slow-{number:02}").requests({"example.com/card": 0}))
    rig.pod(a_pod("quick").requests(cpu="10m"))
    rig.settle()
    assert len(rig.world.open) == FIRST
    assert _placed(rig) == {"quick"}


def test_pods_like_one_that_is_put_off_are_not_decided_before_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = rig_with(extender())
    decided = []
    decide = rig.core.engine.decide

    def witnessed(pod: PodInfo, answers: Answers) -> Any:
        decided.append(pod.name)
        return decide(pod, answers)

    monkeypatch.setattr(rig.core.engine, "decide", witnessed)
    for number in range(FIRST + 5):
        rig.pod(a_pod(f"pod-{number:02}").requests(cpu="10m"))
    rig.settle()
    assert decided == [f"pod-{number:02}" for number in range(FIRST + 1)]
    rig.pod(a_pod("other").requests(cpu="20m"))
    rig.settle()
    assert decided[-1] == "other"
    _give_all(rig, passing("a", "b"))
    assert len(_placed(rig)) == FIRST + 6
    assert rig.leftovers() == {}


def test_no_more_are_put_off_than_so_many() -> None:
    rig = rig_with(extender())
    for number in range(FIRST + MOST_PUT_OFF + 3):
        rig.pod(a_pod(f"pod-{number:03}").requests(cpu="1m"))
    rig.settle()
    assert rig.core.queue.has_ready
    assert not rig.core.attempts.has_next


def test_one_that_is_put_off_and_goes_is_let_go() -> None:
    rig = rig_with(extender())
    for number in range(FIRST + 1):
        rig.pod(a_pod(f"pod-{number:02}").requests(cpu="10m"))
    rig.settle()
    rig.core.pod_events.deleted(a_pod(f"pod-{FIRST:02}").requests(cpu="10m").build())
    _give_all(rig, passing("a", "b"))
    assert len(_placed(rig)) == FIRST
    assert rig.leftovers() == {}


def test_a_pod_that_changes_is_asked_about_anew() -> None:
    rig = rig_with(extender())
    rig.pod(WEB)
    rig.settle()
    rig.change("web", labels={"new": "label"})
    rig.settle()
    assert asked(rig) == [("web", ("a", "b"))] * 2
    assert len(rig.world.open) == 1
    assert rig.open(Ask).request.question.pod.labels == {"new": "label"}  # type: ignore[union-attr]
    rig.give(Ask, passing("a"))
    assert rig.nodes_of() == {"web": "a"}
    assert rig.leftovers() == {}


def test_a_pod_whose_status_changes_is_not() -> None:
    rig = rig_with(extender())
    rig.pod(WEB)
    rig.settle()
    rig.change("web", resource_version="99")
    rig.settle()
    assert len(rig.asked(Ask)) == 1
    rig.give(Ask, passing("a"))
    assert rig.nodes_of() == {"web": "a"}


@pytest.mark.parametrize("answered", [False, True])
def test_a_pod_that_is_gone_is_let_go(answered: bool) -> None:
    """Whether or not its answer comes at the same moment."""
    rig = rig_with(extender())
    rig.pod(WEB)
    rig.settle()
    if answered:
        rig.open(Ask).give(passing("a"))
    rig.vanish("web")
    rig._deliver()
    rig.settle()
    assert rig.events() == []
    assert rig.leftovers() == {}
    assert rig.core.queue.pods() == []


def test_a_pod_that_somebody_else_bound_is_let_go() -> None:
    rig = rig_with(extender())
    rig.pod(WEB)
    rig.settle()
    rig.steal("web", "b")
    rig.settle()
    assert rig.leftovers() == {}
    assert rig.events() == []


def test_a_pod_about_to_go_is_not_asked_about_again() -> None:
    rig = rig_with(extender())
    rig.pod(WEB)
    rig.settle()
    rig.change("web", deletion_timestamp="2026-01-01T00:00:00Z")
    rig.settle()
    assert len(rig.asked(Ask)) == 1
    assert [event.note for event in rig.world.events] == ["skip schedule deleting pod: default/web"]
    assert rig.leftovers() == {}


def test_an_extender_that_breaks_fails_the_attempt_which_backs_off() -> None:
    rig = rig_with(extender())
    rig.pod(WEB)
    rig.settle()
    rig.give(Ask, Broken("extender http://one: down"))
    assert rig.condition("web") == ("SchedulerError", "extender http://one: down")
    assert rig.place("web") == "backoff"
    rig.advance(2)
    assert len(rig.asked(Ask)) == 2


def test_a_refusal_by_extenders_is_lifted_by_any_event() -> None:
    rig = rig_with(extender())
    rig.pod(WEB)
    rig.settle()
    rig.give(Ask, passing())
    # Any event: that its own condition is written is one, as for kube-scheduler. The same refusal writes nothing more.
    rig.give(Ask, passing())
    found = rig.core.queue.find("default/web")
    assert found is not None
    assert found[1].rejecting_plugins == {"Extender"}


def test_nodes_that_all_went_meanwhile_are_asked_about_so_often_and_no_more() -> None:
    """Each answer allows a node that is full by then, and another is there that was not asked about."""
    rig = rig_with(extender(), nodes="")
    rig.node(a_node("n0"))
    rig.pod(WEB)
    rig.settle()
    number = 0
    while rig.world.open and not rig.condition("web")[0]:
        (name,) = rig.open(Ask).request.question.nodes  # type: ignore[union-attr]
        rig.core.node_events.updated(a_node(name).build(), a_node(name).cordoned().build())
        number += 1
        rig.node(a_node(f"n{number}"))
        rig.give(Ask, passing(name))
    assert 1 < number < 10
    assert rig.condition("web")[0] == "Unschedulable"


# Binding through extenders.


def binding(answer: Any, *extenders: dict[str, Any]) -> Rig:
    rig = Rig(extenders=list(extenders))
    rig.node(a_node("a"))
    rig.world.answer = lambda request: answer if isinstance(request, BindThrough) else rig.serve(request)
    rig.pod(WEB)
    rig.settle()
    return rig


BINDING = {"urlPrefix": "http://one", "bindVerb": "bind"}


def test_an_extender_that_binds_binds() -> None:
    rig = binding(Bound(), BINDING)
    assert [(one.pod.name, one.node_name, one.extender.name) for one in rig.asked(BindThrough)] == [
        ("web", "a", "http://one")
    ]
    assert rig.asked(Bind) == []
    assert rig.events() == [("web", "Scheduled")]


def test_an_extender_that_fails_to_bind_fails_the_attempt() -> None:
    rig = binding(Refused("no such GPU"), BINDING)
    assert rig.asked(Bind) == []
    assert rig.condition("web") == ("SchedulerError", "no such GPU")
    assert rig.leftovers() == {}


def test_one_that_may_be_ignored_leaves_it_to_the_next() -> None:
    rig = binding(Refused("no such GPU"), {**BINDING, "ignorable": True})
    assert rig.nodes_of() == {"web": "a"}
    assert len(rig.asked(Bind)) == 1


def test_an_extender_that_finds_the_pod_bound_ends_the_attempt() -> None:
    rig = binding(BoundElsewhere("bound", node_name="b"), {**BINDING, "ignorable": True})
    assert rig.asked(Bind) == []
    assert rig.events() == []
    assert rig.leftovers() == {}


def test_pods_an_extender_does_not_manage_are_bound_as_ever() -> None:
    rig = binding(Bound(), {**BINDING, "managedResources": [{"name": "example.com/gpu"}]})
    assert rig.asked(BindThrough) == []
    assert rig.nodes_of() == {"web": "a"}


# Stopping.


def test_winding_up_takes_questions_back() -> None:
    rig = rig_with(extender())
    rig.pod(WEB)
    rig.settle()
    rig.world.time.finish(rig.core.wind_up(5))
    assert rig.leftovers() == {}
    assert rig.events() == []


def test_what_should_begin_anew_is_let_go_too() -> None:
    rig = rig_with(extender())
    uid = rig.pod(WEB)
    rig.settle()
    rig.change("web", labels={"new": "label"})
    rig._deliver()
    assert rig.core.attempts.inquiries.has_anew
    rig.core.attempts.inquiries.stop()
    assert rig.core.queue.in_flight() == []
    assert isinstance(rig.pods["web"], Pod)
    assert rig.core.cluster.pending(uid) is not None


def _give_all(rig: Rig, answer: Answer) -> None:
    """Answer whatever is asked, until nothing is."""
    while rig.world.open:
        _give(rig, rig.world.open[0].request.question.pod.name, answer)  # type: ignore[union-attr]
        rig.settle()


def _placed(rig: Rig) -> set[str]:
    """The pods that have a node."""
    return {name for name, node in rig.nodes_of().items() if node}
