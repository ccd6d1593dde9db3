"""moorage config validate, view and convert."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner, Result

from moorage.cli.config import app
from moorage.config import default_config, parse_config
from moorage.config.view import as_data
from moorage.framework import registry
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


def test_view_shows_the_version_and_its_gates(good: str) -> None:
    flags = ["--emulated-version", "1.37", "--feature-gates", "GenericWorkload=true"]
    shown = json.loads(run("view", good, "-o", "json", *flags).stdout)
    assert shown["emulatedVersion"] == "1.37"
    assert shown["featureGates"]["StorageCapacityScoring"] is True
    assert shown["featureGates"]["GenericWorkload"] is True
    assert shown["featureGates"]["TopologyAwareWorkloadScheduling"] is False
    assert "NodeNamePreFilter" not in shown["featureGates"]
    assert shown["profiles"][0]["plugins"]["permit"] == ["GangScheduling"]
    table = run("view", good, *flags).stdout
    assert "featureGates.GenericWorkload" in table
    assert "featureGates.StorageCapacityScoring" not in table


def test_gates_decide_what_is_valid() -> None:
    shape = "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 1}]}}]}]\n"
    assert run("validate", "-", "--emulated-version", "1.37", stdin=GOOD + shape).exit_code == 0
    refused = run("validate", "-", "--emulated-version", "1.36", stdin=GOOD + shape)
    assert refused.exit_code == 2
    assert "StorageCapacityScoring" in refused.stderr
    gates = ["--emulated-version", "1.36", "--feature-gates", "StorageCapacityScoring=true"]
    assert run("validate", "-", *gates, stdin=GOOD + shape).exit_code == 0
    assert run("validate", "-", "--feature-gates", "Storage=true", stdin=GOOD).exit_code == 2


def test_view_as_tables() -> None:
    text = GOOD + "profiles: [{schedulerName: mine, percentageOfNodesToScore: 5}]\n"
    shown = run("view", "-", stdin=text).stdout
    assert "Profile mine (percentageOfNodesToScore 5)" in shown
    assert "TaintToleration (3)" in shown
    assert "podMaxBackoffSeconds" in shown


def test_view_shows_the_arguments_of_the_plugins_that_run(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text("class Mine:\n    def score(self, state, pod, node):\n        return 0\n")
    text = GOOD + (
        "profiles:\n"
        "- plugins: {multiPoint: {enabled: [{name: Mine}]}, score: {disabled: [{name: NodeAffinity}]}}\n"
        "  pluginConfig:\n"
        "  - {name: Mine, args: {labels: [a, '[b]']}}\n"
        "  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 7}}\n"
    )
    flags = ["--plugin", f"{plugin}:Mine"]
    args = json.loads(run("view", "-", "-o", "json", *flags, stdin=text).stdout)["args"]["default-scheduler"]
    assert args["Mine"] == {"labels": ["a", "[b]"]}
    assert args["InterPodAffinity"] == {"hardPodAffinityWeight": 7, "ignorePreferredTermsOfExistingPods": False}
    assert args["DynamicResources"]["bindingTimeout"] == "10m0s"
    table = run("view", "-", *flags, stdin=text).stdout
    assert "Arguments in default-scheduler" in table
    for line in ("hardPodAffinityWeight: 7", "'[b]'", "type: LeastAllocated"):
        assert line in table


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


def test_convert_leaves_todays_form() -> None:
    result = run("convert", "-", stdin=GOOD)
    assert result.exit_code == 0
    assert result.stderr == "note: the file is in today's form already\n"


def test_convert_refuses() -> None:
    result = run("convert", "-", stdin="kind: Pod")
    assert result.exit_code == 2
    assert '-: kind: expected "Policy"' in result.stderr
    assert result.stdout == ""


ALPHA = """apiVersion: kubescheduler.config.k8s.io/v1alpha1
kind: KubeSchedulerConfiguration
algorithmSource: {policy: {file: {path: /etc/kubernetes/not-here/policy.json}}}
"""
POLICY = '{"kind": "Policy", "apiVersion": "v1", "extenders": [{"urlPrefix": "http://e", "filterVerb": "filter"}]}'


def test_convert_finds_the_policy_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(ALPHA)
    refused = run("convert", str(tmp_path / "config.yaml"))
    assert refused.exit_code == 2
    assert "--policy FILE" in refused.stderr
    (tmp_path / "policy.json").write_text(POLICY)
    result = run("convert", str(tmp_path / "config.yaml"))
    assert result.exit_code == 0, result.stderr
    assert parse_config(yaml.load(result.stdout, strict=True)).extenders[0].url_prefix == "http://e"


def test_convert_takes_the_policy_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(POLICY.replace("http://e", "http://other"))
    result = run("convert", "-", "--policy", str(tmp_path / "other.json"), stdin=ALPHA)
    assert result.exit_code == 0, result.stderr
    assert parse_config(yaml.load(result.stdout, strict=True)).extenders[0].url_prefix == "http://other"


def test_convert_wants_one_thing_to_convert(good: str) -> None:
    assert run("convert").exit_code == 2
    assert run("convert", good, "--policy-configmap", "a/b").exit_code == 2


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A kubeconfig for a server that has one ConfigMap, kube-system/scheduler-policy."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/api/v1/namespaces/kube-system/configmaps/scheduler-policy"
            body = json.dumps({"kind": "ConfigMap", "data": {"policy.cfg": POLICY}} if found else {}).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    config = {
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    yield str(tmp_path / "kubeconfig")
    server.shutdown()
    server.server_close()


def test_convert_reads_the_policy_from_a_config_map(cluster: str) -> None:
    named = ALPHA.replace("file: {path: /etc/kubernetes/not-here/policy.json}", "configMap: {name: scheduler-policy}")
    for result in (
        run("convert", "--policy-configmap", "kube-system/scheduler-policy", "--kubeconfig", cluster),
        run("convert", "-", "--kubeconfig", cluster, stdin=named),
    ):
        assert result.exit_code == 0, result.stderr
        assert parse_config(yaml.load(result.stdout, strict=True)).extenders[0].url_prefix == "http://e"
    assert run("convert", "--policy-configmap", "gone", "--kubeconfig", cluster).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["--policy-config-file=p.json"], "moorage config convert p.json > scheduler.yaml"),
        (["--policy-config-file", "p.json"], "moorage config convert p.json > scheduler.yaml"),
        (["--policy-configmap", "m"], "convert --policy-configmap kube-system/m >"),
        (["--policy-configmap=m", "--policy-configmap-namespace=n"], "convert --policy-configmap n/m >"),
        (["--algorithm-provider=DefaultProvider"], "--algorithm-provider is gone"),
    ],
)
def test_flags_of_old_answer_with_the_command(arguments: list[str], answer: str) -> None:
    from moorage.cli.main import app as moorage

    result = CliRunner().invoke(moorage, ["scheduler", *arguments])
    assert result.exit_code == 2
    assert answer in result.stderr


TIDE = """
from dataclasses import dataclass

