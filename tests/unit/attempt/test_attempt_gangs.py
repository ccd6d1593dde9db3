"""Gangs of both APIs: whole or not at all, whatever becomes of members, groups, binds and nodes."""

from typing import Any

import msgspec
import pytest
from tests.unit.attempt.gangs import MULTI_POINT, GangRig

from moorage.attempt.scripted import Ask, Bind, Evict, Measured, PatchStatus
from moorage.engine.asking import FilterAnswer, FilterQuestion
from moorage.framework.writes import Refused
from moorage.objects import LabelledPodGroup, LabelledPodGroupSpec, ObjectMeta, Pod, PodGroup
from moorage.testing import a_node, a_pod


@pytest.fixture(params=[False, True], ids=["labelled", "native"])
def rig(request: pytest.FixtureRequest) -> GangRig:
    return GangRig(native=request.param)


def test_a_gang_that_fits_is_bound_whole(rig: GangRig) -> None:
    rig.nodes(4)
    rig.gang("a", 8)
    assert len(rig.bound()) == 8
    assert rig.told("a") == ("True", "")
    assert rig.leftovers() == {}


def test_of_two_gangs_one_is_bound_and_the_other_waits_without_a_try(rig: GangRig) -> None:
    rig.nodes(4)
    rig.gang("a", 8)
    rig.gang("b", 8)
    assert (len(rig.bound("a")), len(rig.bound("b"))) == (8, 0)
    before = rig.attempts()
    rig.advance(120)
    assert rig.attempts() == before, "nothing has changed"
    for number in range(8):
        rig.vanish(f"a-{number}")
    rig.advance(30)
    assert len(rig.bound("b")) == 8


def test_a_gang_that_fits_in_part_takes_nothing(rig: GangRig) -> None:
    rig.nodes(3)
    rig.gang("a", 8)
    assert rig.bound() == []
    rig.pod(a_pod("single").requests(cpu="2"))
    rig.settle()
    assert rig.bound() == ["single"]
    assert rig.leftovers() == {}


def test_who_blocks_the_gang_is_told_to_all(rig: GangRig) -> None:
    rig.nodes(3)
    rig.gang("a", 8)
    status, message = rig.told("a")
    blocking = "blocks its group: 0/3 nodes are available: 3 Insufficient cpu. 6 of 8 would fit"
    assert status == "False"
    assert blocking in message
    words = [rig.condition(f"a-{number}")[1] for number in range(8)]
    assert sum(blocking in one for one in words) == 7
    assert sum(one.startswith("0/3 nodes are available: 3 Insufficient cpu.") for one in words) == 1
    assert any(one.group is not None and blocking in one.note for one in rig.world.events)


def test_members_beyond_the_minimum_are_taken_along_and_do_not_hold_it_up(rig: GangRig) -> None:
    rig.nodes(3)
    rig.gang("a", 8, minimum=4)
    rig.advance(60)
    assert len(rig.bound()) == 6
    before = rig.attempts()
    rig.advance(100)
    assert rig.attempts() == before
    rig.nodes(1)
    rig.advance(10)
    assert len(rig.bound()) == 8


def test_members_that_come_late_make_it_whole(rig: GangRig) -> None:
    rig.nodes(4)
    rig.group("a", 3)
    for number in range(2):
        rig.pod(rig.member("a", f"a-{number}"))
    rig.settle()
    assert rig.bound() == []
    assert rig.place("a-0") == "gated"
    rig.pod(rig.member("a", "a-2"))
    rig.settle()
    assert len(rig.bound()) == 3


def test_a_member_of_a_running_gang_that_is_made_again_is_bound_alone(rig: GangRig) -> None:
    rig.nodes(4)
    rig.gang("a", 4)
    rig.vanish("a-1")
    rig.settle()
    rig.advance(20)
    assert rig.told("a", "HalfBound") == ("", ""), "it was whole once"
    rig.pod(rig.member("a", "a-9"))
    rig.settle()
    rig.advance(5)
    assert "a-9" in rig.bound()


