"""Configurations of v1alpha1 to v1beta3 in today's form."""

import json
from typing import Any

import pytest

from moorage.config import Config, ConfigErrors, load_config, parse_config
from moorage.config.oldversions import (
    PolicyConfigMap,
    PolicyFile,
    convert_document,
    named_policy,
    read_document,
)
from moorage.config.policy import Conversion

GROUP = "kubescheduler.config.k8s.io"
SAMPLE_POLICY = json.dumps(
    {
        "kind": "Policy",
        "apiVersion": "v1",
        "extenders": [
            {
                "urlPrefix": "http://localhost:8888/",
                "filterVerb": "filter",
                "prioritizeVerb": "prioritize",
                "weight": 1,
                "enableHttps": False,
            }
        ],
    }
)


def convert(version: str, policy: str | None = None, **fields: Any) -> Conversion:
    document = {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration", **fields}
    return convert_document(document, source="old.yaml", policy=policy, policy_source="p.json")


def converted(version: str, policy: str | None = None, **fields: Any) -> Config:
    return parse_config(convert(version, policy, **fields).document)


def test_the_pair_of_the_guides() -> None:
    """A v1alpha1 configuration and the policy it names: extenders, and the scheduler's name."""
    source = {"policy": {"file": {"path": "/etc/kubernetes/scheduler-extender-config/scheduler-extender-policy.json"}}}
    config = converted(
        "v1alpha1",
        SAMPLE_POLICY,
        schedulerName="lucky-scheduler",
        algorithmSource=source,
        clientConnection={"kubeconfig": "/etc/kubernetes/scheduler.conf"},
        leaderElection={"leaderElect": True, "lockObjectName": "lucky", "lockObjectNamespace": "apps"},
    )
    assert [extender.url_prefix for extender in config.extenders] == ["http://localhost:8888/"]
    assert config.profiles[0].scheduler_name == "lucky-scheduler"
    assert "NodeResourcesFit" in config.profiles[0].plugins.at("filter")
    assert config.client_connection.kubeconfig == "/etc/kubernetes/scheduler.conf"
    assert (config.leader_election.resource_name, config.leader_election.resource_namespace) == ("lucky", "apps")


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ({"policy": {"file": {"path": "p.json"}}}, PolicyFile("p.json")),
        ({"policy": {"configMap": {"namespace": "n", "name": "m"}}}, PolicyConfigMap("n", "m")),
        ({"provider": "DefaultProvider"}, None),
        ({}, None),
    ],
)
def test_named_policy(source: Any, named: Any) -> None:
    assert named_policy({"algorithmSource": source}) == named


@pytest.mark.parametrize("policy", [{}, {"file": {}}, {"file": {"path": "p"}, "configMap": {"name": "m"}}, 5])
def test_a_policy_that_is_nowhere_is_refused(policy: Any) -> None:
    with pytest.raises(ConfigErrors, match=r"algorithmSource\.policy"):
        named_policy({"algorithmSource": {"policy": policy}})


def test_fields_of_v1alpha1_move() -> None:
    config = converted(
        "v1alpha1",
        algorithmSource={"provider": "ClusterAutoscalerProvider"},
        hardPodAffinitySymmetricWeight=7,
        bindTimeoutSeconds=99,
        disablePreemption=True,
        healthzBindAddress="0.0.0.0:10251",
        plugins={"postFilter": {"disabled": [{"name": "TaintToleration"}]}},
    )
    (profile,) = config.profiles
    assert profile.args["InterPodAffinity"].hard_pod_affinity_weight == 7
    assert profile.args["VolumeBinding"].bind_timeout_seconds == 99
    assert profile.args["NodeResourcesFit"].scoring_strategy.type == "MostAllocated"
    assert profile.plugins.at("postFilter") == ("DynamicResources",)
    assert "TaintToleration" not in profile.plugins.at("preScore")


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(ConfigErrors, match="no provider"):
        convert("v1alpha1", algorithmSource={"provider": "Mine"})


def test_plugins_beside_a_policy_are_refused() -> None:
    with pytest.raises(ConfigErrors, match="together with a policy"):
        convert("v1alpha1", SAMPLE_POLICY, plugins={"filter": {"disabled": [{"name": "NodePorts"}]}})


def test_unreserve_joins_reserve() -> None:
    sets = {"reserve": {"enabled": [{"name": "Mine"}]}, "unreserve": {"enabled": [{"name": "Mine"}, {"name": "Yours"}]}}
    conversion = convert("v1alpha2", profiles=[{"plugins": sets}])
    (profile,) = conversion.document["profiles"]
    assert profile["plugins"]["reserve"]["enabled"] == [{"name": "Mine"}, {"name": "Yours"}]
    assert any("Mine" in note and "--plugin" in note for note in conversion.notes)


