"""Plugins at each point, in running order, with weights; and what cannot be built."""

from typing import Any

import pytest

from moorage.config import IN_TREE_POINTS, ConfigErrors, KnownPlugins, Profile, features_of, parse_config

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
POINTS = {**IN_TREE_POINTS, "Mine": frozenset({"filter", "score"}), "MySort": frozenset({"queueSort"})}


def enable(*names: str | tuple[str, int]) -> list[dict[str, Any]]:
    return [{"name": name} if isinstance(name, str) else {"name": name[0], "weight": name[1]} for name in names]


def profile(**plugins: Any) -> Profile:
    return parse_config({**HEADER, "profiles": [{"plugins": plugins}]}, known=KnownPlugins(POINTS)).profiles[0]


def faults(**plugins: Any) -> dict[str, str]:
    with pytest.raises(ConfigErrors) as refused:
        profile(**plugins)
    assert refused.value.stage == "build"
    return {fault.path: fault.problem for fault in refused.value.faults}


def test_listing_a_default_plugin_moves_it_to_the_front() -> None:
    plugins = profile(score={"enabled": enable(("ImageLocality", 5), "NodeResourcesFit")}).plugins
    assert plugins.at("score")[:3] == ("ImageLocality", "NodeResourcesFit", "TaintToleration")
    assert plugins.score_weights["ImageLocality"] == 5
    assert plugins.score_weights["NodeResourcesFit"] == 1
    assert plugins.at("filter").index("NodeResourcesFit") == 5


def test_other_plugins_come_last() -> None:
    plugins = profile(filter={"enabled": enable("Mine", "NodeName")}).plugins
    assert plugins.at("filter")[0] == "NodeName"
    assert plugins.at("filter")[-1] == "Mine"
    assert "Mine" not in plugins.at("score")


def test_multi_point_brings_a_plugin_to_every_point_it_serves() -> None:
    plugins = profile(multiPoint={"enabled": enable(("Mine", 9))}).plugins
    assert plugins.at("filter")[-1] == "Mine"
    assert plugins.at("score")[-1] == "Mine"
    assert plugins.score_weights["Mine"] == 9


def test_a_weight_at_the_point_goes_before_that_of_multi_point() -> None:
    plugins = profile(multiPoint={"enabled": enable(("Mine", 9))}, score={"enabled": enable(("Mine", 2))}).plugins
    assert plugins.score_weights["Mine"] == 2


def test_star_at_a_point_leaves_only_what_is_listed_there() -> None:
    plugins = profile(score={"disabled": enable("*"), "enabled": enable(("ImageLocality", 3))}).plugins
    assert plugins.at("score") == ("ImageLocality",)
    assert plugins.score_weights == {"ImageLocality": 3}
    assert "TaintToleration" in plugins.at("preScore")


def test_disabled_and_enabled_at_one_point_means_enabled_at_the_end() -> None:
    plugins = profile(preBind={"disabled": enable("VolumeBinding"), "enabled": enable("VolumeBinding")}).plugins
    assert plugins.at("preBind") == ("DynamicResources", "VolumeBinding")


def test_disabled_under_multi_point_can_return_at_a_point() -> None:
    plugins = profile(
        multiPoint={"disabled": enable("PodTopologySpread")}, filter={"enabled": enable("PodTopologySpread")}
    ).plugins
    assert plugins.at("filter")[-1] == "PodTopologySpread"
    assert "PodTopologySpread" not in plugins.at("preFilter")


def test_only_three_plugins() -> None:
    wanted = enable("PrioritySort", "DefaultBinder", "NodeName")
    plugins = profile(multiPoint={"disabled": enable("*"), "enabled": wanted}).plugins
    assert dict(plugins.points) == {
        "queueSort": ("PrioritySort",),
        "preFilter": ("NodeName",),
        "filter": ("NodeName",),
        "bind": ("DefaultBinder",),
    }
    assert set(plugins.names) == {"PrioritySort", "DefaultBinder", "NodeName"}


def test_every_wrong_name_is_reported_with_the_profile() -> None:
    missing = "does not exist; one that is not built in must be registered (--plugin, or an entry point)"
    assert faults(
        filter={"enabled": enable("Nope", "ImageLocality", "NodeName", "NodeName")},
        multiPoint={"enabled": enable("Never")},
    ) == {
        "profiles[0].plugins.filter.enabled[0]": f'plugin "Nope" {missing} (profile "default-scheduler")',
        "profiles[0].plugins.filter.enabled[1]": 'plugin "ImageLocality" does not extend filter; it serves score '
        '(profile "default-scheduler")',
        "profiles[0].plugins.filter.enabled[3]": 'plugin "NodeName" is listed twice (profile "default-scheduler")',
        "profiles[0].plugins.multiPoint.enabled": f'plugin "Never" {missing} (profile "default-scheduler")',
    }


