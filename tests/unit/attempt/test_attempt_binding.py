"""The way from a decision to a node: every answer, every failure, and what is undone."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.attempt.conftest import START, Rig, plugin, rig_with

from moorage.attempt.scripted import Bind, Measured, PatchStatus
from moorage.attempt.underway import Stage
from moorage.attempt.virtual import Cancelled
from moorage.errors import ApiError
from moorage.framework import PermitAnswer, Scope, Status, error, unschedulable, wait
from moorage.framework.status import SKIP, Code
from moorage.framework.writes import Gone, Refused, Unknown
from moorage.testing import a_node, a_pod

NODE = a_node("a").allocatable(cpu="2", pods="10")
WEB = a_pod("web").requests(cpu="1")


def is_bind(request: Any) -> bool:
    return isinstance(request, Bind)


def give(answer: Any) -> Callable[..., Any]:
    return lambda *_: answer


def raising(problem: BaseException) -> Callable[..., Any]:
    def raise_it(*_: Any) -> Any:
        raise problem

    return raise_it


def later(answer: Any, seconds: float = 1.0) -> Callable[..., Any]:
    async def give_later(self: Any, *_: Any) -> Any:
        await self.handle.host.sleep(seconds)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return give_later


class Diary:
    """Reserves, and notes what is reserved and what is given back."""

    def __init__(self, _args: Any, _handle: Any) -> None:
        self.reserved: set[str] = set()
        self.unreserved: list[str] = []

    def reserve(self, _state: Any, pod: Any, _node_name: str) -> None:
        self.reserved.add(pod.name)

    def unreserve(self, _state: Any, pod: Any, _node_name: str) -> None:
        self.unreserved.append(pod.name)
        self.reserved.discard(pod.name)


def diary_of(rig: Rig) -> Diary:
    found = rig.core.profiles["default-scheduler"].plugins["Diary"]
    assert isinstance(found, Diary)
    return found


def started(*plugins: type, pod: Any = WEB) -> Rig:
    """One node, one pod, and the scheduler has gone as far as it gets."""
    rig = rig_with(Diary, *plugins)
    rig.node(NODE)
    rig.pod(pod)
    rig.settle()
    return rig


def test_a_pod_is_bound_once_and_told_of() -> None:
    rig = started()
    assert rig.nodes_of() == {"web": "a"}
    assert rig.bindings == [("web", "a")]
    assert rig.events() == [("web", "Scheduled")]
    assert rig.condition("web") == ("", "")
    assert rig.leftovers() == {}
    assert diary_of(rig).unreserved == []


def test_a_pod_is_measured() -> None:
    rig = started()
    told = [one[:2] for one in rig.world.observer.told]  # type: ignore[attr-defined]
    assert told == [
        ("ran", "PreEnqueue"),
        ("ran", "PreFilter"),
        ("ran", "Filter"),
        ("decided", "default/web"),
        ("ran", "Reserve"),
        ("ran", "PreBind"),
        ("ran", "Bind"),
        ("scheduled", "default-scheduler"),
    ]


def test_every_point_is_measured_and_the_calls_of_one_in_ten_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts that are kept are no calls."""
    calls: list[tuple[str, str, str]] = []
    monkeypatch.setattr(Measured, "call", lambda _self, *call: lambda _seconds: calls.append(call))
    kept = plugin("Kept", filter=give(None), filter_scope=Scope.NODE, score=give(1), score_scope=Scope.NODE)
    asked = plugin(
        "Asked", filter=give(None), pre_score=give(None), score=give(1), permit=give(None), post_bind=give(None)
    )
    rig = rig_with(kept, asked, Diary)
    for name in ("a", "b"):
        rig.node(a_node(name))
    for number in range(50):
        rig.pod(a_pod(f"web-{number}"))
    rig.settle()
    own = Counter(call for call in calls if call[2] in ("Kept", "Asked", "Diary"))
    assert own == {
        ("Filter", "Success", "Kept"): 2,
        ("Score", "Success", "Kept"): 2,
        ("Filter", "Success", "Asked"): 10,
        ("PreScore", "Success", "Asked"): 5,
        ("Score", "Success", "Asked"): 10,
        ("Reserve", "Success", "Diary"): 5,
        ("Permit", "Success", "Asked"): 5,
        ("PostBind", "Success", "Asked"): 5,
    }
    told = Counter(one[1] for one in rig.world.observer.told if one[0] == "ran")  # type: ignore[attr-defined]
    points = (
        "PreEnqueue",
        "PreFilter",
        "Filter",
        "PreScore",
        "Score",
        "Reserve",
        "Permit",
        "PreBind",
        "Bind",
        "PostBind",
    )
    assert {point: told[point] for point in points} == dict.fromkeys(points, 50)


