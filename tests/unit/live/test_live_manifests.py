"""Manifests: what deploy/ holds is what the command prints, and rights follow the configuration."""

import re
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from moorage.cli.main import app
from moorage.config import features_of
from moorage.config.gates import DEFAULT_VERSION, VERSIONS
from moorage.engine.engine import default_registry
from moorage.errors import InputError
from moorage.framework import registry as registry_module
from moorage.live.manifests import Deployment, default_document, manifests

BASE = Path(__file__).parents[3] / "deploy" / "base"


def made(document: dict[str, Any] | None = None, **names: Any) -> dict[str, dict[str, Any]]:
    deployment = Deployment(**names)
    document = document or default_document(deployment.name)
    return {one["kind"]: one for one in manifests(document, default_registry(), deployment)}


def profile(name: str, **plugins: Any) -> dict[str, Any]:
    return {**default_document(name), "profiles": [{"schedulerName": name, "plugins": plugins}]}


def verbs(role: dict[str, Any], resource: str) -> set[str]:
    return {verb for rule in role["rules"] if resource in rule["resources"] for verb in rule["verbs"]}


def test_the_kustomize_base_is_what_the_command_prints() -> None:
    names = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
    held = [tree for name in names for tree in yaml.safe_load_all((BASE / name).read_text())]
    assert {one["kind"]: one for one in held} == made()


def test_what_no_plugin_does_is_not_allowed() -> None:
    everything = made()["ClusterRole"]
    assert verbs(everything, "pods") == {"get", "list", "watch", "delete"}
    assert verbs(everything, "persistentvolumeclaims") == {"get", "list", "watch", "patch"}
    frugal = made(profile("frugal", multiPoint={"disabled": [{"name": "DefaultPreemption"}]}))["ClusterRole"]
    assert verbs(frugal, "poddisruptionbudgets") == set()
    volumes = ("VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits")
    plain = made(profile("plain", multiPoint={"disabled": [{"name": name} for name in volumes]}))["ClusterRole"]
    assert verbs(plain, "persistentvolumeclaims") == set()
    assert verbs(plain, "csinodes") == set()


def test_version_and_gates_are_passed_on_where_they_are_not_the_default() -> None:
    def arguments(**names: Any) -> list[str]:
        containers = made(**names)["Deployment"]["spec"]["template"]["spec"]["containers"]
        return [one for one in containers[0]["args"] if "version" in one or "gates" in one]

    assert arguments() == []
    other = next(version for version in VERSIONS if version != DEFAULT_VERSION)
    features = features_of(other, {"SchedulerPopFromBackoffQ": False, "TaintTolerationComparisonOperators": True})
    assert arguments(features=features) == [
        f"--emulated-version={other}",
        "--feature-gates=SchedulerPopFromBackoffQ=false,TaintTolerationComparisonOperators=true",
    ]


def test_a_scheduler_beside_another_has_a_lease_of_its_own() -> None:
    config = yaml.safe_load(made()["ConfigMap"]["data"]["config.yaml"])
    assert config["leaderElection"]["resourceName"] == "moorage-scheduler"
    role = made()["Role"]
    assert role["rules"][1]["resourceNames"] == ["moorage-scheduler"]


def test_a_scheduler_in_kube_schedulers_place_takes_its_lease() -> None:
    role = made(default_document("default-scheduler"))["Role"]
    assert role["metadata"]["namespace"] == "kube-system"
    assert role["rules"][1]["resourceNames"] == ["kube-scheduler"]


def test_without_election_there_is_one_replica_and_no_lease() -> None:
    document = {**default_document("alone"), "leaderElection": {"leaderElect": False}}
    kinds = made(document)
    assert "Role" not in kinds
    assert kinds["Deployment"]["spec"]["replicas"] == 1


PLUGIN = "class {name}:\n    def filter(self, state, pod, node): ...\n"


def test_plugin_files_are_shipped_and_named_where_they_will_be(tmp_path: Path) -> None:
    (tmp_path / "tide.py").write_text(PLUGIN.format(name="Tide") + PLUGIN.format(name="Ebb"))
    references = (f"{tmp_path}/tide.py:Tide", f"{tmp_path}/tide.py:Ebb", "harbor.plugins:Quay")
    trees = made(plugins=references)
    assert trees["ConfigMap"]["data"]["tide.py"] == (tmp_path / "tide.py").read_text()
    args = trees["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
    shipped = ["/etc/moorage/tide.py:Tide", "/etc/moorage/tide.py:Ebb", "harbor.plugins:Quay"]
    assert [one for one in args if one.startswith("--plugin")] == [f"--plugin={one}" for one in shipped]


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("a/tide.py", "b/tide.py"), "two plugin files are called tide.py: rename one"),
        (("high tide.py",), "'high tide.py' cannot be a key of a ConfigMap: rename the file"),
        (("big.py",), "the plugin files do not fit into a ConfigMap: put them into the image as a package"),
    ],
)
def test_plugin_files_that_cannot_be_shipped(tmp_path: Path, names: tuple[str, ...], problem: str) -> None:
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(PLUGIN.format(name="Tide") + ("#" * 1_000_000 if name == "big.py" else ""))
    with pytest.raises(InputError, match=re.escape(problem)):
        made(plugins=tuple(f"{tmp_path / name}:Tide" for name in names))


def test_a_plugin_file_that_imports_its_neighbour_would_not_start(tmp_path: Path) -> None:
    (tmp_path / "moon.py").write_text("")
    (tmp_path / "tide.py").write_text("import moon\n" + PLUGIN.format(name="Tide"))
    with pytest.raises(
        InputError, match=r"tide\.py:Tide: imports moon, which would not be shipped: a plugin in a file"
    ):
        made(plugins=(f"{tmp_path}/tide.py:Tide",))


def test_what_the_image_has_to_hold_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package of a plugin that an entry point offers, where it is enabled; and what a file imports."""
    (tmp_path / "harbors.py").write_text(PLUGIN.format(name="Quay"))
    (tmp_path / "tide.py").write_text("import hypothesis\n" + PLUGIN.format(name="Tide"))
    monkeypatch.syspath_prepend(tmp_path)
    entries = EntryPoints([EntryPoint("Quay", "harbors:Quay", registry_module.ENTRY_POINT_GROUP)])
    monkeypatch.setattr(registry_module, "entry_points", lambda *, group: entries.select(group=group))
    config = tmp_path / "scheduler.yaml"
    config.write_text(yaml.dump(profile("mine", multiPoint={"enabled": [{"name": "Quay"}]})))
    command = ["manifests", "--plugin", f"{tmp_path}/tide.py:Tide"]
    assert CliRunner().invoke(app, command).stderr.splitlines() == [
        f"note: the image moorage:latest must have hypothesis installed, for {tmp_path}/tide.py:Tide"
    ]
    told = CliRunner().invoke(app, ["manifests", "--config", str(config)])
    assert told.stderr.splitlines() == ["note: the image moorage:latest must have harbors installed, for plugin Quay"]
