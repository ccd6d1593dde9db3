"""Recorded cases: a cluster, a configuration, and pods to decide one after the other.

Each pod is decided on the cluster as it then is. One that finds a node is placed on the first of the best by name and
counts there from then on, with its volumes reserved. One that finds none changes nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from moorage.columns import PodInfo, Snapshot
from moorage.config import DEFAULT_FEATURES, Config, Features, parse_config
from moorage.config.gates import with_gates
from moorage.engine.decision import Decision
from moorage.engine.engine import Engine, default_registry, make_engine
from moorage.errors import InputError, ObjectError
from moorage.framework.registry import Registry
from moorage.objects import KubeObject, Pod, convert_object
from moorage.values.quantity import parse_quantity
from moorage.values.time import parse_time


class Case:
    """A case read and found whole. Raises InputError that names the field."""

    def __init__(
        self, tree: Any, *, registry: Registry | None = None, seed: int = 0, features: Features = DEFAULT_FEATURES
    ) -> None:
        if not isinstance(tree, Mapping):
            raise InputError(f"expected an object, got {type(tree).__name__}", where="case")
        self.name = _text(tree.get("name"), "case.name")
        objects = _objects(_list(tree, "objects"))
        schedule = [_text(item, f"case.schedule[{i}]") for i, item in enumerate(_list(tree, "schedule"))]
        self._pending = _pending(objects, schedule)
        features = with_gates(features, _gates(tree.get("gates")))
        self._engine = _engine(tree.get("config"), objects, registry or default_registry(), seed, features)

    def decisions(self) -> Iterator[Decision]:
        """Decide the pods in their order, placing each that finds a node."""
        snapshot = self._engine.snapshot
        for pod in self._pending:
            info = snapshot.info(pod)
            decision = self._engine.decide(info)
            yield decision
            if decision.chosen:
                self._place(info, decision.chosen)

    def _place(self, pod: PodInfo, node_name: str) -> None:
        refusal = self._engine.place_on(pod, node_name)
        if refusal is not None:
            raise InputError(f"cannot be reserved on {node_name}: {refusal.message}", where=pod.key)


def _gates(gates: Any) -> dict[str, bool]:
    if gates is None:
        return {}
    if not isinstance(gates, Mapping) or not all(isinstance(value, bool) for value in gates.values()):
        raise InputError("expected gates with true or false", where="case.gates")
    return {str(name): value for name, value in gates.items()}


def _engine(config: Any, objects: list[KubeObject], registry: Registry, seed: int, features: Features) -> Engine:
    if config is not None and not isinstance(config, Mapping):
        raise InputError(f"expected an object or null, got {type(config).__name__}", where="case.config")
    parsed = parse_config(config, source="case.config", registry_points=registry.points, features=features)
    return make_engine(Snapshot.of(objects), _over_all_nodes(parsed), registry=registry, seed=seed)


def _over_all_nodes(config: Config) -> Config:
    """Cases tell of every node, whatever percentageOfNodesToScore says."""
    profiles = tuple(msgspec.structs.replace(one, percentage_of_nodes_to_score=None) for one in config.profiles)
    return msgspec.structs.replace(config, profiles=profiles, percentage_of_nodes_to_score=0)


def _objects(trees: list[Any]) -> list[KubeObject]:
    objects: dict[tuple[type, str], KubeObject] = {}
    for index, tree in enumerate(trees):
        where = f"case.objects[{index}]"
        item = _object(tree, where)
        if (type(item), item.key) in objects:
            raise InputError(f"{item.KIND} {item.key} is there twice", where=where)
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
                for name, text in value.items():
                    _check_quantity(text, f"{at}.{name}")
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
        if text is not None:
            parse_quantity(text)
    except InputError as error:
        raise ObjectError(error.problem, where=where) from None


def _check_start(item: KubeObject) -> None:
    if isinstance(item, Pod) and item.status.start_time:
        try:
            parse_time(item.status.start_time)
        except InputError as error:
            raise ObjectError(error.problem, where="status.startTime") from None


def _pending(objects: list[KubeObject], schedule: list[str]) -> list[Pod]:
    pods = {item.key: item for item in objects if isinstance(item, Pod)}
    pending: dict[str, Pod] = {}
    for index, key in enumerate(schedule):
        if key not in pods:
            raise InputError(f'no pod "{key}" among the objects', where=f"case.schedule[{index}]")
        if key in pending:
            raise InputError(f'"{key}" is scheduled twice', where=f"case.schedule[{index}]")
        pending[key] = pods[key]
    return list(pending.values())


def _list(tree: Mapping[str, Any], name: str) -> list[Any]:
    value = tree.get(name)
    if not isinstance(value, list):
        raise InputError(f"expected a list, got {type(value).__name__}", where=f"case.{name}")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"expected a string, got {type(value).__name__}", where=where)
    return value
