"""What files and flags make of the process; the configuration written out in full."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from moorage.cli.main import app
from moorage.config import features_of
from moorage.errors import InputError
from moorage.live.options import make_options
from moorage.values.duration import Duration

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "https://one.example:6443"}}],
    "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    "current-context": "c",
}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(KUBECONFIG))
    return str(path)


def config_file(folder: Path, **fields: Any) -> Path:
    path = folder / "config.yaml"
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    path.write_text(yaml.safe_dump({**head, **fields}))
    return path


def test_without_a_file_kube_schedulers_defaults_hold(kubeconfig: str) -> None:
    options = make_options(kubeconfig=kubeconfig)
    assert [profile.scheduler_name for profile in options.config.profiles] == ["default-scheduler"]
    assert options.access.server == "https://one.example:6443"
    election = options.election
    assert election is not None
    assert (election.namespace, election.name) == ("kube-system", "kube-scheduler")


def test_flags_of_the_election_win_over_the_file(tmp_path: Path, kubeconfig: str) -> None:
    path = config_file(tmp_path, leaderElection={"leaderElect": True, "resourceName": "of-the-file"})
    fields = {"lease_duration": Duration.of_seconds(30), "resource_name": "of-the-flag"}
    election = make_options(config_file=path, kubeconfig=kubeconfig, leader_election=fields).election
    assert election is not None
    assert (election.name, election.lease_duration) == ("of-the-flag", 30.0)
    options = make_options(config_file=path, kubeconfig=kubeconfig, leader_election={"leader_elect": False})
    assert options.election is None
    assert options.document["leaderElection"]["leaderElect"] is False


def test_a_kubeconfig_in_the_file_wins_over_the_flag(tmp_path: Path, kubeconfig: str) -> None:
    with pytest.raises(InputError, match="nowhere"):
        make_options(
            config_file=config_file(tmp_path, clientConnection={"kubeconfig": "/nowhere"}), kubeconfig=kubeconfig
        )


def test_an_election_that_cannot_work_is_refused_before_it_begins(tmp_path: Path, kubeconfig: str) -> None:
    fields = {"lease_duration": Duration.of_seconds(5)}
    with pytest.raises(InputError, match=r"leaderElection\.leaseDuration"):
        make_options(kubeconfig=kubeconfig, leader_election=fields)


def test_a_missing_file_is_named(kubeconfig: str) -> None:
    with pytest.raises(InputError, match=r"missing\.yaml: No such file"):
        make_options(config_file=Path("missing.yaml"), kubeconfig=kubeconfig)


def test_a_plugin_of_ones_own_can_be_configured(tmp_path: Path, kubeconfig: str) -> None:
    source = tmp_path / "mine.py"
    source.write_text(
        "class Mine:\n    def __init__(self, args, handle): ...\n    def filter(self, state, pod, node): return None\n"
    )
    profile = {"schedulerName": "mine", "plugins": {"filter": {"enabled": [{"name": "Mine"}]}}}
    path = config_file(tmp_path, profiles=[profile])
    options = make_options(config_file=path, kubeconfig=kubeconfig, plugins=[f"{source}:Mine"])
    assert "Mine" in options.config.profiles[0].plugins.at("filter")
    with pytest.raises(InputError, match='"Mine" does not exist'):
        make_options(config_file=path, kubeconfig=kubeconfig)


def test_the_configuration_can_be_written_out_in_full(tmp_path: Path, kubeconfig: str) -> None:
    out = tmp_path / "full.yaml"
    flags = ["--kubeconfig", kubeconfig, "--leader-elect=false", "--write-config-to", str(out)]
    result = CliRunner().invoke(app, ["scheduler", *flags])
    assert result.exit_code == 0, result.output
    document = yaml.safe_load(out.read_text())
    assert document["kind"] == "KubeSchedulerConfiguration"
    assert document["leaderElection"]["leaseDuration"] == "15s"
    assert document["leaderElection"]["leaderElect"] is False
    assert document["podMaxBackoffSeconds"] == 10
    # What was written is a configuration, and the same one.
    again = make_options(config_file=out, kubeconfig=kubeconfig)
    assert again.config.profiles == make_options(kubeconfig=kubeconfig).config.profiles


def test_version_and_gates_choose_what_the_configuration_means(tmp_path: Path, kubeconfig: str) -> None:
    out = tmp_path / "full.yaml"
    shapes = {}
    for version in ("1.36", "1.37"):
        flags = ["--emulated-version", version, "--write-config-to", str(out)]
        assert CliRunner().invoke(app, ["scheduler", "--kubeconfig", kubeconfig, *flags]).exit_code == 0
        configured = yaml.safe_load(out.read_text())["profiles"][0]["pluginConfig"]
        shapes[version] = next(one["args"].get("shape") for one in configured if one["name"] == "VolumeBinding")
    assert shapes == {"1.36": None, "1.37": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]}
    options = make_options(kubeconfig=kubeconfig, features=features_of("1.37", {"SchedulerPopFromBackoffQ": False}))
    assert options.config.features.changed() == {"SchedulerPopFromBackoffQ": False}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--leader-elect=perhaps"], "neither true nor false"),
        (["--leader-elect-lease-duration=soon"], "not a duration"),
        (["--config=missing.yaml"], "missing.yaml: No such file"),
        (["--plugin=nothing"], "expected module:Class"),
        (["--secure-port=70000"], "65535"),
        (["--emulated-version=1.2"], "--emulated-version: version"),
        (["--feature-gates=DynamicResourceAllocation=false"], "has it locked to true"),
    ],
)
def test_a_bad_flag_ends_with_status_2_and_says_why(kubeconfig: str, flags: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["scheduler", "--kubeconfig", kubeconfig, *flags])
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())