def test_its_room_is_taken_before_it_is_bound_and_nobody_hears_of_it_before() -> None:
    rig = rig_with(Diary)
    rig.later = is_bind
    rig.node(NODE)
    rig.pod(WEB.requests(cpu="2"))
    rig.pod(a_pod("next").requests(cpu="1"))
    rig.settle()
    assert rig.core.under_way.writing == 1
    assert "Insufficient cpu" in rig.condition("next")[1]
    assert rig.events() == [("next", "FailedScheduling")]
    rig.give(Bind, name="web")
    assert rig.nodes_of()["web"] == "a"


# What Permit says.


@pytest.mark.parametrize(
    ("answer", "reason", "message"),
    [
        (unschedulable("shut"), "Unschedulable", "0/1 nodes are available: 1 shut."),
        (error("broken"), "SchedulerError", 'running Permit plugin "Mine": broken'),
        ("yes", "SchedulerError", "running Permit plugin \"Mine\": answered 'yes'"),
        (PermitAnswer(wait(), "soon"), "SchedulerError", "answered a timeout of 'soon'"),  # type: ignore[arg-type]
    ],
)
def test_a_pod_that_permit_denies_gives_everything_back(answer: Any, reason: str, message: str) -> None:
    rig = started(plugin(permit=give(answer)))
    assert rig.condition("web")[0] == reason
    assert message in rig.condition("web")[1]
    assert rig.place("web") == ("unschedulable" if reason == "Unschedulable" else "backoff")
    assert rig.leftovers() == {}
    assert diary_of(rig).unreserved == ["web"]


def held(seconds: float = 60.0) -> Rig:
    rig = started(plugin(permit=give(PermitAnswer(wait(), seconds))))
    assert rig.leftovers().keys() >= {"assumed", "in flight", "under way", "held"}
    return rig


def test_a_held_pod_shows_where_it_is_expected_and_goes_on_when_allowed() -> None:
    rig = held()
    assert rig.pods["web"].status.nominated_node_name == "a"
    (one,) = rig.core.held
    one.allow("Mine")
    rig.settle()
    assert rig.nodes_of() == {"web": "a"}
    assert rig.leftovers() == {}


def test_a_held_pod_is_rejected_when_time_is_up() -> None:
    rig = held(5.0)
    rig.advance(4.9)
    assert rig.condition("web") == ("", "")
    rig.advance(0.2)
    text = "rejected due to timeout after waiting 5s at plugin Mine"
    assert rig.condition("web") == ("Unschedulable", f"0/1 nodes are available: 1 {text}.")
    assert rig.pods["web"].status.nominated_node_name == ""
    assert rig.place("web") == "unschedulable"
    assert rig.leftovers() == {}


def test_a_held_pod_that_is_deleted_is_forgotten() -> None:
    rig = held()
    rig.vanish("web")
    rig.settle()
    assert rig.leftovers() == {}
    assert diary_of(rig).reserved == set()
    assert rig.place("web") == ""


