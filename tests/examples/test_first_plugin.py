"""The first plugin as a user runs it: from its file, by the command."""

import json
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from moorage.cli.main import app

EXAMPLE = Path(__file__).parents[2] / "examples" / "first_plugin"
PLUGIN = EXAMPLE / "keep_off_spot.py"


def manifest(kind: str, name: str, **tree: Any) -> dict[str, Any]:
    namespace = {"namespace": "default"} if kind == "Pod" else {}
    metadata = {"name": name, "uid": name, **namespace, **tree.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **tree}


def test_decided_by_the_command_with_the_file_and_the_configuration(tmp_path: Path) -> None:
    room = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
    case = {
        "name": "first",
        "config": yaml.safe_load((EXAMPLE / "scheduler.yaml").read_text()),
        "objects": [
            manifest("Node", "spot", metadata={"labels": {"example.com/spot": ""}}, status=room),
            manifest("Node", "steady", status=room),
            manifest("Pod", "batch", spec={"containers": [{"name": "main"}]}),
            manifest("Pod", "db", spec={"containers": [{"name": "main"}], "priority": 500}),
        ],
        "schedule": ["default/batch", "default/db"],
    }
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({"case": case}))
    result = CliRunner().invoke(app, ["decide", str(cases), "--plugin", f"{PLUGIN}:KeepOffSpot"])
    assert result.exit_code == 0, result.output
    batch, db = json.loads(result.stdout)["decisions"]
    assert (batch["chosen"], db["chosen"]) == ("spot", "steady")
    assert db["rejected"]["spot"] == {
        "code": "UnschedulableAndUnresolvable",
        "plugin": "KeepOffSpot",
        "reasons": ["node(s) may be reclaimed at any time"],
    }


def test_it_stays_short() -> None:
    """The README quotes it as a first plugin: what is more than a screen is not a first plugin."""
    code = [line for line in PLUGIN.read_text().partition("class ")[2].splitlines() if line.strip()]
    assert len(code) <= 15


def test_the_readme_quotes_it_as_it_is() -> None:
    quoted = (EXAMPLE.parents[1] / "README.md").read_text()
    _, begins, code = PLUGIN.read_text().partition("class KeepOffSpot:\n")
    assert begins + code in quoted


def test_the_configuration_is_shown_with_the_plugin_in_it() -> None:
    arguments = ["config", "view", str(EXAMPLE / "scheduler.yaml"), "--plugin", f"{PLUGIN}:KeepOffSpot", "-o", "json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    (profile,) = json.loads(result.stdout)["profiles"]
    assert profile["weights"]["KeepOffSpot"] == 10
    assert profile["plugins"]["filter"][-1] == "KeepOffSpot"
