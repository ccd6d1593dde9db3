"""The sample in-process and as a webhook: the same nodes, the same order."""

import json
from pathlib import Path
from typing import Any

import msgspec
import yaml
from sample_extender import SampleExtender, luck
from typer.testing import CliRunner

from moorage.cli.main import app
from moorage.config import load_config
from moorage.extender import make_extender
from moorage.testing import Cluster, a_node, a_pod

HERE = Path(__file__).parent
NODES = [f"node-{index}" for index in range(30)]
CLUSTER = Cluster(*map(a_node, NODES))


def wire(name: str) -> bytes:
    """What a scheduler sends of a pod and all nodes."""
    items = [msgspec.to_builtins(node.build()) for node in map(a_node, NODES)]
    return json.dumps({"Pod": msgspec.to_builtins(a_pod(name).build()), "Nodes": {"items": items}}).encode()


async def test_the_webhook_says_what_the_plugin_says() -> None:
    extender = make_extender(SampleExtender, whole_nodes=True)
    unlucky: set[str] = set()
    for name in ("a", "b", "c", "d"):
        decided = CLUSTER.decide(a_pod(name), plugins=[SampleExtender])
        answer: Any = json.loads((await extender.answer("filter", wire(name))).body)
        assert sorted(item["metadata"]["name"] for item in answer["Nodes"]["items"]) == sorted(
            decided.decision.feasible
        )
        assert all(decided.reasons(node) == (reason,) for node, reason in answer["FailedNodes"].items())
        unlucky.update(answer["FailedNodes"])
        scores = json.loads((await extender.answer("prioritize", wire(name))).body)
        for score in scores:
            if score["Host"] in decided.decision.feasible:
                assert decided.score(score["Host"], "SampleExtender") == 10 * score["Score"]
    assert unlucky


def test_the_luckiest_node_is_chosen() -> None:
    pod = a_pod("lottery")
    decided = CLUSTER.decide(pod, plugins=[SampleExtender])
    assert luck(pod.info(), decided.chosen) == max(luck(pod.info(), node) for node in NODES)


def test_the_pair_of_the_guides_becomes_what_today_needs() -> None:
    result = CliRunner().invoke(app, ["config", "convert", str(HERE / "scheduler-extender-config.yaml")])
    assert result.exit_code == 0, result.output
    today = load_config((HERE / "scheduler-extender.yaml").read_bytes())
    assert load_config(result.stdout).extenders == today.extenders
    assert not load_config(result.stdout).leader_election.leader_elect


def test_the_printed_entry_is_the_one_in_the_file() -> None:
    plugin = f"{HERE / 'sample_extender.py'}:SampleExtender"
    result = CliRunner().invoke(
        app, ["extender", "--plugin", plugin, "--print-config", "--url", "http://localhost:8888/"]
    )
    (entry,) = yaml.safe_load(result.stdout)["extenders"]
    (written,) = yaml.safe_load((HERE / "scheduler-extender.yaml").read_text())["extenders"]
    assert written.items() <= entry.items()


def test_the_deployment_mounts_what_its_scheduler_reads() -> None:
    documents = list(yaml.safe_load_all((HERE / "manifests.yaml").read_text()))
    spec = documents[-1]["spec"]["template"]["spec"]
    scheduler, extender = spec["containers"]
    mounted = scheduler["volumeMounts"][0]["mountPath"]
    assert mounted == "/etc/kubernetes/scheduler-extender-config"
    assert f"--config={mounted}/scheduler-extender.yaml" in scheduler["command"]
    assert spec["volumes"][0]["configMap"]["name"] == "scheduler-extender"
    assert "--port=8888" in extender["args"]
