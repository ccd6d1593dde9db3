"""What a file leaves out, and the user's plugins merged with the default ones."""

from typing import Any

import pytest

from moorage.config import (
    DEFAULT_FEATURES,
    Config,
    DynamicResourcesArgs,
    Features,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    VolumeBindingArgs,
    default_config,
    features_of,
    parse_config,
)
from moorage.config.defaults import default_plugins, merge_plugin_set
from moorage.config.types import Plugin, PluginSet
from moorage.values.duration import Duration

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def config_with_args(plugin: str, args: dict[str, Any]) -> Config:
    return parse_config({**HEADER, "profiles": [{"pluginConfig": [{"name": plugin, "args": args}]}]})


def args_of(plugin: str, args: dict[str, Any]) -> Any:
    return config_with_args(plugin, args).profiles[0].args[plugin]


def test_top_level() -> None:
    config = default_config()
    assert config.leader_election.leader_elect
    assert config.leader_election.lease_duration == Duration.of_seconds(15)
    assert config.leader_election.resource_name == "kube-scheduler"
    assert config.client_connection.qps == 50.0
    assert config.enable_profiling
    assert config.enable_contention_profiling
    assert not config.delay_cache_until_active


def test_zeros_are_filled_where_kubernetes_cannot_tell_them_from_nothing() -> None:
    election = {"leaseDuration": "0s", "resourceLock": "", "resourceNamespace": ""}
    config = parse_config(
        {
            **HEADER,
            "leaderElection": election,
            "clientConnection": {"qps": 0, "burst": 0, "contentType": ""},
            "extenders": [{"httpTimeout": "0s"}],
        }
    )
    assert config.leader_election == default_config().leader_election
    assert config.client_connection == default_config().client_connection
    assert config.extenders[0].http_timeout == Duration.of_seconds(5)


def test_contention_profiling_follows_profiling() -> None:
    assert not parse_config({**HEADER, "enableProfiling": False}).enable_contention_profiling
    both = {**HEADER, "enableProfiling": False, "enableContentionProfiling": True}
    assert parse_config(both).enable_contention_profiling


def test_percentage_of_a_profile() -> None:
    profiles = [{"schedulerName": "a", "percentageOfNodesToScore": 0}, {"schedulerName": "b"}]
    config = parse_config({**HEADER, "percentageOfNodesToScore": 30, "profiles": profiles})
    assert [profile.percentage_of_nodes_to_score for profile in config.profiles] == [0, None]
    assert config.percentage_of_nodes_to_score == 30


def test_every_enabled_plugin_with_args_has_them() -> None:
    args = default_config().profiles[0].args
    assert args["NodeResourcesFit"] == NodeResourcesFitArgs()
    assert args["NodeResourcesFit"].scoring_strategy.type == "LeastAllocated"
    assert args["NodeResourcesFit"].scoring_strategy.resources == (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))
    assert args["DefaultPreemption"].min_candidate_nodes_absolute == 100
    assert args["DynamicResources"] == DynamicResourcesArgs(Duration.of_seconds(10), Duration.of_seconds(600))
    assert list(args) == sorted(args)
    assert "ImageLocality" not in args


def test_args_given_in_part() -> None:
    fit = args_of("NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "x"}]}})
    assert fit.scoring_strategy.resources == (ResourceSpec("x", 1),)
    fit = args_of("NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated", "resources": []}})
    assert fit.scoring_strategy.resources == (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))
    balanced = args_of("NodeResourcesBalancedAllocation", {"resources": [{"name": "x", "weight": 0}]})
    assert balanced == NodeResourcesBalancedAllocationArgs((ResourceSpec("x", 1),))
    assert args_of("PodTopologySpread", {"defaultingType": ""}) == PodTopologySpreadArgs(defaulting_type="System")
    assert args_of("VolumeBinding", {"bindTimeoutSeconds": 0}).bind_timeout_seconds == 0


def test_gates_change_the_defaults() -> None:
    gates = ("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling", "StorageCapacityScoring")
    profile = default_config(features=features_of("1.36", dict.fromkeys(gates, True))).profiles[0]
    assert profile.plugins.at("permit") == ("GangScheduling",)
    assert profile.plugins.at("placementGenerate") == ("TopologyPlacementGenerator",)
    assert profile.plugins.placement_score_weights == {"NodeResourcesFit": 1, "PodGroupPodsCount": 1}
    volume_binding = profile.args["VolumeBinding"]
    assert isinstance(volume_binding, VolumeBindingArgs)
    assert volume_binding.shape is not None
    bare = default_config(features=Features("1.36", frozenset())).profiles[0]
    assert "DynamicResources" not in bare.plugins.names
    assert "NodeDeclaredFeatures" not in bare.plugins.names


def test_extenders_replace_ignored_resources_in_every_profile() -> None:
    fit = {"name": "NodeResourcesFit", "args": {"ignoredResources": ["b.com/y"]}}
    resource = {"name": "a.com/x", "ignoredByScheduler": True}
    config = parse_config(
        {
            **HEADER,
            "profiles": [{"schedulerName": "one", "pluginConfig": [fit]}, {"schedulerName": "two"}],
            "extenders": [{"managedResources": [resource, {"name": "a.com/z"}]}],
        }
    )
    for profile in config.profiles:
        assert profile.args["NodeResourcesFit"].ignored_resources == ("a.com/x",)


def names(plugins: PluginSet) -> list[tuple[str, int]]:
    return [(plugin.name, plugin.weight) for plugin in plugins.enabled]


DEFAULTS = PluginSet((Plugin("A"), Plugin("B", 2), Plugin("C")))


@pytest.mark.parametrize(
    ("custom", "merged"),
    [
        (PluginSet(), [("A", 0), ("B", 2), ("C", 0)]),
        (PluginSet((Plugin("D", 5),)), [("A", 0), ("B", 2), ("C", 0), ("D", 5)]),
        (PluginSet((Plugin("B", 7),)), [("A", 0), ("B", 7), ("C", 0)]),
        (PluginSet((Plugin("B"),)), [("A", 0), ("B", 0), ("C", 0)]),
        (PluginSet((), (Plugin("B"),)), [("A", 0), ("C", 0)]),
        (PluginSet((Plugin("B"),), (Plugin("B"),)), [("A", 0), ("C", 0), ("B", 0)]),
        (PluginSet((Plugin("D"),), (Plugin("*"),)), [("D", 0)]),
        (PluginSet((Plugin("B", 7), Plugin("B", 8))), [("A", 0), ("B", 8), ("C", 0), ("B", 7)]),
    ],
)
def test_merging(custom: PluginSet, merged: list[tuple[str, int]]) -> None:
    assert names(merge_plugin_set(DEFAULTS, custom)) == merged


def test_merging_keeps_the_disabled_names() -> None:
    merged = merge_plugin_set(DEFAULTS, PluginSet((), (Plugin("B", 3), Plugin("*"))))
    assert [plugin.name for plugin in merged.disabled] == ["B", "*"]


def test_dynamic_resources_comes_before_preemption() -> None:
    enabled = [plugin.name for plugin in default_plugins(DEFAULT_FEATURES).multi_point.enabled]
    assert enabled.index("DynamicResources") + 1 == enabled.index("DefaultPreemption")
    assert enabled[-1] == "NodeDeclaredFeatures"
