"""moorage config validate, view and convert."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from moorage.cli.config import app
from moorage.config import default_config, parse_config
from moorage.config.view import as_data
from moorage.values import yaml

GOOD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
BAD = GOOD + "parallelism: 0\npercentageOfNodesToScore: 101\n"


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, arguments, input=stdin)


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    return str(path)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.yaml"
    path.write_text(BAD)
    return str(path)


def test_validate_good(good: str) -> None:
    result = run("validate", good)
    assert result.exit_code == 0
    assert result.stdout == f"{good}: valid (profiles: default-scheduler)\n"


def test_validate_checks_every_file(good: str, bad: str, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.yaml")
    result = run("validate", bad, missing, good)
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"{bad}: parallelism: Invalid value: 0: should be an integer value greater than zero",
        f"{bad}: percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        f"{missing}: No such file or directory",
    ]
    assert "valid" in result.stdout


def test_validate_standard_input() -> None:
    assert run("validate", "-", stdin=GOOD).exit_code == 0
    assert run("validate", "-", stdin=BAD).exit_code == 2


def test_view_as_data(good: str) -> None:
    expected = as_data(default_config())
    assert json.loads(run("view", good, "-o", "json").stdout) == expected
    assert yaml.load(run("view", good, "-o", "yaml").stdout) == expected


def test_view_as_tables() -> None:
    text = GOOD + "profiles: [{schedulerName: mine, percentageOfNodesToScore: 5}]\n"
    shown = run("view", "-", stdin=text).stdout
    assert "Profile mine (percentageOfNodesToScore 5)" in shown
    assert "TaintToleration (3)" in shown
    assert "podMaxBackoffSeconds" in shown


def test_view_refuses(bad: str) -> None:
    result = run("view", bad)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{bad}: parallelism: ")


def test_convert() -> None:
    result = run("convert", "-", stdin='{"kind": "Policy", "apiVersion": "v1", "predicates": [], "priorities": []}')
    assert result.exit_code == 0
    profile = parse_config(yaml.load(result.stdout, strict=True)).profiles[0]
    assert profile.plugins.at("filter") == ("NodeUnschedulable", "TaintToleration")
    assert result.stderr.startswith("note: ")


def test_convert_refuses() -> None:
    result = run("convert", "-", stdin=GOOD)
    assert result.exit_code == 2
    assert '-: kind: expected "Policy"' in result.stderr
    assert result.stdout == ""
