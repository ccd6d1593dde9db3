"""Arguments of plugins from elsewhere: what the file says, as the type the plugin declares."""

from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import pytest

from moorage.config import KnownPlugins, parse_config
from moorage.config.fields import ConfigErrors, Fault
from moorage.config.ownargs import read_args
from moorage.config.points import IN_TREE_POINTS

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@dataclass
class Window:
    seconds: int = 60


@dataclass
class TideArgs:
    max_load: float
    mode: Literal["mean", "peak"] = "mean"
    labels: list[str] = field(default_factory=list)
    window: Window = field(default_factory=Window)
    more: list[Window] = field(default_factory=list)
    last: Window | None = None

    def __post_init__(self) -> None:
        if self.max_load > 1:
            raise ValueError("max_load is a share: expected 0..1")


class HarborArgs(msgspec.Struct, rename="camel"):
    max_load: float = 0.5
    hosts: dict[str, int] = {}


def read(kind: type, value: Any) -> tuple[Any, list[str]]:
    faults: list[Fault] = []
    made = read_args(kind, value, "args", faults)
    return made, [str(fault) for fault in faults]


def test_a_dataclass() -> None:
    value = {"maxLoad": 0.5, "mode": "peak", "labels": ["a"], "window": {"seconds": 5}}
    assert read(TideArgs, value) == (TideArgs(0.5, "peak", ["a"], Window(5)), [])
    assert read(TideArgs, {"max_load": 1}) == (TideArgs(1.0), [])


def test_a_struct() -> None:
    made, faults = read(HarborArgs, {"maxLoad": 0.7, "hosts": {"a": 1}})
    assert (made.max_load, made.hosts, faults) == (0.7, {"a": 1}, [])
    assert read(HarborArgs, None)[0].max_load == 0.5


@pytest.mark.parametrize(
    ("kind", "value", "faults"),
    [
        (TideArgs, {}, ["args.max_load: missing: TideArgs needs it"]),
        (TideArgs, [1, 2], ["args: expected an object with the fields of TideArgs, got [1,2]"]),
        (TideArgs, {"maxLoad": "high"}, ['args.maxLoad: expected float, got str: "high"']),
        (TideArgs, {"maxLoad": 0.1, "modus": "x"}, ["args.modus: unknown field; did you mean mode?"]),
        (TideArgs, {"maxLoad": 0.1, "mode": "x"}, ["args.mode: invalid enum value 'x': \"x\"; expected mean or peak"]),
        (
            TideArgs,
            {"maxLoad": 0.1, "mode": "maen"},
            ["args.mode: invalid enum value 'maen': \"maen\"; did you mean mean?"],
        ),
        (
            TideArgs,
            {"maxLoad": 0.1, "more": [{"seconds": 1}, {"secnds": 2}]},
            ["args.more[1].secnds: unknown field; did you mean seconds?"],
        ),
        (TideArgs, {"maxLoad": 0.1, "last": {"secnds": 2}}, ["args.last.secnds: unknown field; did you mean seconds?"]),
        (HarborArgs, {"hosts": {"a": 1, "b": "x"}}, ['args.hosts.b: expected int, got str: "x"']),
        (TideArgs, {"maxLoad": 0.1, "labels": ["a", 7]}, ["args.labels[1]: expected str, got int: 7"]),
        (TideArgs, {"maxLoad": 0.1, "window": {"seconds": "x"}}, ['args.window.seconds: expected int, got str: "x"']),
        (TideArgs, {"maxLoad": 7}, ["args: max_load is a share: expected 0..1"]),
        (
            TideArgs,
            {"maxLoad": "high", "zzz": 1},
            [
                'args.maxLoad: expected float, got str: "high"',
                "args.zzz: unknown field; expected max_load or mode or labels or window or more or last",
            ],
        ),
        (HarborArgs, {"max_load": 1}, ["args.max_load: unknown field; did you mean maxLoad?"]),
        (Window, {"seconds": True}, ["args.seconds: expected int, got bool: true"]),
    ],
)
def test_faults_name_the_field_and_the_cure(kind: type, value: Any, faults: list[str]) -> None:
    assert read(kind, value)[1] == faults


def configured(*entries: Any) -> dict[str, Any]:
    return {**HEADER, "profiles": [{"pluginConfig": list(entries)}]}


KNOWN = KnownPlugins({**IN_TREE_POINTS, "Tide": frozenset({"score"})}, {"Tide": TideArgs})


def test_a_configuration_holds_typed_arguments() -> None:
    config = parse_config(configured({"name": "Tide", "args": {"maxLoad": 0.5}}), known=KNOWN)
    assert config.profiles[0].args["Tide"] == TideArgs(0.5)


def test_a_configuration_with_wrong_arguments_is_refused_with_the_path() -> None:
    with pytest.raises(ConfigErrors) as refusal:
        parse_config(configured({"name": "Tide", "args": {"maxLoad": "x"}}), source="c.yaml", known=KNOWN)
    assert str(refusal.value) == ('c.yaml: profiles[0].pluginConfig[0].args.maxLoad: expected float, got str: "x"')


def test_arguments_for_a_plugin_nobody_knows_are_a_warning() -> None:
    config = parse_config(configured({"name": "Tyde", "args": {"maxLoad": "x"}}), known=KNOWN)
    assert [str(warning) for warning in config.warnings] == [
        'profiles[0].pluginConfig[0]: plugin "Tyde" does not exist; did you mean Tide?'
    ]
