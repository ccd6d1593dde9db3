"""A pod is kept out until its gate is open."""

from pathlib import Path
from typing import Any

import pytest
from examples.config_gate.plugin import GATE, ConfigGate

from moorage.testing import Cluster, PodBuilder, Run, a_node, a_pod


def gates(name: str = "gates", **said: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": said}


def behind(gate: str) -> PodBuilder:
    return a_pod("web").labels({GATE: gate})


@pytest.fixture
def run() -> Run:
    config = Path(__file__).with_name("scheduler.yaml")
    return Cluster(a_node("n")).run(plugins=[ConfigGate], config=config)


def test_a_pod_without_a_gate_goes_in(run: Run) -> None:
    run.add(a_pod("web"))
    assert run.node_of("web") == "n"


def test_a_gate_that_nobody_opened_is_closed(run: Run) -> None:
    run.add(behind("launch"))
    assert run.place("web") == "gated"
    run.advance(600)
    assert run.place("web") == "gated"
    assert run.notes("web") == [
        'plugin "ConfigGate" keeps it out of the queue: gate "launch" is closed: gates says nothing'
    ]


def test_it_opens_with_the_config_map(run: Run) -> None:
    run.add(gates(launch="not yet"), behind("launch"))
    assert run.place("web") == "gated"
    run.add(gates(other="open", launch="not yet"))
    run.add(gates("others", launch="open"))
    assert run.place("web") == "gated"
    run.add(gates(launch="open"))
    assert run.node_of("web") == "n"


def test_the_reason_is_told_once_for_each_change(run: Run) -> None:
    run.add(gates(launch="not yet"), behind("launch"))
    run.add(behind("launch").annotations(changed="yes"))
    told = [note.rpartition("says ")[2] for note in run.notes("web")]
    assert told == ["not yet"]