from moorage.errors import InputError


@dataclass
class TideArgs:
    limit: int = 5


class Tide:
    args_type = TideArgs
    default_weight = 7

    def __init__(self, args):
        if args.limit > 10:
            raise InputError("expected 10 at most", where="limit")

    def score(self, state, pod, node):
        return 1
"""


def with_tide(folder: Path, *entries: str) -> tuple[str, str]:
    """A configuration with these pluginConfig entries, and how to name the plugin."""
    (folder / "tide.py").write_text(TIDE)
    path = folder / "config.yaml"
    lines = "".join(f"  - {entry}\n" for entry in entries)
    enabled = "  plugins: {multiPoint: {enabled: [{name: Tide}]}}\n"
    path.write_text(f"{GOOD}profiles:\n- schedulerName: s\n{enabled}  pluginConfig:\n{lines}")
    return str(path), f"{folder / 'tide.py'}:Tide"


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("{name: Tide, args: {limit: many}}", 'profiles[0].pluginConfig[0].args.limit: expected int, got str: "many"'),
        ("{name: Tide, args: {limt: 1}}", "profiles[0].pluginConfig[0].args.limt: unknown field; did you mean limit?"),
        (
            "{name: Tide, args: [1, 2]}",
            "profiles[0].pluginConfig[0].args: expected an object with the fields of TideArgs, got [1,2]",
        ),
        ("{name: Tide, args: {limit: 11}}", "plugin Tide: limit: expected 10 at most"),
    ],
)
def test_validate_checks_the_arguments_of_own_plugins(tmp_path: Path, entry: str, fault: str) -> None:
    file, plugin = with_tide(tmp_path, entry)
    result = run("validate", file, "--plugin", plugin)
    assert (result.exit_code, result.stderr) == (2, f"{file}: {fault}\n")


def test_arguments_for_a_plugin_nobody_knows_are_an_error_only_where_that_is_asked_for(tmp_path: Path) -> None:
    file, plugin = with_tide(tmp_path, "{name: Tyde, args: {limit: 1}}")
    problem = 'profiles[0].pluginConfig[0]: plugin "Tyde" does not exist; did you mean Tide?'
    lenient = run("validate", file, "--plugin", plugin)
    assert (lenient.exit_code, lenient.stderr) == (0, f"{file}: warning: {problem}\n")
    strict = run("validate", "--strict", file, "--plugin", plugin)
    assert (strict.exit_code, strict.stdout, strict.stderr) == (2, "", f"{file}: {problem}\n")


def test_a_plugin_weighs_what_it_says_where_the_file_says_nothing(tmp_path: Path) -> None:
    file, plugin = with_tide(tmp_path, "{name: Tide}")
    assert "Tide (7)" in run("view", file, "--plugin", plugin).stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("def events_to_register(self): return [7]", "events_to_register: answered 7; expected a list of on(...)"),
        ("reads = ('ConfigMap',)", "reads has 'ConfigMap': expected a kind"),
        ("writes = 'Pod'", "writes is 'Pod': expected a tuple of kinds"),
        ("def counters(self): return [1]", "counters answered 1: expected a list of PluginCounter"),
    ],
)
def test_validate_refuses_what_would_not_start(tmp_path: Path, said: str, problem: str) -> None:
    """Whatever `moorage scheduler` would refuse of a plugin is a fault here, too, with the plugin and its line."""
    plugin = tmp_path / "mine.py"
    plugin.write_text(f"class Mine:\n    {said}\n    def filter(self, state, pod, node): ...\n")
    config = tmp_path / "mine.yaml"
    config.write_text(GOOD + "profiles: [{plugins: {multiPoint: {enabled: [{name: Mine}]}}}]\n")
    result = run("validate", str(config), "--plugin", f"{plugin}:Mine")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{config}: plugin Mine: {problem}")
    assert "mine.py:" in result.stderr


def test_validate_tells_of_broken_packages_once(
    good: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    entries = EntryPoints([EntryPoint("Torn", "no_such_module:Torn", registry.ENTRY_POINT_GROUP)])
    monkeypatch.setattr(registry, "entry_points", lambda *, group: entries.select(group=group))
    assert run("validate", good, good).exit_code == 0
    assert len([one for one in caplog.messages if "Torn" in one]) == 1