def test_a_held_pod_makes_room_and_comes_back_as_after_an_error() -> None:
    rig = held()
    (one,) = rig.core.held
    one.preempt("DefaultPreemption", "preempted")
    rig.settle()
    assert rig.condition("web") == ("SchedulerError", "waiting on permit for pod: preempted")
    assert rig.place("web") == "backoff"
    assert rig.leftovers() == {}


def test_a_pod_allowed_and_preempted_at_the_same_moment_makes_room() -> None:
    rig = held()
    (one,) = rig.core.held
    one.allow("Mine")
    assert rig.core.evictions._evict_in_memory(one.pod)
    rig.settle()
    assert rig.bindings == []
    assert rig.condition("web") == ("SchedulerError", "preempted by DefaultPreemption")
    assert rig.leftovers() == {}


# What PreBind says.

REFUSALS: list[tuple[Any, str, str]] = [
    (give(unschedulable("no disk")), "Unschedulable", "no disk"),
    (later(unschedulable("no disk")), "Unschedulable", "no disk"),
    (give(error("no disk")), "SchedulerError", 'running PreBind plugin "Mine": no disk'),
    (give(SKIP), "SchedulerError", 'running PreBind plugin "Mine": answered Skip (at '),
    (give(7), "SchedulerError", 'running PreBind plugin "Mine": answered 7; expected Status or None (at '),
    (raising(ZeroDivisionError("by zero")), "SchedulerError", 'plugin "Mine": ZeroDivisionError: by zero (at '),
    (later(ZeroDivisionError("by zero")), "SchedulerError", 'plugin "Mine": ZeroDivisionError: by zero (at '),
    (later(ApiError("not today")), "SchedulerError", 'running PreBind plugin "Mine": not today'),
    (raising(SystemExit(3)), "SchedulerError", 'plugin "Mine": SystemExit: 3'),
    (later(SystemExit(3)), "SchedulerError", 'plugin "Mine": SystemExit: 3'),
    (raising(asyncio.CancelledError()), "SchedulerError", 'plugin "Mine": CancelledError (at '),
    (later(asyncio.CancelledError()), "SchedulerError", 'plugin "Mine": SelfCancelled: '),
]


@pytest.mark.parametrize(("pre_bind", "reason", "message"), REFUSALS)
def test_a_pod_that_pre_bind_fails_is_undone_and_retried_on_a_timer(pre_bind: Any, reason: str, message: str) -> None:
    rig = started(plugin(pre_bind=pre_bind))
    rig.advance(1.5)
    tries = len(rig.events())
    assert rig.condition("web")[0] == reason
    assert message in rig.condition("web")[1]
    assert rig.bindings == []
    assert rig.place("web") == "backoff"
    assert rig.leftovers() == {}
    assert diary_of(rig).reserved == set()
    # No event helps and nobody takes it early: only time does.
    rig.node(a_node("b"))
    rig.settle()
    assert len(rig.events()) == tries
    rig.advance(12)
    assert len(rig.events()) > tries


def test_what_awaits_more_than_virtual_time_gives_is_refused_by_name() -> None:
    async def pre_bind(self: Any, *_: Any) -> None:
        await asyncio.sleep(0)

    rig = started(plugin(pre_bind=pre_bind))
    assert 'running PreBind plugin "Mine": ForeignAwait: awaits something' in rig.condition("web")[1]
    assert rig.leftovers() == {}


def test_pre_bind_is_only_asked_for_what_it_announces() -> None:
    asked: list[str] = []

    def idle(_self: Any, *_: Any) -> Status:
        asked.append("pre-flight")
        return SKIP

    def pre_bind(_self: Any, *_: Any) -> None:
        asked.append("pre-bind")

    rig = started(plugin(pre_bind_pre_flight=idle, pre_bind=pre_bind))
    assert rig.nodes_of() == {"web": "a"}
    assert asked == ["pre-flight"]
    assert rig.asked(PatchStatus) == []


