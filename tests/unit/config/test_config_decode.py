"""Strict decoding: every fault is found, with its path."""

from typing import Any

import pytest

from moorage.config import ConfigErrors, NodeAffinityArgs, load_config, parse_config
from moorage.values.duration import Duration

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def refusal(**fields: Any) -> dict[str, str]:
    with pytest.raises(ConfigErrors) as refused:
        parse_config({**HEADER, **fields})
    assert refused.value.stage == "decode"
    return {fault.path: fault.problem for fault in refused.value.faults}


def test_every_fault_is_reported_with_its_path() -> None:
    faults = refusal(
        wibble=1,
        parallelism="many",
        leaderElection={"leaseDuration": 15, "leaderElect": "yes"},
        profiles=[{"plugins": {"score": {"enabled": [{"name": "ImageLocality", "weigth": 1}]}}, "schedulerName": 5}],
        extenders=[{"tlsConfig": {"caData": "*"}}],
    )
    assert faults == {
        "wibble": "unknown field",
        "parallelism": 'expected an integer, got the text "many"',
        "leaderElection.leaseDuration": 'expected a duration such as "10s", got 15',
        "leaderElection.leaderElect": 'expected true or false, got the text "yes"',
        "profiles[0].plugins.score.enabled[0].weigth": "unknown field; did you mean weight?",
        "profiles[0].schedulerName": "expected a string, got 5",
        "extenders[0].tlsConfig.caData": "expected base64",
    }


@pytest.mark.parametrize(
    ("fields", "path", "problem"),
    [
        ({"parallelism": 2**31}, "parallelism", "out of range"),
        ({"parallelism": True}, "parallelism", "expected an integer"),
        ({"parallelism": 4.0}, "parallelism", "expected an integer"),
        ({"clientConnection": {"qps": 1e40}}, "clientConnection.qps", "expected a number"),
        ({"clientConnection": {"qps": float("nan")}}, "clientConnection.qps", "expected a number"),
        ({"profiles": {}}, "profiles", "expected a list, got an object"),
        ({"profiles": [[]]}, "profiles[0]", "expected an object, got a list"),
        ({"leaderElection": {"retryPeriod": None}}, "leaderElection.retryPeriod", "got nothing"),
        ({"leaderElection": {"retryPeriod": "2"}}, "leaderElection.retryPeriod", "is not a duration"),
        ({"Parallelism": 4}, "Parallelism", "unknown field"),
    ],
)
def test_wrong_types(fields: dict[str, Any], path: str, problem: str) -> None:
    faults = refusal(**fields)
    assert list(faults) == [path]
    assert problem in faults[path]


@pytest.mark.parametrize(
    ("args", "path"),
    [
        ({"wibble": 1}, "wibble"),
        ({"kind": "InterPodAffinityArgs"}, "kind"),
        ({"apiVersion": "v1"}, "apiVersion"),
        ({"addedAffinity": {"foo": 1}}, "addedAffinity.foo"),
        (
            {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 2**31}]}},
            "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
        ),
    ],
)
def test_args_of_in_tree_plugins_are_strict(args: dict[str, Any], path: str) -> None:
    faults = refusal(profiles=[{"pluginConfig": [{"name": "NodeAffinity", "args": args}]}])
    assert list(faults) == [f"profiles[0].pluginConfig[0].args.{path}"]


def test_args_that_are_no_object() -> None:
    assert refusal(profiles=[{"pluginConfig": [{"name": "NodeAffinity", "args": [1]}]}]) == {
        "profiles[0].pluginConfig[0].args": "expected an object, got a list"
    }


def test_args_of_other_plugins_stay_as_written() -> None:
    args = {"apiVersion": "example.com/v1", "depth": [1, {"a": None}]}
    config = parse_config({**HEADER, "profiles": [{"pluginConfig": [{"name": "Mine", "args": args}]}]})
    assert config.profiles[0].args["Mine"] == args


def test_args_become_typed() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    given = {"kind": "NodeAffinityArgs", "addedAffinity": affinity}
    config = parse_config({**HEADER, "profiles": [{"pluginConfig": [{"name": "NodeAffinity", "args": given}]}]})
    args = config.profiles[0].args["NodeAffinity"]
    assert isinstance(args, NodeAffinityArgs)
    assert args.added_affinity is not None
    selector = args.added_affinity.required_during_scheduling_ignored_during_execution
    assert selector is not None
    assert selector.node_selector_terms[0].match_expressions[0].values == ("a",)


def test_nulls_mean_absent() -> None:
    config = parse_config({**HEADER, "parallelism": None, "profiles": [None], "extenders": None})
    assert config.parallelism == 16
    assert config.profiles[0].scheduler_name == "default-scheduler"
    assert config.extenders == ()


def test_extenders() -> None:
    tls = {"serverName": "x", "caData": "YWJj"}
    written = {"urlPrefix": "http://x", "enableHTTPS": True, "httpTimeout": "100ms", "tlsConfig": tls}
    extender = parse_config({**HEADER, "extenders": [written]}).extenders[0]
    assert extender.enable_https
    assert extender.http_timeout == Duration.parse("100ms")
    assert extender.tls_config is not None
    assert extender.tls_config.ca_data == b"abc"


def test_whole_numbers_of_yaml_are_integers() -> None:
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: {}\n"
    assert load_config(text.format("1e1")).parallelism == 10
    assert load_config(text.format("010")).parallelism == 8
    with pytest.raises(ConfigErrors, match=r"parallelism: expected an integer, got 4\.5"):
        load_config(text.format("4.5"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "f.yaml: the file is empty; expected a KubeSchedulerConfiguration"),
        ("hello", 'f.yaml: expected a KubeSchedulerConfiguration, got the text "hello"'),
        ("a: 1\na: 2", 'f.yaml: line 2: key "a" is already set in this mapping'),
        (
            "kind: KubeSchedulerConfiguration",
            'f.yaml: apiVersion: expected "kubescheduler.config.k8s.io/v1", got nothing',
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration",
            'f.yaml: apiVersion: expected "kubescheduler.config.k8s.io/v1", got "kubescheduler.config.k8s.io/v1beta3": '
            "run `moorage config convert f.yaml` to have it in today's form",
        ),
    ],
)
def test_lines_name_the_file(text: str, line: str) -> None:
    with pytest.raises(ConfigErrors) as refused:
        load_config(text, source="f.yaml")
    assert str(refused.value) == line
