"""kube-scheduler's rules beyond those the recorded configurations cover: its paths, its words."""

from typing import Any

import pytest

from moorage.config import DEFAULT_FEATURES, ConfigErrors, Features, features_of, parse_config

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
ARGS = "profiles[0].pluginConfig[0].args"
REQUIRED = f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"


def faults(features: Features = DEFAULT_FEATURES, **fields: Any) -> list[str]:
    with pytest.raises(ConfigErrors) as refused:
        parse_config({**HEADER, **fields}, features=features)
    assert refused.value.stage == "validate"
    return [str(fault) for fault in refused.value.faults]


def with_args(plugin: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"profiles": [{"pluginConfig": [{"name": plugin, "args": args}]}]}


def required_term(term: dict[str, Any]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": [term]}
    return with_args("NodeAffinity", {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}})


def test_all_faults_at_once() -> None:
    found = faults(parallelism=0, percentageOfNodesToScore=101, podInitialBackoffSeconds=20)
    assert found == [
        "parallelism: Invalid value: 0: should be an integer value greater than zero",
        "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to podInitialBackoffSeconds (20)",
    ]


def test_leader_election() -> None:
    assert faults(leaderElection={"leaseDuration": "5s", "retryPeriod": "-1s"}) == [
        'leaderElection.retryPeriod: Invalid value: "-1s": must be greater than zero',
        'leaderElection.leaseDuration: Invalid value: "5s": must be greater than renewDeadline (10s)',
    ]
    off = {"leaderElect": False, "leaseDuration": "-5s", "resourceLock": "endpoints"}
    assert not parse_config({**HEADER, "leaderElection": off}).leader_election.leader_elect


def test_names_of_profiles() -> None:
    assert faults(profiles=[{}, {"schedulerName": "a"}, {"schedulerName": "a"}]) == [
        "profiles[0].schedulerName: Required value",
        'profiles[2].schedulerName: Duplicate value: "a"',
    ]


def test_removed_plugins() -> None:
    profile = {
        "plugins": {"score": {"enabled": [{"name": "EBSLimits"}]}},
        "pluginConfig": [{"name": "GCEPDLimits"}],
    }
    found = faults(profiles=[profile])
    assert [line.partition(":")[0] for line in found] == [
        "profiles[0].plugins.score.enabled[0]",
        "profiles[0].pluginConfig[0]",
    ]
    assert 'was invalid in version "v1"' in found[0]


def test_common_queue_sort() -> None:
    sort = {"queueSort": {"enabled": [{"name": "PrioritySort"}]}}
    first = {"schedulerName": "a", "plugins": sort, "pluginConfig": [{"name": "PrioritySort", "args": {"x": 1}}]}
    other = {**first, "schedulerName": "b", "pluginConfig": [{"name": "PrioritySort", "args": {"x": 2}}]}
    found = faults(profiles=[first, {"schedulerName": "c"}, other])
    assert [line.partition(":")[0] for line in found] == [
        "profiles[1].plugins.queueSort",
        "profiles[2].pluginConfig.args",
    ]


@pytest.mark.parametrize(
    ("expression", "path", "problem"),
    [
        ({"key": "a", "operator": "In"}, "values", "values set can't be empty"),
        ({"key": "a", "operator": "Exists", "values": ["x"]}, "values", "must be empty"),
        ({"key": "a", "operator": "Gt", "values": ["1", "2"]}, "values", "exactly one value"),
        ({"key": "a", "operator": "Lt", "values": ["x"]}, "values[0]", "must be an integer"),
        ({"key": "a b", "operator": "Exists"}, "key", "name part must consist"),
        ({"key": "a", "operator": "In", "values": ["x y"]}, "values[0][a]", "a valid label must be"),
        ({"key": "a", "operator": "Near"}, "operator", 'supported values: "In", "NotIn", "Exists"'),
    ],
)
def test_added_affinity_expressions(expression: dict[str, Any], path: str, problem: str) -> None:
    (found,) = faults(**required_term({"matchExpressions": [expression]}))
    assert found.startswith(f"{REQUIRED}.matchExpressions[0].{path}: ")
    assert problem in found


def test_added_affinity_fields() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}, {"key": "x", "operator": "Exists"}]
    assert faults(**required_term({"matchFields": fields})) == [
        f'{REQUIRED}.matchFields[0].values: Invalid value: ["a","b"]: must have one element',
        f'{REQUIRED}.matchFields[1].operator: Unsupported value: "Exists": supported values: "In", "NotIn"',
    ]


def test_wishes_without_weight_are_not_looked_at() -> None:
    wrong = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    wishes = [{"weight": 0, "preference": wrong}, {"weight": 1, "preference": wrong}]
    args = {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wishes}}
    (found,) = faults(**with_args("NodeAffinity", args))
    path = f"{ARGS}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].matchExpressions[0].operator"
    assert found.startswith(f"{path}: ")


def test_timeouts_of_dynamic_resources() -> None:
    args = {"filterTimeout": "-1s", "bindingTimeout": "999ms"}
    assert faults(**with_args("DynamicResources", args)) == [
        f'{ARGS}.filterTimeout: Invalid value: "-1s": must be zero or positive',
        f'{ARGS}.bindingTimeout: Invalid value: "999ms": must be at least 1 second',
    ]
    without = Features("1.36", frozenset({"DynamicResourceAllocation"}))
    off = faults(without, **with_args("DynamicResources", args))
    assert [line.partition(": ")[2].partition(":")[0] for line in off] == ["Forbidden", "Forbidden"]


def test_volume_binding_shape_under_its_gate() -> None:
    features = features_of("1.36", {"StorageCapacityScoring": True})
    shape = [{"utilization": 50, "score": 11}, {"utilization": 50, "score": 0}]
    assert faults(features, **with_args("VolumeBinding", {"shape": shape})) == [
        f"{ARGS}.shape[1].utilization: Invalid value: 50: values must be sorted in increasing order",
        f"{ARGS}.shape[0].score: Invalid value: 11: not in valid range [0, 10]",
    ]
    without = features_of("1.36")
    assert faults(without, **with_args("VolumeBinding", {"shape": []}))[0].startswith(
        f"{ARGS}.shape: Invalid value: []"
    )


def test_spread_constraints() -> None:
    constraint = {"maxSkew": 1, "topologyKey": "a b", "whenUnsatisfiable": ""}
    args = {"defaultingType": "List", "defaultConstraints": [constraint]}
    found = faults(**with_args("PodTopologySpread", args))
    assert [line.partition(":")[0] for line in found] == [
        f"{ARGS}.defaultConstraints[0].topologyKey",
        f"{ARGS}.defaultConstraints[0].whenUnsatisfiable",
    ]


@pytest.mark.parametrize("name", ["", "a/b/c", "cpu", "kubernetes.io/x", "requests.a.com/x", "a.com/x y"])
def test_managed_resources_must_be_extended(name: str) -> None:
    found = faults(extenders=[{"managedResources": [{"name": name}]}])
    assert {line.partition(":")[0] for line in found} == {"extenders[0].managedResources[0].name"}
