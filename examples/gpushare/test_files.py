"""The files beside the package say the same as it does."""

from pathlib import Path

import yaml
from moorage_gpushare.server import PREFIX
from typer.testing import CliRunner

from moorage.cli.main import app
from moorage.config import load_config

HERE = Path(__file__).parent


def test_the_policy_of_old_becomes_what_today_needs() -> None:
    result = CliRunner().invoke(app, ["config", "convert", str(HERE / "scheduler-policy-config.json")])
    assert result.exit_code == 0, result.output
    (converted,) = load_config(result.stdout).extenders
    (today,) = load_config((HERE / "scheduler.yaml").read_bytes()).extenders
    assert converted == today
    assert today.url_prefix.endswith(PREFIX)


def test_the_manifests_allow_no_more_than_it_does() -> None:
    documents = list(yaml.safe_load_all((HERE / "manifests.yaml").read_text()))
    rules = [rule for document in documents for rule in document.get("rules", ())]
    allowed = {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}
    assert allowed == {
        *((resource, verb) for resource in ("nodes", "pods", "configmaps") for verb in ("list", "watch")),
        ("pods", "get"),
        ("pods", "patch"),
        ("pods/binding", "create"),
    }


def test_in_process_it_is_allowed_what_it_does() -> None:
    arguments = ["manifests", "--config", str(HERE / "in-process.yaml"), "--plugin", "moorage_gpushare:GpuShare"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    (role,) = [one for one in yaml.safe_load_all(result.stdout) if one["kind"] == "ClusterRole"]
    allowed = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert {("configmaps", "list"), ("pods", "patch")} <= allowed
