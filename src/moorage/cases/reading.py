"""The fields and objects of a recorded case, read and found whole. Everything here raises InputError with the field."""

from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.config import Config, Features, parse_config
from moorage.errors import InputError, ObjectError
from moorage.framework.registry import Registry
from moorage.objects import KubeObject, Pod, convert_object
from moorage.values.quantity import parse_quantity
from moorage.values.time import parse_time


def as_case(tree: Any) -> Mapping[str, Any]:
    """The case itself."""
    if not isinstance(tree, Mapping):
        raise InputError(f"expected an object, got {type(tree).__name__}", where="case")
    return tree


def read_config(tree: Any, registry: Registry, features: Features) -> Config:
    """`case.config`. Cases tell of every node, whatever percentageOfNodesToScore says."""
    if tree is not None and not isinstance(tree, Mapping):
        raise InputError(f"expected an object or null, got {type(tree).__name__}", where="case.config")
    config = parse_config(tree, source="case.config", known=registry.known, features=features)
    profiles = tuple(msgspec.structs.replace(one, percentage_of_nodes_to_score=None) for one in config.profiles)
    return msgspec.structs.replace(config, profiles=profiles, percentage_of_nodes_to_score=100)


def read_objects(trees: list[Any], where: str) -> list[KubeObject]:
    """A list of objects, each there once."""
    objects: dict[tuple[type, str], KubeObject] = {}
    for index, tree in enumerate(trees):
        at = f"{where}[{index}]"
        item = _object(tree, at)
        if (type(item), item.key) in objects:
            raise InputError(f"{item.KIND} {item.key} is there twice", where=at)
        objects[(type(item), item.key)] = item
    return list(objects.values())


def _object(tree: Any, where: str) -> KubeObject:
    try:
        item = convert_object(tree)
        check_quantities(tree)
        _check_start(item)
    except ObjectError as error:
        raise InputError(error.problem, where=f"{where}.{error.where}" if error.where else where) from None
    return item


def check_quantities(tree: Any, path: str = "") -> None:
    """Parse every quantity of an object now, so that a bad one is named here and not met in the middle of a cycle."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            at = f"{path}.{key}" if path else str(key)
            if key in _QUANTITY_MAPS and isinstance(value, Mapping):
                for name, entry in value.items():
                    # A device's capacity is an object that holds its quantity.
                    wrapped = isinstance(entry, Mapping) and "value" in entry
                    _check_quantity(entry["value"] if wrapped else entry, f"{at}.{name}")
            elif at in _QUANTITIES:
                _check_quantity(value, at)
            else:
                check_quantities(value, at)
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            check_quantities(value, f"{path}[{index}]")


_QUANTITY_MAPS = frozenset(("requests", "limits", "allocatable", "capacity", "overhead", "allocatedResources"))
#: Those of a CSIStorageCapacity.
_QUANTITIES = frozenset(("capacity", "maximumVolumeSize"))


def _check_quantity(text: Any, where: str) -> None:
    try:
        if text is not None and not isinstance(text, Mapping):
            parse_quantity(text)
    except InputError as error:
        raise ObjectError(error.problem, where=where) from None


def _check_start(item: KubeObject) -> None:
    if isinstance(item, Pod) and item.status.start_time:
        try:
            parse_time(item.status.start_time)
        except InputError as error:
            raise ObjectError(error.problem, where="status.startTime") from None


def read_list(value: Any, where: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise InputError(f"expected a list, got {type(value).__name__}", where=where)
    return value


def read_text(value: Any, where: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise InputError(f"expected a string, got {type(value).__name__}", where=where)
    return value


def read_gates(value: Any) -> dict[str, bool]:
    """`case.gates`: the feature gates that differ from the defaults."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"expected an object, got {type(value).__name__}", where="case.gates")
    for name, on in value.items():
        if not isinstance(on, bool):
            raise InputError(f"expected true or false, got {on!r}", where=f"case.gates.{name}")
    return dict(value)