def test_a_gated_member_keeps_the_gang_out(rig: GangRig) -> None:
    rig.nodes(4)
    rig.group("a", 2)
    rig.pod(rig.member("a", "a-0"))
    rig.pod(rig.member("a", "a-1").gated("wait"))
    rig.pod(rig.member("a", "a-2"))
    rig.settle()
    assert rig.bound() == []
    assert rig.place("a-0") == "gated"
    built = rig.pods["a-1"]
    rig.objects.set(msgspec.structs.replace(built, spec=msgspec.structs.replace(built.spec, scheduling_gates=())))
    rig.settle()
    rig.advance(5)
    assert len(rig.bound()) == 3


def test_members_may_ask_for_different_things(rig: GangRig) -> None:
    rig.nodes(1, cpu="8")
    rig.nodes(2, cpu="2")
    rig.group("a", 3)
    rig.pod(rig.member("a", "a-big", cpu="8"))
    rig.pod(rig.member("a", "a-small", cpu="2"))
    rig.pod(rig.member("a", "a-tiny", cpu="1"))
    rig.settle()
    assert len(rig.bound()) == 3


def test_a_gang_larger_than_the_cluster_leaves_room_to_others(rig: GangRig) -> None:
    rig.nodes(4)
    rig.gang("huge", 100)
    rig.gang("small", 8)
    assert (len(rig.bound("huge")), len(rig.bound("small"))) == (0, 8)


def test_a_group_made_after_its_pods(rig: GangRig) -> None:
    rig.nodes(4)
    for number in range(3):
        rig.pod(rig.member("a", f"a-{number}"))
    rig.settle()
    assert rig.place("a-0") == "incomplete"
    assert rig.bound() == []
    rig.group("a", 3)
    assert len(rig.bound()) == 3


def test_a_deleted_group_takes_its_waiting_members_along(rig: GangRig) -> None:
    rig.nodes(1)
    rig.gang("a", 4)
    rig.ungroup("a")
    assert rig.place("a-0") == "incomplete"
    rig.nodes(3)
    rig.advance(60)
    assert rig.bound() == []
    rig.group("a", 4)
    rig.advance(5)
    assert len(rig.bound()) == 4


def test_members_deleted_while_they_wait(rig: GangRig) -> None:
    rig.nodes(1)
    rig.gang("a", 3)
    for number in range(3):
        rig.vanish(f"a-{number}")
    rig.nodes(3)
    rig.advance(60)
    assert rig.leftovers() == {}
    rig.gang("b", 6)
    assert len(rig.bound("b")) == 6


def test_a_refused_bind_is_tried_again_where_it_was_decided(rig: GangRig) -> None:
    rig.nodes(4)
    refusals = iter(["a-6"])
    rig.later = lambda request: isinstance(request, Bind) and request.pod.name == "a-6" and next(refusals, "") != ""
    rig.gang("a", 8)
    where = rig.open(Bind, "a-6").request.node_name  # type: ignore[union-attr]
    rig.give(Bind, Refused("no", 500, "InternalError"), "a-6")
    rig.advance(3)
    assert len(rig.bound()) == 8
    assert rig.nodes_of()["a-6"] == where
    assert rig.told("a")[0] == "True"
    assert rig.told("a", "HalfBound") == ("", "")


def refusing(rig: GangRig, name: str) -> None:
    """Binds of that pod are refused for ever."""
    serve = rig.objects.serve

    def answer(request: Any) -> Any:
        if isinstance(request, Bind) and request.pod.name == name:
            return Refused("no", 403, "Forbidden")
        return serve(request)

    rig.world.answer = answer


def test_a_large_gang_with_more_members_than_are_needed_rests_until_something_helps(rig: GangRig) -> None:
    rig.nodes(5, cpu="1")
    rig.group("a", 17)
    for number in range(20):
        rig.pod(rig.member("a", f"a-{number}"))
    rig.settle()
    assert "5 of 20 would fit, 17 are needed" in rig.condition("a-0")[1]
    rig.advance(60)
    assert rig.place("a-0") == "unschedulable"
    measured = rig.world.observer
    assert isinstance(measured, Measured)
    assert sum(told[0] == "decided group" for told in measured.told) == 1
    rig.nodes(12, cpu="1")
    rig.advance(30)
    assert len(rig.bound("a")) == 17


