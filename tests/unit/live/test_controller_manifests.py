"""What comes along with the scheduler's manifests where a configuration enables plugins of our own."""

from typing import Any

from moorage.config import parse_config
from moorage.controllers.running import OF_OUR_OWN
from moorage.engine.engine import default_registry
from moorage.live.controllermanifests import COMPANIONS, all_definitions, companions
from moorage.live.manifests import Deployment, default_document, manifests


def made(*plugins: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    document = default_document("mine")
    document["profiles"][0]["plugins"] = {"multiPoint": {"enabled": [{"name": name} for name in plugins]}}
    return companions(parse_config(document, known=default_registry().known), Deployment("mine", "tools"))


def test_nothing_comes_along_with_the_default_configuration() -> None:
    assert made() == ([], [])


def test_the_definition_and_the_controllers_come_along() -> None:
    before, after = made("StickyJob")
    assert [one["metadata"]["name"] for one in before] == ["stickyjobs.example.com"]
    kinds = {one["kind"]: one for one in after}
    assert list(kinds) == ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Deployment"]
    args = kinds["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[:2] == ["controllers", "stickyjob"]
    assert "--scheduler-name=mine" in args
    assert "--lease-namespace=tools" in args
    assert kinds["Role"]["rules"][1]["resourceNames"] == ["mine-controllers"]


def test_the_scheduler_may_read_the_jobs_where_it_needs_them() -> None:
    document = default_document("mine")
    document["profiles"][0]["plugins"] = {"multiPoint": {"enabled": [{"name": "StickyJob"}, {"name": "WarmSeats"}]}}
    role = next(
        one for one in manifests(document, default_registry(), Deployment("mine")) if one["kind"] == "ClusterRole"
    )
    rules = [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in role["rules"]]
    assert (["example.com"], ["stickyjobs"], ["get", "list", "watch"]) in rules
    assert ([""], ["events"], ["list"]) in rules


def test_every_controller_of_our_own_has_a_plugin_that_brings_it() -> None:
    assert {controller for _, controller in COMPANIONS.values()} == set(OF_OUR_OWN)
    assert len(all_definitions()) == len(COMPANIONS)


def test_gangs_by_label_bring_their_definition_and_its_controller_with_no_more_rights_than_they_need() -> None:
    document = default_document("mine")
    document["profiles"][0]["plugins"] = {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
    }
    before, after = companions(parse_config(document, known=default_registry().known), Deployment("mine", "tools"))
    assert [one["metadata"]["name"] for one in before] == ["podgroups.scheduling.x-k8s.io"]
    roles = {one["metadata"]["name"]: one["rules"] for one in after if one["kind"] == "ClusterRole"}
    assert roles["mine-controllers"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups/status"], "verbs": ["patch"]},
    ]
    scheduler = next(
        one for one in manifests(document, default_registry(), Deployment("mine")) if one["kind"] == "ClusterRole"
    )
    rules = [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in scheduler["rules"]]
    assert (["scheduling.x-k8s.io"], ["podgroups"], ["get", "list", "watch"]) in rules
    assert (["scheduling.x-k8s.io"], ["podgroups/status"], ["patch"]) in rules