def test_a_pod_whose_pre_bind_announces_work_shows_where_it_is_expected() -> None:
    rig = started(plugin(pre_bind_pre_flight=give(None), pre_bind=later(None)))
    assert rig.pods["web"].status.nominated_node_name == "a"
    rig.advance(1)
    assert rig.nodes_of() == {"web": "a"}
    assert rig.leftovers() == {}


@pytest.mark.parametrize(
    ("pre_flight", "message"),
    [
        (raising(ZeroDivisionError("by zero")), "ZeroDivisionError: by zero"),
        (give(unschedulable("no")), "no"),
        (give("x"), "answered 'x'"),
    ],
)
def test_a_pre_flight_that_fails_fails_the_attempt(pre_flight: Any, message: str) -> None:
    rig = started(plugin(pre_bind_pre_flight=pre_flight, pre_bind=give(None)))
    assert rig.condition("web")[0] == "SchedulerError"
    assert f'running PreBindPreFlight plugin "Mine": {message}' in rig.condition("web")[1]
    assert rig.leftovers() == {}


def preempt(rig: Rig) -> bool:
    return rig.core.under_way.preempt(rig.pods["web"].metadata.uid, "DefaultPreemption")


def test_a_pod_in_pre_bind_makes_room() -> None:
    rig = started(plugin(pre_bind=later(None, 100)))
    (binding,) = rig.core.under_way
    assert binding.stage is Stage.PRE_BIND
    assert preempt(rig)
    assert not preempt(rig), "it is on its way out already"
    rig.settle()
    assert rig.condition("web") == ("SchedulerError", "preempted by DefaultPreemption")
    assert rig.leftovers() == {}


def test_a_plugin_that_goes_on_regardless_keeps_no_pod_from_making_room() -> None:
    async def stubborn(self: Any, *_: Any) -> None:
        try:
            await self.handle.host.sleep(100)
        except BaseException:
            await self.handle.host.sleep(1)

    rig = started(plugin(pre_bind=stubborn))
    assert preempt(rig)
    rig.advance(1)
    assert rig.bindings == []
    assert rig.condition("web") == ("SchedulerError", "preempted by DefaultPreemption")


def test_a_pod_on_the_wire_makes_no_room() -> None:
    rig = rig_with(Diary)
    rig.later = is_bind
    rig.node(NODE)
    rig.pod(WEB)
    rig.settle()
    assert not preempt(rig)
    rig.give(Bind)
    assert rig.nodes_of() == {"web": "a"}


# What Bind says.


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Refused("not allowed", 403, "Forbidden"), "not allowed"),
        (Gone('pods "web" not found', 404, "NotFound"), 'pods "web" not found'),
    ],
)
def test_a_refused_bind_backs_off_longer_each_time(answer: Any, message: str) -> None:
    rig = rig_with(Diary)
    rig.node(NODE)
    times: list[float] = []

    def refuse(request: Any) -> Any:
        if not is_bind(request):
            return rig.serve(request)
        times.append(rig.world.now() - START)
        return answer

    rig.world.answer = refuse
    rig.pod(WEB)
    rig.advance(40)
    # 1, 2, 4, 8, 10 seconds, each to the end of the second in which it is over.
    assert times == [0, 2, 5, 10, 19, 30]
    assert diary_of(rig).reserved == set()
    assert rig.condition("web") == ("SchedulerError", f'running Bind plugin "DefaultBinder": {message}')
    assert rig.leftovers() == {}


def test_a_bind_of_which_nobody_knows_is_tried_until_somebody_does() -> None:
    rig = rig_with(Diary)
    rig.node(NODE)
    rig.later = is_bind
    rig.pod(WEB)
    rig.settle()
    rig.give(Bind, Unknown("unreachable", may_be_done=False))
    rig.advance(1)
    rig.give(Bind, Unknown("the answer was lost"))
    rig.advance(1)
    rig.give(Bind, Unknown("unreachable", may_be_done=False))
    rig.advance(1)
    assert [one.uncertain for one in rig.asked(Bind)] == [False, False, True, True]
    assert rig.core.cluster.is_assumed(rig.pods["web"].metadata.uid), "its room may be taken"
    rig.give(Bind)
    assert rig.nodes_of() == {"web": "a"}
    assert rig.leftovers() == {}