def test_members_that_run_alone_are_told_in_time(rig: GangRig) -> None:
    rig.nodes(4)
    refusing(rig, "a-6")
    rig.gang("a", 8)
    rig.advance(5)
    status, message = rig.told("a", "HalfBound")
    assert status == "True"
    assert "7 of 8 members that are needed run alone: a-0, a-1, a-2, a-3, a-4, a-5, a-7; without a node: a-6" in message
    assert len(rig.bound()) == 7, "they are kept where nothing else is asked for"
    assert rig.told("a")[0] != "True"
    assert sum(one.reason == "HalfBound" for one in rig.world.events) == 8


def test_a_group_made_anew_in_the_place_of_one_that_was_told_is_told_too(rig: GangRig) -> None:
    rig.nodes(4)
    refusing(rig, "a-6")
    rig.gang("a", 8)
    rig.advance(5)
    rig.objects.drop(PodGroup if rig.native else LabelledPodGroup, "default/a")  # both before the next look
    rig.group("a", 8)
    assert rig.told("a", "HalfBound") == ("", "")
    rig.advance(5)
    assert rig.told("a", "HalfBound")[0] == "True"


def test_a_bind_that_was_refused_for_long_is_tried_again_in_short_steps_also_when_people_were_told(
    rig: GangRig,
) -> None:
    rig.nodes(4)
    refusing(rig, "a-6")
    rig.gang("a", 8)
    for _ in range(150):
        rig.advance(0.1)
    tries = [one for one in rig.asked(Bind) if one.pod.name == "a-6"]
    assert 60 <= len(tries) <= 155, "ten times a second at most"
    for _ in range(2500):
        rig.advance(1)
    before = len(rig.asked(Bind))
    for _ in range(100):
        rig.advance(1)
    assert len(rig.asked(Bind)) <= before + 11, "every ten seconds in the end"
    rig.world.answer = rig.objects.serve
    rig.advance(11)
    assert len(rig.bound("a")) == 8


def test_a_gang_bound_in_part_is_made_whole_at_once_when_there_is_room_whatever_its_back_off(rig: GangRig) -> None:
    rig.nodes(4)
    refusing(rig, "a-6")
    rig.gang("a", 8)
    rig.advance(0.5)
    rig.add(a_pod("taker").requests(cpu="1").on(next(name for name in ["n0", "n1", "n2", "n3"] if _free(rig, name))))
    rig.world.answer = rig.objects.serve
    rig.advance(20)
    assert rig.told("a", "HalfBound")[0] == "True"
    before = len(rig.asked(Bind))
    rig.advance(60)
    assert len(rig.asked(Bind)) == before
    rig.settle()
    assert not rig.core.attempts.has_next, "it waits for an event"
    rig.remove(Pod, "taker")
    rig.advance(0.3)
    assert len(rig.bound("a")) == 8


def _free(rig: GangRig, name: str) -> bool:
    node = rig.core.cluster.snapshot.nodes.get(name)
    return node is not None and node.free("cpu") > 0


def test_members_that_run_alone_are_deleted_where_the_group_asks_for_it(rig: GangRig) -> None:
    rig.nodes(4)
    refusing(rig, "a-6")
    rig.gang("a", 8, moorage_dev__half_bound="")
    rig.group("a", 8, **{"moorage.dev__half_bound": "Delete"})
    rig.advance(6)
    assert rig.bound() == []
    assert len(rig.asked(Evict)) == 7


def test_after_a_restart_a_gang_bound_in_part_comes_before_others(rig: GangRig) -> None:
    rig.tells = False
    rig.nodes(0)
    for number in range(4):
        rig.node(a_node(f"n{number}").allocatable(cpu="2", pods="110"))
    rig.pod(a_pod("first").requests(cpu="2"))
    rig.group("a", 8)
    for number in range(8):
        pod = rig.member("a", f"a-{number}")
        rig.pod(pod.on(f"n{number % 2}") if number < 4 else pod)
    rig.tells = True
    rig.settle()
    rig.advance(2)
    assert len(rig.bound("a")) == 8
    assert rig.bound("first") == []


