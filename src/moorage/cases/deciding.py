"""Cases with `schedule`: a cluster, a configuration, and pods to decide one after the other.

Each pod is decided on the cluster as it then is. One that finds a node is placed on the first of the best by name and
counts there from then on, with its volumes reserved. One that finds none changes nothing.
"""

from collections.abc import Iterator
from typing import Any

from moorage.cases.reading import as_case, read_config, read_gates, read_list, read_objects, read_text
from moorage.columns import PodInfo, Snapshot
from moorage.config import DEFAULT_FEATURES, Features
from moorage.config.gates import with_gates
from moorage.engine.decision import Decision
from moorage.engine.engine import default_registry, make_engine
from moorage.errors import InputError
from moorage.framework.registry import Registry
from moorage.objects import KubeObject, Pod


class ScheduleCase:
    """A case read and found whole. Raises InputError that names the field."""

    def __init__(
        self, tree: Any, *, registry: Registry | None = None, seed: int = 0, features: Features = DEFAULT_FEATURES
    ) -> None:
        case = as_case(tree)
        features = with_gates(features, read_gates(case.get("gates")))
        registry = registry or default_registry()
        self.name = read_text(case.get("name"), "case.name")
        objects = read_objects(read_list(case.get("objects"), "case.objects"), "case.objects")
        schedule = read_list(case.get("schedule"), "case.schedule")
        self._pending = _pending(objects, [read_text(item, f"case.schedule[{i}]") for i, item in enumerate(schedule)])
        config = read_config(case.get("config"), registry, features)
        snapshot = Snapshot.of(objects, features.request_rules)
        self._engine = make_engine(snapshot, config, registry=registry, seed=seed)

    def decisions(self) -> Iterator[Decision]:
        """Decide the pods in their order, placing each that finds a node."""
        snapshot = self._engine.snapshot
        for pod in self._pending:
            info = snapshot.info(pod)
            decision = self._engine.explain(info)
            yield decision
            if decision.chosen:
                self._place(info, decision.chosen)

    def _place(self, pod: PodInfo, node_name: str) -> None:
        refusal = self._engine.place_on(pod, node_name)
        if refusal is not None:
            raise InputError(f"cannot be reserved on {node_name}: {refusal.message}", where=pod.key)


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
