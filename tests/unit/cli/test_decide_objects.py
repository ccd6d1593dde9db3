"""moorage decide on nodes and pods as kubectl prints them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from moorage.cli.main import app

CLUSTER = """\
apiVersion: v1
kind: Node
metadata: {name: small}
status: {capacity: {cpu: "1", memory: 4Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: large}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: running}
spec:
  nodeName: large
  containers: [{name: main, resources: {requests: {cpu: "3"}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: first}
spec: {containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: second}
spec: {containers: [{name: main, resources: {requests: {cpu: "2"}}}]}
"""

PLUGIN = """
from moorage.framework import unresolvable

class OnlySmall:
    def filter(self, state, pod, node):
        return None if node.name == "small" else unresolvable("not small")
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER)
    return path


def run(*arguments: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["decide", *map(str, arguments)], input=stdin)


def chosen(result: Result) -> dict[str, str]:
    assert result.exit_code == 0, result.stderr
    return {one["pod"]: one.get("chosen", "") for one in json.loads(result.stdout)["decisions"]}


def test_all_pods_that_wait_each_counting_for_those_behind_it(cluster: Path) -> None:
    told = run(cluster)
    assert told.exit_code == 0
    first, second = told.stdout.split("\n\n")
    assert first.splitlines()[0] == "default/first -> large"
    assert [line.split()[0] for line in first.splitlines()] == ["default/first", "node", "large", "small"]
    refused = "default/second -> nowhere: 0/2 nodes are available: 2 Insufficient cpu. (preemption: 0/2 nodes are "
    assert second.startswith(refused)


def test_one_pod_even_if_it_runs(cluster: Path) -> None:
    assert chosen(run(cluster, "--pod", "running", "--json")) == {"default/running": "large"}
    assert chosen(run(cluster, "--pod", "default/first", "--json"))["default/first"]


def test_what_kubectl_prints_from_standard_input_and_from_several_files(cluster: Path, tmp_path: Path) -> None:
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "third"}}
    pod["spec"] = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "500m"}}}]}
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod]})
    assert set(chosen(run(cluster, "-", "--json", stdin=listed))) == {
        "default/first",
        "default/second",
        "default/third",
    }
    assert set(chosen(run(tmp_path, "--json"))) == {"default/first", "default/second"}
    indented = json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod]}, indent=2)
    assert chosen(run("-", "--json", stdin=indented)) == {"default/third": ""}


def test_a_plugin_named_runs_and_a_configuration_says_what_else_does(cluster: Path, tmp_path: Path) -> None:
    plugin, config = tmp_path / "mine.py", tmp_path / "scheduler.json"
    plugin.write_text(PLUGIN)
    assert chosen(run(cluster, "--json", "--pod", "first", "--plugin", f"{plugin}:OnlySmall")) == {
        "default/first": "small"
    }
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    off = {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}
    config.write_text(json.dumps({**head, "profiles": [{"plugins": off}]}))
    assert all(chosen(run(cluster, "--json", "--config", config)).values())


def test_pods_of_other_schedulers_are_left_to_them(cluster: Path) -> None:
    cluster.write_text(CLUSTER.replace("spec: {containers", "spec: {schedulerName: other, containers"))
    told = run(cluster)
    assert (told.exit_code, told.stdout) == (0, "")
    assert told.stderr.splitlines() == [
        "note: pod default/first is left to its scheduler other",
        "note: pod default/second is left to its scheduler other",
        "note: no pod waits for a node; --pod decides one that runs",
    ]


def test_into_a_file(cluster: Path, tmp_path: Path) -> None:
    told = run(cluster, "-o", tmp_path / "out", "--pod", "running")
    assert (told.exit_code, told.output) == (0, "")
    assert (tmp_path / "out").read_text().startswith("default/running -> large\n")


@pytest.mark.parametrize("more", [["--pod", "x"], ["--config", "x"], ["cluster.yaml"]], ids=lambda more: str(more[0]))
def test_cases_stand_alone(cluster: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]) -> None:
    monkeypatch.chdir(cluster.parent)
    Path("cases.jsonl").write_text("{}\n")
    refused = run("cases.jsonl", *more)
    assert refused.exit_code == 2
    assert refused.stderr == "cases.jsonl: cases stand alone: no other file, --pod, --node or --config goes with them\n"