def test_twice_under_multi_point_matters_only_where_it_takes_effect() -> None:
    twice = {"enabled": enable("NodeName", "NodeName")}
    assert "is listed twice" in faults(multiPoint=twice)["profiles[0].plugins.multiPoint.enabled"]
    twice = {"enabled": enable("ImageLocality", "ImageLocality")}
    listed = profile(multiPoint=twice, score={"enabled": enable("ImageLocality")})
    assert listed.plugins.at("score")[0] == "ImageLocality"


def test_the_point_after_a_groups_filters_is_there_since_1_37() -> None:
    plugins = {"podGroupPostFilter": {"disabled": enable("DynamicResources")}}
    document = {**HEADER, "profiles": [{"plugins": plugins}]}
    newer = parse_config(document, features=features_of("1.37")).profiles[0].plugins
    assert newer.at("podGroupPostFilter") == ("DefaultPreemption",)
    with pytest.raises(ConfigErrors) as refused:
        parse_config(document, features=features_of("1.36"))
    assert [fault.path for fault in refused.value.faults] == ["profiles[0].plugins.podGroupPostFilter"]
    removed = {"podGroupPostFilter": {"enabled": enable("EBSLimits")}}
    with pytest.raises(ConfigErrors) as refused:
        parse_config({**HEADER, "profiles": [{"plugins": removed}]})
    assert [fault.path for fault in refused.value.faults] == ["profiles[0].plugins.podGroupPostFilter.enabled[0]"]


def test_one_queue_sort_and_some_bind_plugin() -> None:
    both = faults(queueSort={"disabled": enable("*")}, bind={"disabled": enable("*")})
    assert set(both) == {"profiles[0].plugins.queueSort", "profiles[0].plugins.bind"}
    two = faults(multiPoint={"enabled": enable("MySort")})
    assert "got PrioritySort, MySort" in two["profiles[0].plugins.queueSort"]


def test_negative_weights_wrap_as_in_go() -> None:
    assert "could overflow" in faults(score={"enabled": enable(("ImageLocality", -1))})["profiles[0].plugins.score"]
    last = profile(multiPoint={"enabled": enable(("ImageLocality", -1))})
    assert last.plugins.score_weights["ImageLocality"] == -1


def test_profiles_must_sort_alike_however_that_came_about() -> None:
    mine = {"disabled": enable("PrioritySort"), "enabled": enable("MySort")}
    profiles = [{"schedulerName": "a"}, {"schedulerName": "b", "plugins": {"multiPoint": mine}}]
    with pytest.raises(ConfigErrors, match='"MySort", but "PrioritySort" in profile "a"'):
        parse_config({**HEADER, "profiles": profiles}, known=KnownPlugins(POINTS))
    configured = {"schedulerName": "b", "pluginConfig": [{"name": "PrioritySort", "args": {"x": 1}}]}
    with pytest.raises(ConfigErrors, match="different arguments for the queue sort plugin"):
        parse_config({**HEADER, "profiles": [{"schedulerName": "a"}, configured]})


def test_fit_args_are_checked_when_the_plugin_is_built() -> None:
    wrong = {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Nope"}}}]}
    with pytest.raises(ConfigErrors) as refused:
        parse_config({**HEADER, "profiles": [wrong]})
    assert refused.value.stage == "build"
    assert refused.value.faults[0].path == "profiles[0].pluginConfig[0].args.scoringStrategy.type"
    off = {**wrong, "plugins": {"multiPoint": {"disabled": enable("NodeResourcesFit")}}}
    assert "NodeResourcesFit" not in parse_config({**HEADER, "profiles": [off]}).profiles[0].plugins.names


def test_ignored_resources_need_the_plugin_that_ignores_them() -> None:
    extender = {"managedResources": [{"name": "a.com/x", "ignoredByScheduler": True}]}
    off = {"plugins": {"multiPoint": {"disabled": enable("NodeResourcesFit")}}}
    with pytest.raises(ConfigErrors, match="needs NodeResourcesFit in every profile"):
        parse_config({**HEADER, "profiles": [off], "extenders": [extender]})


def test_insecure_extenders_have_no_root_certificates() -> None:
    tls = {"insecure": True, "caData": "YWJj"}
    with pytest.raises(ConfigErrors, match=r"extenders\[0\].tlsConfig.insecure"):
        parse_config({**HEADER, "extenders": [{"tlsConfig": tls}]})