@pytest.mark.parametrize("other", ["a", "b"])
def test_a_pod_that_somebody_else_bound_is_done(other: str) -> None:
    rig = rig_with(Diary)
    rig.node(NODE)
    rig.later = is_bind
    rig.pod(WEB.requests(cpu="2"))
    rig.settle()
    rig.tells = False
    rig.steal("web", other)
    rig.give(Bind)
    assert rig.events() == []
    assert rig.asked(PatchStatus) == []
    assert diary_of(rig).reserved == set()
    assert rig.place("web") == ""
    # What is on the very node keeps its room; what is elsewhere gives ours back, and the watch tells the rest.
    assert rig.leftovers() == ({"assumed": 1} if other == "a" else {})
    rig.tells = True
    rig.settle()
    assert rig.leftovers() == {}


def test_a_bind_plugin_may_leave_it_to_the_next() -> None:
    rig = started(plugin(bind=give(SKIP)))
    assert rig.nodes_of() == {"web": "a"}


def test_a_bind_plugin_may_bind_by_itself() -> None:
    bound: list[str] = []

    def bind(_self: Any, _state: Any, pod: Any, node_name: str) -> None:
        bound.append(f"{pod.name} {node_name}")

    rig = Rig(
        [plugin(bind=bind)],
        profiles=[{"plugins": {"bind": {"enabled": [{"name": "Mine"}], "disabled": [{"name": "*"}]}}}],
    )
    rig.node(NODE)
    rig.pod(WEB)
    rig.settle()
    assert bound == ["web a"]
    assert rig.asked(Bind) == []
    assert rig.events() == [("web", "Scheduled")]
    # It counts until the watch shows it.
    assert rig.leftovers() == {"assumed": 1}


def test_a_pod_that_every_bind_plugin_skips_is_not_lost() -> None:
    bind = {"enabled": [{"name": "Mine"}], "disabled": [{"name": "*"}]}
    rig = Rig([plugin(bind=give(SKIP))], profiles=[{"plugins": {"bind": bind}}])
    rig.node(NODE)
    rig.pod(WEB)
    rig.settle()
    assert rig.condition("web") == ("SchedulerError", "every Bind plugin skipped the pod")
    assert rig.place("web") == "backoff"


def test_a_pod_that_bind_calls_unschedulable_is_retried_on_a_timer() -> None:
    bind = {"enabled": [{"name": "Mine"}], "disabled": [{"name": "*"}]}
    rig = Rig([plugin(bind=give(unschedulable("full")))], profiles=[{"plugins": {"bind": bind}}])
    rig.node(NODE)
    rig.pod(WEB)
    rig.settle()
    assert rig.condition("web") == ("Unschedulable", "full")
    assert rig.place("web") == "backoff"
    found = rig.core.queue.find("default/web")
    assert found is not None
    assert found[1].rejecting_plugins == frozenset()


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.SUCCESS])
def test_nothing_post_bind_says_changes_anything(code: Code) -> None:
    rig = started(plugin(post_bind=give(Status(code, ("x",)))))
    assert rig.nodes_of() == {"web": "a"}
    assert rig.leftovers() == {}


@pytest.mark.parametrize("post_bind", [raising(ZeroDivisionError()), later(ZeroDivisionError()), raising(SystemExit())])
def test_a_post_bind_that_breaks_keeps_nobody_else_from_it(post_bind: Any) -> None:
    told: list[str] = []

    def after(_self: Any, _state: Any, pod: Any, _node_name: str) -> None:
        told.append(pod.name)

    rig = started(plugin("First", post_bind=post_bind), plugin("Second", post_bind=after))
    rig.advance(2)
    assert told == ["web"]
    assert rig.leftovers() == {}


