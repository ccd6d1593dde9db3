"""Every plugin with both forms of Filter or Score gives the same answer in both, row by row."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.random_clusters import CONFIGS, NODE_NAMES, SURROUNDINGS, make_pod, nodes, pod_traits

from moorage.columns import PodInfo, Rows, Snapshot
from moorage.config import parse_config
from moorage.engine import Engine, make_engine
from moorage.engine.filtering import Search
from moorage.engine.runner import Runner
from moorage.plugins import DEFAULT_PLUGINS

#: Enough nodes that the many-rows form is worth its while.
FEWEST_NODES = 3


@st.composite
def decisions(draw: st.DrawFn) -> tuple[Engine, PodInfo, list[int]]:
    """An engine over a random cluster, a pod to decide, and some of the rows."""
    names = NODE_NAMES[: draw(st.integers(FEWEST_NODES, len(NODE_NAMES)))]
    places = draw(st.lists(st.sampled_from(names), max_size=10))
    placed = [make_pod(f"p{number}", draw(pod_traits()), node=name) for number, name in enumerate(places)]
    objects = [*SURROUNDINGS, *(draw(nodes(name)) for name in names), *placed]
    config = parse_config(CONFIGS[draw(st.sampled_from(sorted(CONFIGS)))])
    engine = make_engine(Snapshot.of(objects), config)
    some = draw(st.lists(st.integers(0, len(names) - 1), min_size=1, unique=True))
    return engine, engine.snapshot.info(make_pod("new", draw(pod_traits()))), sorted(some)


def begin(engine: Engine, pod: PodInfo) -> tuple[Runner, Search]:
    runner = engine.runner_of(pod)
    return runner, runner.filtering.begin(pod)


def one_by_one(runner: Runner, search: Search, plugin: Any, rows: Rows) -> list[Any]:
    return [plugin.filter(search.state, search.pod, runner.snapshot.nodes[row]) for row in rows.tolist()]


def all_at_once(runner: Runner, search: Search, plugin: Any, rows: Rows) -> list[Any]:
    codes, statuses = plugin.filter_nodes(search.state, search.pod, runner.snapshot.nodes, rows)
    return [statuses[code - 1] if code else None for code in codes.tolist()]


@settings(max_examples=250, deadline=None)
@given(decisions())
def test_filters(case: tuple[Engine, PodInfo, list[int]]) -> None:
    engine, pod, some = case
    runner, search = begin(engine, pod)
    if search.rejection is not None:
        return
    for name, plugin in runner.profile.plugins.items():
        if not hasattr(plugin, "filter_nodes") or name in search.state.skipped_filters:
            continue
        for rows in (runner.snapshot.nodes.rows, np.array(some, dtype=np.intp)):
            assert all_at_once(runner, search, plugin, rows) == one_by_one(runner, search, plugin, rows), name


@settings(max_examples=250, deadline=None)
@given(decisions())
def test_scores(case: tuple[Engine, PodInfo, list[int]]) -> None:
    engine, pod, some = case
    runner, search = begin(engine, pod)
    if search.rejection is not None:
        return
    # PreScore is told which rows fit: any will do here, and it must be asked anew for others.
    for rows in (runner.snapshot.nodes.rows, np.array(some, dtype=np.intp)):
        runner.scoring.prepare(search, rows)
        for score in runner.compiled.scores:
            plugin = runner.profile.plugins[score.name]
            if not hasattr(plugin, "score_nodes") or score.name in search.state.skipped_scores:
                continue
            many = plugin.score_nodes(search.state, pod, runner.snapshot.nodes, rows).tolist()
            assert many == [plugin.score(search.state, pod, runner.snapshot.nodes[row]) for row in rows.tolist()], (
                score.name
            )


@pytest.mark.parametrize("point", ["filter", "score"])
def test_no_default_plugin_is_left_out(point: str) -> None:
    """What has a fast form has a plain one too, so the tests above meet it."""
    fast = {plugin.__name__ for plugin in DEFAULT_PLUGINS if hasattr(plugin, f"{point}_nodes")}
    plain = {plugin.__name__ for plugin in DEFAULT_PLUGINS if hasattr(plugin, point)}
    assert fast
    assert fast <= plain