def test_a_gang_bound_in_part_comes_before_others_though_what_wakes_it_was_put_off(rig: GangRig) -> None:
    rig.core.queue._puts_off = True  # as in a live process
    rig.tells = False
    for number in range(4):
        rig.node(a_node(f"n{number}").allocatable(cpu="2", pods="110"))
    rig.group("a", 8)
    rig.group("other", 4)
    for number in range(4):
        rig.pod(rig.member("other", f"other-{number}"))
    # Those that run are told last: until then the gang has too few members, and waits for a hint.
    for number in range(8):
        pod = rig.member("a", f"a-{number}")
        rig.pod(pod.on(f"n{number % 2}") if number > 4 else pod)
    rig.tells = True
    rig.settle()
    assert len(rig.bound("a")) == 8
    assert rig.bound("other-0") == []


def test_after_a_restart_a_gang_that_cannot_be_mended_is_told(rig: GangRig) -> None:
    rig.tells = False
    for number in range(2):
        rig.node(a_node(f"n{number}").allocatable(cpu="2", pods="110"))
    rig.group("a", 6)
    for number in range(6):
        pod = rig.member("a", f"a-{number}")
        rig.pod(pod.on(f"n{number % 2}") if number < 4 else pod)
    rig.tells = True
    rig.settle()
    rig.advance(5)
    assert rig.told("a", "HalfBound")[0] == "True"
    rig.nodes(2)
    rig.advance(20)
    assert len(rig.bound("a")) == 6
    assert rig.told("a", "HalfBound")[0] == "False"


def test_room_is_made_only_for_the_whole_gang() -> None:
    rig = GangRig()
    rig.nodes(2)
    for number in range(4):
        rig.pod(a_pod(f"low-{number}").requests(cpu="1").priority(0))
    rig.settle()
    rig.group("a", 6)
    for number in range(6):
        rig.pod(rig.member("a", f"a-{number}").priority(10))
    rig.settle()
    rig.advance(30)
    assert rig.asked(Evict) == [], "six would not fit even so"
    rig.group("b", 4)
    for number in range(4):
        rig.pod(rig.member("b", f"b-{number}").priority(10))
    rig.settle()
    rig.advance(30)
    assert len(rig.asked(Evict)) == 4
    assert len(rig.bound("b")) == 4


def test_priorities_may_differ_and_nobody_goes_for_the_least(rig: GangRig) -> None:
    if rig.native:
        return  # members and group must have the same priority there
    rig.nodes(2)
    for number in range(4):
        rig.pod(a_pod(f"low-{number}").requests(cpu="1").priority(5))
    rig.settle()
    rig.group("a", 2)
    rig.pod(rig.member("a", "a-0").priority(10))
    rig.pod(rig.member("a", "a-1").priority(1))
    rig.settle()
    rig.advance(30)
    assert rig.asked(Evict) == []
    rig.vanish("low-0")
    rig.vanish("low-1")
    rig.advance(20)
    assert len(rig.bound("a")) == 2


def test_two_profiles_in_one_group_are_refused() -> None:
    profiles = [{"schedulerName": name, "plugins": MULTI_POINT} for name in ("default-scheduler", "other")]
    rig = GangRig(profiles=profiles)
    rig.nodes(2)
    rig.group("a", 2)
    rig.pod(rig.member("a", "a-0"))
    rig.pod(rig.member("a", "a-1").scheduler("other"))
    rig.settle()
    assert rig.bound() == []
    assert "should have the same .spec.schedulerName set" in rig.told("a")[1]


class Oldest:
    """A user's own order: `less` gets pods."""

    def less(self, a: Any, a_timestamp: float, b: Any, b_timestamp: float) -> bool:
        return (a_timestamp, a.name) < (b_timestamp, b.name)


def test_a_group_under_a_users_own_order() -> None:
    plugins = {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "Oldest"}]},
    }
    rig = GangRig(plugins=[Oldest], profiles=[{"plugins": plugins}])
    rig.nodes(2)
    rig.gang("a", 4)
    assert len(rig.bound()) == 4


