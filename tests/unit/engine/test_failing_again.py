"""Pods of a class that failed fail again without a search, until something they were refused for is touched."""

from collections.abc import Callable

import pytest

from moorage.attempt.placing import Placer
from moorage.cluster import ClusterState
from moorage.engine import Engine, Failure, Placement
from moorage.engine.filtering import Filtering
from moorage.framework import PostFilterAnswer, unschedulable
from moorage.testing import Cluster, PodBuilder, a_node, a_pod

LARGE = a_pod("large").requests(cpu="8")


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pods whose refusals were looked at node by node."""
    seen: list[str] = []
    diagnose = Filtering.diagnose

    def noted(self: Filtering, search: object, visited: object = None) -> object:
        seen.append(search.pod.name)  # type: ignore[attr-defined]
        return diagnose(self, search, visited)  # type: ignore[arg-type]

    monkeypatch.setattr(Filtering, "diagnose", noted)
    return seen


def engine_of(*items: object) -> Engine:
    nodes = [a_node(name).allocatable(cpu="4") for name in "abcdefghi"]
    return Cluster(*nodes, *items).scheduler().engine  # type: ignore[arg-type]


def fail(engine: Engine, pod: PodBuilder) -> Failure:
    outcome = engine.schedule(engine.snapshot.info(pod.build()))
    assert isinstance(outcome, Failure)
    return outcome


def named(pod: PodBuilder, name: str) -> PodBuilder:
    return pod.metadata(name=name, uid=f"{name}-uid")


def test_the_next_of_the_class_fails_alike(searches: list[str]) -> None:
    engine = engine_of()
    first = fail(engine, named(LARGE, "first"))
    second = fail(engine, named(LARGE, "second").labels(app="web").namespace("other"))
    assert searches == ["first"]
    assert second.pod.name == "second"
    assert (second.full_message, second.plugins, second.nomination) == (
        first.full_message,
        first.plugins,
        first.nomination,
    )


def test_what_changes_no_verdict_touches_nothing(searches: list[str]) -> None:
    engine = engine_of()
    fail(engine, named(LARGE, "first"))
    engine.snapshot.nodes.set_node(a_node("a").allocatable(cpu="4").labels(new="label").build())
    small = engine.schedule(engine.snapshot.info(a_pod("small").requests(cpu="1").priority(7).build()))
    assert isinstance(small, Placement)
    Placer(cluster=ClusterState(engine.snapshot), engine=engine).reserve(small)
    fail(engine, named(LARGE, "second"))
    assert searches == ["first"]


def an_added_node(engine: Engine) -> None:
    engine.snapshot.nodes.set_node(a_node("new").allocatable(cpu="4").build())


def a_removed_node(engine: Engine) -> None:
    engine.snapshot.nodes.remove_node("a")


def another_refusal(engine: Engine) -> None:
    engine.snapshot.nodes.set_node(a_node("a").allocatable(cpu="4").cordoned().build())


@pytest.mark.parametrize("touch", [an_added_node, a_removed_node, another_refusal])
def test_what_changes_a_verdict_or_the_nodes_is_looked_at(searches: list[str], touch: Callable[[Engine], None]) -> None:
    engine = engine_of()
    before = fail(engine, named(LARGE, "first")).message
    touch(engine)
    assert fail(engine, named(LARGE, "second")).message != before
    assert searches == ["first", "second"]


def test_another_priority_or_policy_is_another_matter(searches: list[str]) -> None:
    engine = engine_of(a_pod("low").requests(cpu="1").on("a"))
    fail(engine, named(LARGE, "first"))
    fail(engine, named(LARGE, "second"))
    fail(engine, named(LARGE, "third").priority(5))
    assert "preemptionPolicy=Never" in fail(engine, named(LARGE, "fourth").priority(5, preempts=False)).full_message
    assert searches == ["first", "third", "fourth"]


def test_where_others_could_make_room_every_pod_that_moves_counts(searches: list[str]) -> None:
    engine = engine_of(a_pod("low").requests(cpu="1").on("a"))
    urgent = LARGE.priority(5)
    fail(engine, named(urgent, "first"))
    fail(engine, named(urgent, "second"))
    ClusterState(engine.snapshot).assume(engine.snapshot.info(a_pod("other").build()), "b")
    fail(engine, named(urgent, "third"))
    assert searches == ["first", "third"]


def test_who_is_promised_room_is_searched_for_each_time(searches: list[str]) -> None:
    engine = engine_of(*(a_pod(f"low-{name}").requests(cpu="4").on(name) for name in "abcdefghi"))
    urgent = a_pod("urgent").requests(cpu="2").priority(5)
    for name in ("first", "second"):
        failure = fail(engine, named(urgent, name))
        assert failure.nomination is not None
        assert failure.nomination.victims
    assert searches == ["first", "second"]


class Curious:
    """A PostFilter that says nothing about how long its answer holds."""

    def __init__(self, _args: object, _handle: object) -> None: ...

    def post_filter(self, _state: object, _pod: object, _statuses: object) -> object:
        """Never any help."""
        return PostFilterAnswer(unschedulable("no"))


def test_a_plugin_that_does_not_say_how_long_its_no_holds_is_asked_each_time(searches: list[str]) -> None:
    engine = Cluster(a_node("a").allocatable(cpu="1")).scheduler(plugins=[Curious]).engine
    fail(engine, named(LARGE, "first"))
    fail(engine, named(LARGE, "second"))
    assert searches == ["first", "second"]
