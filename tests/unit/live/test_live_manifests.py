"""Manifests: what deploy/ holds is what the command prints, and rights follow the configuration."""

from pathlib import Path
from typing import Any

import yaml

from moorage.engine.engine import default_registry
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