def test_as_the_scheduler_plugins_configure_it() -> None:
    """Every place and argument of its configuration."""
    points = ("queueSort", "preFilter", "postFilter", "permit", "reserve")
    plugins = {point: {"enabled": [{"name": "Coscheduling"}]} for point in points}
    plugins["queueSort"]["disabled"] = [{"name": "*"}]
    args = {"permitWaitingTimeSeconds": 10, "podGroupBackoffSeconds": 7, "podGroupRejectPercentage": 20}
    rig = GangRig(profiles=[{"plugins": plugins, "pluginConfig": [{"name": "Coscheduling", "args": args}]}])
    rig.nodes(2)
    rig.gang("a", 4)
    rig.gang("b", 4)
    assert len(rig.bound()) == 4


def test_min_resources_count_for_the_gang_as_a_whole() -> None:
    rig = GangRig()
    rig.nodes(2)
    meta = ObjectMeta(name="a", namespace="default", uid="group-a")
    spec = LabelledPodGroupSpec(min_member=2, min_resources={"cpu": "6"})
    rig.objects.set(LabelledPodGroup(metadata=meta, spec=spec))
    for number in range(2):
        rig.pod(rig.member("a", f"a-{number}"))
    rig.settle()
    assert rig.bound() == []
    assert "minResources are not there: cpu by 2000" in rig.told("a")[1]
    rig.nodes(1)
    rig.advance(5)
    assert len(rig.bound()) == 2


def test_the_gang_of_1_36_is_one_in_the_queue_too() -> None:
    rig = GangRig(native=True, version="1.36")
    rig.nodes(2)
    rig.gang("a", 4)
    rig.gang("b", 4)
    assert len(rig.bound("a")) == 4
    before = rig.attempts()
    rig.advance(100)
    assert rig.attempts() == before


def test_pods_without_their_group_are_told_after_a_moment(rig: GangRig) -> None:
    rig.nodes(1)
    rig.pod(rig.member("a", "a-0"))
    rig.settle()
    rig.advance(1)
    assert rig.condition("a-0") == ("", "")
    rig.advance(2)
    reason, message = rig.condition("a-0")
    assert reason == "Unschedulable"
    assert message == 'waiting for PodGroup "a" to be created'
    assert len(rig.notes("a-0", "FailedScheduling")) == 1
    rig.group("a", 1)
    assert rig.bound() == ["a-0"]


def test_another_leader_goes_on_where_the_first_stopped(rig: GangRig) -> None:
    """Between decision and binds: half of them were asked for, one was done."""
    rig.nodes(4)
    rig.later = lambda request: isinstance(request, Bind)
    rig.gang("a", 8)
    assert len(rig.world.open) == 8
    rig.serve(rig.world.open[3].request)
    other = rig.successor()
    other.settle()
    other.advance(3)
    assert len(other.bound()) == 8
    assert other.told("a")[0] == "True"


EXTENDER = {"urlPrefix": "http://extender", "filterVerb": "filter", "weight": 1}


def test_extenders_have_a_say_on_each_member() -> None:
    rig = GangRig(extenders=[EXTENDER])
    rig.nodes(4)
    serve = rig.objects.serve

    def answer(request: Any) -> Any:
        if isinstance(request, Ask):
            question = request.question
            assert isinstance(question, FilterQuestion)
            return FilterAnswer(frozenset(question.nodes) & {"n1", "n2"})
        return serve(request)

    rig.world.answer = answer
    rig.gang("a", 4)
    assert set(rig.nodes_of().values()) == {"n1", "n2"}
    rig.gang("b", 2)
    rig.advance(10)
    assert rig.bound("b") == [], "the extender leaves no room"
    rig.pod(a_pod("single").requests(cpu="1"))
    rig.settle()
    assert rig.bound("single") == [], "it is asked about single pods as before"


def test_those_that_stand_back_are_told_anew_once_a_second_at_most_and_in_the_end_what_is_true(rig: GangRig) -> None:
    rig.gang("a", 8)
    rig.advance(3)
    told = len(rig.asked(PatchStatus))
    for _ in range(5):
        rig.nodes(1, cpu="1")
        rig.advance(0.15)
    assert len(rig.asked(PatchStatus)) - told <= 2 * 8 + 5, "the one in the way at each try, the others twice"
    rig.advance(3)
    assert "5 of 8 would fit" in rig.condition("a-0")[1]
    assert "5 of 8 would fit" in rig.condition("a-7")[1]
