"""What a node is made of, and the short form in which users write it: `cpu=4,memory=16Gi,labels=disk:ssd`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moorage.errors import InputError
from moorage.objects import Taint
from moorage.values.names import dns_subdomain_problems, is_extended_resource, label_key_problems, label_value_problems
from moorage.values.quantity import ONE, parse_quantity

DEFAULT_NAME = "node"
DEFAULT_RESOURCES: Mapping[str, str] = {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}
#: A slice holds no more.
MOST_DEVICES = 128
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_NATIVE_RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage")
_WHOLE_RESOURCES = ("pods",)


@dataclass(frozen=True)
class NodeShape:
    """Nodes that are alike. `count` of them are called `name-0`, `name-1`...; one with `is_named` is called `name`.

    `allocatable` is given where it is less than the capacity. With `zones`, the nodes take turns in them.
    """

    name: str = DEFAULT_NAME
    count: int = 1
    capacity: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_RESOURCES))
    allocatable: Mapping[str, str] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    zones: tuple[str, ...] = ()
    #: Driver -> how many devices it publishes on each node.
    devices: Mapping[str, int] = field(default_factory=dict)
    is_unschedulable: bool = False
    is_named: bool = False


def parse_shape(text: str, *, count: int = 1, where: str = "--node") -> NodeShape:
    """Read the short form: `key=value` pairs joined by commas. `count` holds where the text gives none.

    Keys are resources (cpu, memory, pods, ephemeral-storage, hugepages-2Mi, example.com/gpu) and name, count, zones,
    labels, taints, devices (DRIVER:COUNT); lists are joined by semicolons. Raises InputError that names the pair.
    """
    settings: dict[str, Any] = {}
    for pair in text.split(","):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not key or not equals:
            raise InputError(
                f"{pair!r} is not KEY=VALUE: expected a shape like cpu=4,memory=16Gi,pods=110,labels=disk:ssd",
                where=where,
            )
        if key in settings:
            raise InputError(f"{key} is given twice", where=where)
        split = _LISTS.get(key)
        settings[key] = split(value, f"{where} {key}") if split else value
    return shape_of(settings, count=count, where=where)


def shape_of(settings: Mapping[str, Any], *, count: int = 1, where: str) -> NodeShape:
    """A shape from its settings, checked. Labels are a map, taints are Taints, zones are texts; the rest is text."""
    known = ("name", "count", "zones", "labels", "taints", "devices")
    amounts = {
        key: _checked_amount(key, value, f"{where} {key}") for key, value in settings.items() if key not in known
    }
    labels = settings.get("labels", {})
    for key, value in labels.items():
        _check_label(key, value, f"{where} labels")
    for taint in settings.get("taints", ()):
        _check_taint(taint, f"{where} taints")
    for zone in settings.get("zones", ()):
        _refuse(label_value_problems(zone), repr(zone), f"{where} zones")
    name = settings.get("name", DEFAULT_NAME)
    _refuse(dns_subdomain_problems(name), repr(name), f"{where} name")
    return NodeShape(
        name=name,
        count=_checked_count(settings["count"], f"{where} count") if "count" in settings else count,
        capacity={**DEFAULT_RESOURCES, **amounts},
        labels=dict(labels),
        taints=tuple(settings.get("taints", ())),
        zones=tuple(settings.get("zones", ())),
        devices={
            driver: _checked_devices(driver, number, f"{where} devices")
            for driver, number in settings.get("devices", {}).items()
        },
    )


def parse_taint(text: str, where: str) -> Taint:
    """`key=value:Effect` or `key:Effect`, as kubectl writes taints."""
    spelled, colon, effect = text.rpartition(":")
    key, _, value = spelled.partition("=")
    if not colon or not key:
        raise InputError(f"{text!r} is no taint: expected KEY=VALUE:EFFECT or KEY:EFFECT", where=where)
    return Taint(key=key, value=value, effect=effect)


def _split_labels(text: str, where: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    for item in _split_list(text, where):
        key, colon, value = item.partition(":")
        if not colon and "=" in key:
            raise InputError(f"{item!r} is no label here: expected KEY:VALUE, joined by semicolons", where=where)
        if key in labels:
            raise InputError(f"{key} is given twice", where=where)
        labels[key] = value
    return labels


def _split_taints(text: str, where: str) -> tuple[Taint, ...]:
    return tuple(parse_taint(item, where) for item in _split_list(text, where))


def _split_list(text: str, where: str) -> tuple[str, ...]:
    items = tuple(item.strip() for item in text.split(";"))
    if not all(items):
        raise InputError(f"{text!r} has an empty entry: expected entries joined by semicolons", where=where)
    return items


def _split_devices(text: str, where: str) -> dict[str, str]:
    devices: dict[str, str] = {}
    for item in _split_list(text, where):
        driver, colon, number = item.partition(":")
        if not colon:
            raise InputError(f"{item!r} is no device: expected DRIVER:COUNT, joined by semicolons", where=where)
        if driver in devices:
            raise InputError(f"{driver} is given twice", where=where)
        devices[driver] = number
    return devices


def _checked_devices(driver: str, number: object, where: str) -> int:
    _refuse(dns_subdomain_problems(driver), f"driver {driver!r}", where)
    count = int(number) if isinstance(number, str) and number.isascii() and number.isdigit() else number
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MOST_DEVICES:
        raise InputError(f"{number!r} of {driver}: expected 0 to {MOST_DEVICES} devices", where=where)
    return count


_LISTS: Mapping[str, Callable[[str, str], Any]] = {
    "devices": _split_devices,
    "labels": _split_labels,
    "taints": _split_taints,
    "zones": _split_list,
}


def _checked_amount(name: str, value: object, where: str) -> str:
    if name not in _NATIVE_RESOURCES and not name.startswith("hugepages-") and not is_extended_resource(name):
        raise InputError(
            "not a setting of a node: expected name, count, zones, labels, taints, devices, "
            f"{', '.join(_NATIVE_RESOURCES)}, hugepages-SIZE, or a resource of your own as DOMAIN/NAME",
            where=where,
        )
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{value!r} is not a quantity (expected a number like 2, 500m or 1.5Gi)", where=where)
    try:
        nano = parse_quantity(value)
    except InputError as error:
        raise InputError(error.problem, where=where) from None
    if nano < 0:
        raise InputError(f"{value!r} is less than nothing: expected 0 or more", where=where)
    if nano % ONE and (name in _WHOLE_RESOURCES or is_extended_resource(name)):
        raise InputError(f"{value!r} is not a whole number, and {name} comes in whole ones", where=where)
    return str(value)


def _checked_count(value: object, where: str) -> int:
    count = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise InputError(f"{value!r} is not a count: expected 0 or more nodes", where=where)
    return count


def _check_label(key: str, value: object, where: str) -> None:
    _refuse(label_key_problems(key), f"key {key!r}", where)
    if not isinstance(value, str):
        raise InputError(f"the value of {key} is {value!r}: expected text (put it in quotes)", where=where)
    _refuse(label_value_problems(value), f"value {value!r} of {key}", where)


def _check_taint(taint: Taint, where: str) -> None:
    _refuse(label_key_problems(taint.key), f"key {taint.key!r}", where)
    _refuse(label_value_problems(taint.value), f"value {taint.value!r} of {taint.key}", where)
    if taint.effect not in EFFECTS:
        raise InputError(f"{taint.effect!r} is no effect of a taint: expected {' or '.join(EFFECTS)}", where=where)


def _refuse(problems: Sequence[str], what: str, where: str) -> None:
    if problems:
        raise InputError(f"{what}: {problems[0]}", where=where)
