"""Old Policy files in today's form."""

import json
from typing import Any

import pytest

from moorage.config import ConfigErrors, Profile, parse_config
from moorage.config.policy import Conversion, convert_policy


def convert(**fields: Any) -> Conversion:
    return convert_policy(json.dumps({"kind": "Policy", "apiVersion": "v1", **fields}), source="p.json")


def profile(**fields: Any) -> Profile:
    return parse_config(convert(**fields).document).profiles[0]


def faults(**fields: Any) -> list[str]:
    with pytest.raises(ConfigErrors) as refused:
        convert(**fields)
    return [fault.path for fault in refused.value.faults]


def test_absent_lists_stand_for_the_defaults() -> None:
    plugins = profile().plugins
    assert plugins.at("filter") == (
        "NodeUnschedulable",
        "NodeResourcesFit",
        "NodeName",
        "NodePorts",
        "NodeAffinity",
        "VolumeRestrictions",
        "TaintToleration",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
    )
    assert plugins.at("preBind") == ("VolumeBinding",)
    assert plugins.score_weights == {
        "PodTopologySpread": 2,
        "InterPodAffinity": 1,
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "NodeAffinity": 1,
        "TaintToleration": 1,
        "ImageLocality": 1,
    }


def test_empty_lists_leave_what_is_mandatory() -> None:
    plugins = profile(predicates=[], priorities=[]).plugins
    assert plugins.at("filter") == ("NodeUnschedulable", "TaintToleration")
    assert plugins.at("score") == ()
    assert plugins.at("queueSort") == ("PrioritySort",)
    assert plugins.at("postFilter") == ("DefaultPreemption",)
    assert plugins.at("bind") == ("DefaultBinder",)
    assert plugins.at("preEnqueue") == ("SchedulingGates", "DefaultPreemption")


def test_predicates_run_in_their_own_order() -> None:
    asked = [{"name": "MatchInterPodAffinity"}, {"name": "PodFitsPorts"}, {"name": "HostName"}]
    plugins = profile(predicates=asked, priorities=[]).plugins
    assert plugins.at("filter") == ("NodeUnschedulable", "NodeName", "NodePorts", "TaintToleration", "InterPodAffinity")
    assert plugins.at("preFilter") == ("NodePorts", "InterPodAffinity")


@pytest.mark.parametrize(
    ("priority", "strategy"),
    [("LeastRequestedPriority", "LeastAllocated"), ("MostRequestedPriority", "MostAllocated")],
)
def test_resource_priorities_become_scoring_strategies(priority: str, strategy: str) -> None:
    converted = profile(priorities=[{"name": priority, "weight": 4}])
    assert converted.plugins.score_weights == {"NodeResourcesFit": 4}
    assert converted.args["NodeResourcesFit"].scoring_strategy.type == strategy


def test_of_several_strategies_the_heaviest_stays() -> None:
    both = [{"name": "LeastRequestedPriority", "weight": 1}, {"name": "MostRequestedPriority", "weight": 2}]
    conversion = convert(priorities=both)
    assert any(note.startswith("LeastRequestedPriority is left out") for note in conversion.notes)
    converted = parse_config(conversion.document).profiles[0]
    assert converted.args["NodeResourcesFit"].scoring_strategy.type == "MostAllocated"


def test_requested_to_capacity_ratio() -> None:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    ratio = {"shape": shape, "resources": [{"name": "a.com/gpu", "weight": 3}]}
    argument = {"requestedToCapacityRatioArguments": ratio}
    converted = profile(priorities=[{"name": "MyRatio", "weight": 2, "argument": argument}])
    strategy = converted.args["NodeResourcesFit"].scoring_strategy
    assert strategy.type == "RequestedToCapacityRatio"
    assert strategy.resources[0].name == "a.com/gpu"
    assert [point.score for point in strategy.requested_to_capacity_ratio.shape] == [0, 10]
    assert converted.plugins.score_weights == {"NodeResourcesFit": 2}


def test_labels_presence_becomes_added_affinity() -> None:
    present = {"name": "Zone", "argument": {"labelsPresence": {"labels": ["zone"], "presence": True}}}
    absent = {"name": "Old", "argument": {"labelsPresence": {"labels": ["retiring"], "presence": False}}}
    converted = profile(predicates=[present, absent], priorities=[])
    assert "NodeAffinity" in converted.plugins.at("filter")
    affinity = converted.args["NodeAffinity"].added_affinity
    (term,) = affinity.required_during_scheduling_ignored_during_execution.node_selector_terms
    assert [(item.key, item.operator) for item in term.match_expressions] == [
        ("zone", "Exists"),
        ("retiring", "DoesNotExist"),
    ]


