"""Manifests of an extender: least rights by what its plugins do, and arguments that the command takes."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from moorage.cli.main import app

EXAMPLES = Path(__file__).parents[3] / "examples"
FIRST = f"{EXAMPLES / 'first_plugin' / 'keep_off_spot.py'}:KeepOffSpot"
SAMPLE = f"{EXAMPLES / 'sample_extender' / 'sample_extender.py'}:SampleExtender"

Tree = dict[str, Any]


def made(*arguments: str) -> dict[str, Tree]:
    result = CliRunner().invoke(app, ["manifests", "--extender", "--name", "ext", *arguments])
    assert result.exit_code == 0, result.output
    return {one["kind"]: one for one in yaml.safe_load_all(result.stdout)}


def rights(role: Tree) -> set[tuple[str, str]]:
    return {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}


READ = {(resource, verb) for resource in ("pods", "nodes") for verb in ("get", "list", "watch")}
TELL = {("events", "create"), ("events", "patch")}


def test_rights_are_what_the_plugins_need() -> None:
    assert rights(made("--plugin", FIRST)["ClusterRole"]) == READ | TELL
    assert rights(made("--plugin", SAMPLE)["ClusterRole"]) == {*READ, *TELL, ("pods/binding", "create")}
    assert rights(made("--plugin", FIRST)["Role"]) == {("leases", verb) for verb in ("create", "get", "update")}


def test_the_service_leads_to_the_pods_and_the_plugin_is_shipped() -> None:
    all_of_it = made("--plugin", FIRST, "--namespace", "apart", "--replicas", "3")
    template = all_of_it["Deployment"]["spec"]["template"]
    assert all_of_it["Service"]["spec"]["selector"] == template["metadata"]["labels"]
    assert all_of_it["Deployment"]["spec"]["replicas"] == 3
    assert {one["metadata"].get("namespace", "apart") for one in all_of_it.values()} == {"apart"}
    assert "class KeepOffSpot" in all_of_it["ConfigMap"]["data"]["keep_off_spot.py"]
    assert template["spec"]["volumes"][1]["secret"]["secretName"] == "ext-tls"


def test_the_container_is_started_with_what_the_command_takes(tmp_path: Path) -> None:
    config = EXAMPLES / "first_plugin" / "scheduler.yaml"
    all_of_it = made("--plugin", FIRST, "--config", str(config))
    for name, text in all_of_it["ConfigMap"]["data"].items():
        (tmp_path / name).write_text(text)
    (container,) = all_of_it["Deployment"]["spec"]["template"]["spec"]["containers"]
    arguments = [argument.replace("/etc/moorage/tls", "/nowhere") for argument in container["args"]]
    arguments = [argument.replace("/etc/moorage", str(tmp_path)) for argument in arguments]
    result = CliRunner().invoke(app, [*arguments, "--print-config", "--url", "https://ext.kube-system.svc:8888"])
    assert result.exit_code == 0, result.output
    (entry,) = yaml.safe_load(result.stdout)["extenders"]
    assert entry["enableHTTPS"]
    assert (entry["filterVerb"], entry["prioritizeVerb"]) == ("filter", "prioritize")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--plugin: expected at least one plugin"),
        (["--plugin", "NoSuch"], "--plugin NoSuch: expected module:Class"),
    ],
)
def test_without_a_plugin_there_is_nothing_to_run(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["manifests", "--extender", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
