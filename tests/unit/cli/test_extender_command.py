"""moorage extender, as far as it needs no cluster."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from moorage.cli.main import app
from moorage.config import load_config

PLUGIN = f"{Path(__file__).parents[3] / 'examples' / 'first_plugin' / 'keep_off_spot.py'}:KeepOffSpot"


def test_the_printed_entry_is_one_that_a_configuration_takes() -> None:
    arguments = ["extender", "--plugin", PLUGIN, "--print-config", "--port", "9000"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    document = yaml.safe_load(result.stdout)
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    (extender,) = load_config(yaml.dump({**header, **document})).extenders
    assert extender.url_prefix == "http://127.0.0.1:9000"
    assert (extender.filter_verb, extender.prioritize_verb, extender.preempt_verb, extender.bind_verb) == (
        "filter",
        "prioritize",
        "preempt",
        "",
    )
    assert extender.node_cache_capable


def test_the_printed_entry_offers_certificates_where_a_token_is_asked_for() -> None:
    files = ["--tls-cert", "a", "--tls-key", "b", "--token-file", "t", "--url", "https://x.example:1/"]
    result = CliRunner().invoke(app, ["extender", "--plugin", PLUGIN, "--print-config", "--whole-nodes", *files])
    assert result.exit_code == 0, result.output
    assert "kube-scheduler can send no token: give it a certificate (--client-ca)" in result.stdout
    (entry,) = yaml.safe_load(result.stdout)["extenders"]
    assert entry["urlPrefix"] == "https://x.example:1/"
    assert entry["tlsConfig"] == {"caFile": "/etc/moorage/extender/ca.crt"}
    assert (entry["nodeCacheCapable"], "preemptVerb" in entry) == (False, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--plugin: expected at least one plugin"),
        (["--plugin", "NoSuch"], "--plugin NoSuch: expected module:Class"),
        (["--plugin", PLUGIN, "--tls-cert", "a"], "expected both --tls-cert and --tls-key"),
        (["--plugin", PLUGIN, "--client-ca", "a"], "--client-ca: needs --tls-cert"),
        (["--plugin", PLUGIN, "--config", "/nowhere.yaml"], "/nowhere.yaml"),
        (["--plugin", PLUGIN, "--whole-nodes", "--token-file", "/nowhere"], "--token-file"),
        (["--plugin", PLUGIN, "--emulated-version", "1.20"], "--emulated-version"),
        (["--plugin", PLUGIN, "--feature-gates", "NoSuchGate=true"], "NoSuchGate"),
    ],
)
def test_bad_options_are_one_line_and_status_two(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["extender", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1 or "serving" not in result.stderr