def test_label_preferences_become_wishes() -> None:
    wishes = [
        {"name": label, "weight": 3, "argument": {"labelPreference": {"label": label, "presence": True}}}
        for label in ("ssd", "fast")
    ]
    converted = profile(priorities=wishes)
    preferred = converted.args["NodeAffinity"].added_affinity.preferred_during_scheduling_ignored_during_execution
    assert [wish.preference.match_expressions[0].key for wish in preferred] == ["ssd", "fast"]
    assert converted.plugins.score_weights == {"NodeAffinity": 6}


def test_spreading() -> None:
    selector = convert(priorities=[{"name": "ServiceSpreadingPriority", "weight": 1}])
    assert parse_config(selector.document).profiles[0].args["PodTopologySpread"].defaulting_type == "System"
    assert any("SelectorSpreadPriority was removed" in note for note in selector.notes)
    even = profile(priorities=[{"name": "EvenPodsSpreadPriority", "weight": 2}])
    assert even.args["PodTopologySpread"].defaulting_type == "List"
    assert even.plugins.at("preScore") == ("PodTopologySpread",)


def test_what_has_no_equivalent_is_noted() -> None:
    conversion = convert(
        predicates=[
            {"name": "MaxEBSVolumeCount"},
            {"name": "Svc", "argument": {"serviceAffinity": {"labels": ["rack"]}}},
        ],
        priorities=[
            {"name": "NodePreferAvoidPodsPriority", "weight": 1},
            {"name": "EqualPriority", "weight": 1},
            {"name": "Anti", "weight": 1, "argument": {"serviceAntiAffinity": {"label": "zone"}}},
        ],
        alwaysCheckAllPredicates=True,
        hardPodAffinitySymmetricWeight=5,
    )
    notes = "\n".join(conversion.notes)
    for word in ("MaxEBSVolumeCount", "Svc", "NodePreferAvoidPodsPriority", "EqualPriority", "Anti"):
        assert word in notes
    assert "alwaysCheckAllPredicates has no equivalent" in notes
    assert "hardPodAffinitySymmetricWeight had no effect" in notes


def test_hard_pod_affinity_weight() -> None:
    assert profile(hardPodAffinitySymmetricWeight=7).args["InterPodAffinity"].hard_pod_affinity_weight == 7
    assert profile().args["InterPodAffinity"].hard_pod_affinity_weight == 1


def test_extenders_whatever_the_case_of_their_fields() -> None:
    extender = {
        "URLPrefix": "http://127.0.0.1:8888",
        "apiVersion": "v1beta1",
        "BindVerb": "bind",
        "enableHttps": True,
        "httpTimeout": 100_000_000,
        "TLSConfig": {"Insecure": True},
    }
    conversion = convert(extenders=[extender, {"urlPrefix": "http://x", "httpTimeout": 30}])
    assert conversion.document["extenders"][0] == {
        "urlPrefix": "http://127.0.0.1:8888",
        "bindVerb": "bind",
        "enableHTTPS": True,
        "tlsConfig": {"insecure": True},
        "httpTimeout": "100ms",
    }
    assert "extenders[0].apiVersion is not a field of a Policy and is left out" in conversion.notes
    assert any("extenders[1].httpTimeout counted nanoseconds" in note for note in conversion.notes)


def test_faults() -> None:
    ratio = {"requestedToCapacityRatioArguments": {"shape": []}, "labelPreference": {"label": "a"}}
    assert faults(
        predicates=[{"name": "Nope"}, {"name": "Empty", "argument": {}}],
        priorities=[
            {"name": "Never", "weight": 1},
            {"name": "ImageLocalityPriority", "weight": 0},
            {"name": "Two", "weight": 1, "argument": ratio},
            {"name": "RequestedToCapacityRatio", "weight": 1},
        ],
    ) == [
        "predicates[0].name",
        "predicates[1].argument",
        "priorities[0].name",
        "priorities[1].weight",
        "priorities[2].argument",
        "priorities[3].argument",
    ]
    assert faults(predicates="all") == ["predicates"]
    assert faults(kind="Pod") == ["kind"]
    assert faults(apiVersion="v2") == ["apiVersion"]


def test_what_today_forbids_is_refused() -> None:
    with pytest.raises(ConfigErrors, match=r"p\.json \(converted\): extenders\[0\]\.weight"):
        convert(extenders=[{"prioritizeVerb": "p"}])


@pytest.mark.parametrize("text", ["", "hello", "[1]", "{"])
def test_no_policy_at_all(text: str) -> None:
    with pytest.raises(ConfigErrors):
        convert_policy(text)


def test_weights_beyond_int32_are_cut() -> None:
    conversion = convert(priorities=[{"name": "ImageLocalityPriority", "weight": 2**40}])
    weights = parse_config(conversion.document).profiles[0].plugins.score_weights
    assert weights == {"ImageLocality": 2**31 - 1}
    assert any("the weight was cut" in note for note in conversion.notes)