# Statuses and the bind.


def test_an_old_refusal_is_settled_before_the_bind() -> None:
    rig = Rig()
    rig.later = lambda request: isinstance(request, PatchStatus)
    rig.pod(WEB)
    rig.settle()
    rig.node(NODE)
    rig.advance(3)
    assert rig.core.under_way.writing == 1
    assert rig.asked(Bind) == []
    rig.give(PatchStatus)
    assert rig.nodes_of() == {"web": "a"}
    assert len(rig.asked(PatchStatus)) == 1


# Winding up.


def test_winding_up_lets_what_is_on_the_wire_finish_and_undoes_the_rest() -> None:
    def pre_bind(self: Any, _state: Any, pod: Any, _node_name: str) -> Any:
        return self.handle.host.sleep(99) if pod.name == "slow" else None

    rig = rig_with(Diary, plugin(pre_bind=pre_bind))
    rig.later = is_bind
    rig.node(NODE)
    rig.pod(WEB)
    rig.pod(a_pod("slow").requests(cpu="1"))
    rig.settle()
    assert len(rig.core.under_way) == 2
    rig.world.call_later(2, lambda: rig.open(Bind).give(rig.serve(rig.open(Bind).request)))
    rig.world.time.finish(rig.core.bindings.wind_up(10))
    rig.settle()
    assert rig.nodes_of() == {"slow": "", "web": "a"}
    assert rig.world.now() < START + 10
    assert rig.leftovers() == {}
    assert diary_of(rig).reserved == {"web"}


def test_what_does_not_finish_in_time_is_undone() -> None:
    rig = rig_with(Diary)
    rig.later = is_bind
    rig.node(NODE)
    rig.pod(WEB)
    rig.settle()
    rig.world.time.finish(rig.core.bindings.wind_up(10))
    assert rig.leftovers() == {}
    assert diary_of(rig).reserved == set()
    assert rig.condition("web") == ("", ""), "whoever schedules next says what becomes of it"


def test_a_plugin_that_does_not_end_does_not_keep_the_process() -> None:
    async def stubborn(self: Any, *_: Any) -> None:
        for _try in range(3):
            with contextlib.suppress(Cancelled):
                await self.handle.host.sleep(1000)

    rig = started(plugin(pre_bind=stubborn))
    rig.world.time.finish(rig.core.bindings.wind_up(5))
    assert rig.world.now() == START + 6
    assert rig.leftovers() == {}
    assert diary_of(rig).reserved == set()


def test_a_binding_stopped_before_it_began_is_undone() -> None:
    rig = rig_with(Diary)
    rig.node(NODE)
    rig.pod(WEB)
    rig._deliver()
    assert rig.core.attempts.run_next()
    (binding,) = rig.core.under_way
    binding.stop()
    rig.settle()
    assert rig.asked(Bind) == []
    assert rig.leftovers() == {}
    assert diary_of(rig).reserved == set()


def test_a_bug_in_a_binding_fails_that_attempt_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    rig.node(a_node("a").allocatable(cpu="2", pods="10"))
    is_writing = rig.core.statuses.is_writing
    broken = iter([KeyError("a bug")])

    def sometimes(uid: str) -> bool:
        if (problem := next(broken, None)) is not None:
            raise problem
        return is_writing(uid)

    monkeypatch.setattr(rig.core.statuses, "is_writing", sometimes)
    rig.pod(a_pod("web").requests(cpu="1"))
    rig.settle()
    assert rig.condition("web") == ("SchedulerError", "KeyError: 'a bug'")
    assert rig.leftovers() == {}
    rig.advance(5)
    assert rig.nodes_of() == {"web": "a"}