@pytest.mark.parametrize(
    ("score", "weight", "strategy"),
    [
        (
            {
                "disabled": [{"name": "NodeResourcesLeastAllocated"}],
                "enabled": [{"name": "NodeResourcesMostAllocated", "weight": 5}],
            },
            5,
            "MostAllocated",
        ),
        ({"enabled": [{"name": "NodeResourcesMostAllocated", "weight": 1}]}, 1, "MostAllocated"),
        ({"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesLeastAllocated"}]}, 1, "LeastAllocated"),
        ({"disabled": [{"name": "NodeResourcesLeastAllocated"}]}, None, "LeastAllocated"),
    ],
)
def test_resource_scores_of_v1beta1_become_a_strategy(score: Any, weight: int | None, strategy: str) -> None:
    config = converted("v1beta1", profiles=[{"plugins": {"score": score}}])
    (profile,) = config.profiles
    assert profile.plugins.score_weights.get("NodeResourcesFit") == weight
    assert profile.args["NodeResourcesFit"].scoring_strategy.type == strategy


def test_a_ratio_keeps_its_shape() -> None:
    args = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "RequestedToCapacityRatioArgs",
        "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
        "resources": [{"name": "intel.com/foo", "weight": 3}],
    }
    config = converted(
        "v1beta1",
        profiles=[
            {
                "plugins": {"score": {"enabled": [{"name": "RequestedToCapacityRatio", "weight": 4}]}},
                "pluginConfig": [{"name": "RequestedToCapacityRatio", "args": args}],
            }
        ],
    )
    strategy = config.profiles[0].args["NodeResourcesFit"].scoring_strategy
    assert strategy.type == "RequestedToCapacityRatio"
    assert [resource.name for resource in strategy.resources] == ["intel.com/foo"]
    assert strategy.requested_to_capacity_ratio.shape[1].score == 10


def test_labels_of_v1beta1_become_added_affinity() -> None:
    args = {"presentLabels": ["disk"], "absentLabels": ["old"], "presentLabelsPreference": ["fast"]}
    config = converted(
        "v1beta1",
        profiles=[
            {
                "plugins": {
                    "filter": {"enabled": [{"name": "NodeLabel"}]},
                    "score": {"enabled": [{"name": "NodeLabel", "weight": 3}]},
                },
                "pluginConfig": [{"name": "NodeLabel", "args": args}],
            }
        ],
    )
    affinity = config.profiles[0].args["NodeAffinity"].added_affinity
    assert affinity is not None
    assert config.profiles[0].plugins.score_weights["NodeAffinity"] == 3


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1beta3"])
def test_removed_plugins_go_with_a_note(version: str) -> None:
    conversion = convert(
        version,
        profiles=[
            {"plugins": {"filter": {"disabled": [{"name": "EBSLimits"}], "enabled": [{"name": "CinderLimits"}]}}}
        ],
    )
    assert any("CinderLimits" in note for note in conversion.notes)
    assert not any("EBSLimits" in note for note in conversion.notes)
    parse_config(conversion.document)


def test_arguments_and_extenders_of_v1beta2() -> None:
    args = {"apiVersion": f"{GROUP}/v1beta2", "kind": "InterPodAffinityArgs", "hardPodAffinityWeight": 100}
    config = converted(
        "v1beta2",
        profiles=[{"schedulerName": "gpu", "pluginConfig": [{"name": "InterPodAffinity", "args": args}]}],
        extenders=[
            {"urlPrefix": "http://127.0.0.1:32766/gpushare-scheduler", "filterVerb": "filter", "bindVerb": "bind"}
        ],
        leaderElection={"resourceLock": "endpointsleases"},
    )
    assert config.profiles[0].args["InterPodAffinity"].hard_pod_affinity_weight == 100
    assert config.extenders[0].bind_verb == "bind"
    assert config.leader_election.resource_lock == "leases"


def test_todays_form_stays() -> None:
    conversion = convert("v1", parallelism=4)
    assert conversion.document["parallelism"] == 4
    assert conversion.notes == ("the file is in today's form already",)


@pytest.mark.parametrize(
    "document",
    [
        {"apiVersion": f"{GROUP}/v1beta9", "kind": "KubeSchedulerConfiguration"},
        {"apiVersion": f"{GROUP}/v1beta1", "kind": "KubeProxyConfiguration"},
        {"apiVersion": f"{GROUP}/v1beta1", "kind": "KubeSchedulerConfiguration", "profiles": 5},
        {"apiVersion": f"{GROUP}/v1beta1", "kind": "KubeSchedulerConfiguration", "profiles": [{"plugins": [1]}]},
        {"apiVersion": f"{GROUP}/v1beta1", "kind": "KubeSchedulerConfiguration", "leaderElection": []},
        {"apiVersion": f"{GROUP}/v1beta1", "kind": "KubeSchedulerConfiguration", "parallelism": "many"},
    ],
)
def test_what_is_no_configuration_is_refused(document: Any) -> None:
    with pytest.raises(ConfigErrors):
        convert_document(document)


def test_reading_refuses_what_is_no_object() -> None:
    with pytest.raises(ConfigErrors, match="expected a KubeSchedulerConfiguration or a Policy"):
        read_document("[1]")


@pytest.mark.parametrize(
    "text",
    [
        SAMPLE_POLICY,
        f"apiVersion: {GROUP}/v1beta3\nkind: KubeSchedulerConfiguration\n",
        "apiVersion: componentconfig/v1alpha1\nkind: KubeSchedulerConfiguration\n",
    ],
)
def test_old_forms_are_answered_with_the_command(text: str) -> None:
    with pytest.raises(ConfigErrors, match=r"moorage config convert old\.yaml"):
        load_config(text, source="old.yaml")
