"""What the shell is offered, asked as the scripts of bash ask."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from moorage.cli.main import app

PLUGIN = """
from typing import Protocol
import what_is_not_installed

class Contract(Protocol):
    def score(self, state, pod, node): ...

class Mine:
    def score(self, state, pod, node):
        return 0

class Other:
    def other(self): ...
"""
CLUSTER = """
{apiVersion: v1, kind: Node, metadata: {name: large}}
---
{apiVersion: v1, kind: Node, metadata: {name: small}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: main}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: job, namespace: batch}, spec: {containers: [{name: main}]}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "plugins/mine.py": PLUGIN,
        "plugins/broken.py": "class Broken(:",
        "tests/theirs.py": PLUGIN,
        ".hidden/theirs.py": PLUGIN,
        "cluster.yaml": CLUSTER,
        "broken.yaml": "{",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def offered(*words: str) -> list[str]:
    environment = {
        "_MOORAGE_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("moorage", *words)),
        "COMP_CWORD": str(len(words)),
    }
    told = CliRunner().invoke(app, [], env=environment, prog_name="moorage")
    assert told.stderr == ""
    return told.stdout.split()


def test_plugins_by_file_and_class_without_importing_them() -> None:
    assert offered("up", "--plugin", "pl") == ["plugins/mine.py:Mine"]
    assert offered("scheduler", "--plugin", "plugins/m") == ["plugins/mine.py:Mine"]
    assert offered("decide", "cluster.yaml", "--plugin", "no") == []


def test_an_extender_serves_plugins_by_name_too() -> None:
    assert offered("extender", "--plugin", "NodeRes") == ["NodeResourcesBalancedAllocation", "NodeResourcesFit"]
    assert offered("extender", "--plugin", "p") == ["plugins/mine.py:Mine"]


def test_nodes_and_pods_of_the_files_named_before() -> None:
    assert offered("decide", "cluster.yaml", "--node", "l") == ["large"]
    assert offered("decide", "cluster.yaml", "--pod", "w") == ["web"]
    assert offered("decide", "cluster.yaml", "--pod", "b") == ["batch/job"]
    assert offered("decide", "broken.yaml", "missing.yaml", "--pod", "w") == []


def test_feature_gates_also_after_a_comma() -> None:
    both = ["GenericWorkload=false", "GenericWorkload=true"]
    assert offered("up", "--feature-gates", "GenericW") == both
    assert offered("up", "--feature-gates", "A=true,GenericW") == [f"A=true,{one}" for one in both]
    assert offered("up", "--feature-gates", "GangS") == []
    assert len(offered("up", "--emulated-version", "1.36", "--feature-gates", "GangS")) == 2
    assert offered("up", "--emulated-version", "1", "--feature-gates", "GangS") == []


def test_controllers() -> None:
    assert offered("controllers", "stick") == ["stickyjob"]
