"""Cases with `schedule`: a cluster, a configuration, and pods to decide one after the other.

Each pod is decided on the cluster as it then is. One that finds a node is placed on the first of the best by name and
counts there from then on, with its volumes reserved. One that finds none changes nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from moorage.attempt.placing import Placed, Placer
from moorage.cases.claims import reserved_claims
from moorage.cases.reading import as_case, read_config, read_gates, read_list, read_objects, read_text
from moorage.cases.writing import CaseHost, MustWait, finish
from moorage.cluster import ClusterState
from moorage.columns import PodInfo, Snapshot
from moorage.config import DEFAULT_FEATURES, Features
from moorage.config.gates import with_gates
from moorage.engine import Failure, Placement
from moorage.engine.asking import Answers
from moorage.engine.decision import Decision
from moorage.engine.engine import default_registry, make_engine
from moorage.errors import InputError
from moorage.extender.waiting import WaitingExtenders
from moorage.framework.registry import Registry
from moorage.framework.status import Status
from moorage.objects import KubeObject, Pod


class ScheduleCase:
    """A case read and found whole. Raises InputError that names the field.

    Extenders of its configuration are asked only where `ask_extenders` says so: some write when they are asked.
    """

    def __init__(
        self,
        tree: Any,
        *,
        registry: Registry | None = None,
        seed: int = 0,
        features: Features = DEFAULT_FEATURES,
        ask_extenders: bool = False,
    ) -> None:
        case = as_case(tree)
        features = with_gates(features, read_gates(case.get("gates")))
        registry = registry or default_registry()
        self.name = read_text(case.get("name"), "case.name")
        trees = read_list(case.get("objects"), "case.objects")
        objects = read_objects(trees, "case.objects")
        schedule = read_list(case.get("schedule"), "case.schedule")
        self._pending = _pending(objects, [read_text(item, f"case.schedule[{i}]") for i, item in enumerate(schedule)])
        config = read_config(case.get("config"), registry, features)
        self._binds = case.get("bind") is True
        snapshot = Snapshot.of(objects, features.request_rules)
        self._objects = SnapshotObjects(snapshot, objects)
        host = CaseHost(self._objects)
        self._engine = make_engine(snapshot, config, registry=registry, seed=seed, host=host, features=features)
        self._placer = Placer(cluster=ClusterState(snapshot), engine=self._engine)
        self._extenders = (
            WaitingExtenders(config.extenders, trees, source="case.config")
            if ask_extenders and config.extenders
            else None
        )

    def decisions(self) -> Iterator[Decision]:
        """Decide the pods in their order, placing each that finds a node."""
        snapshot = self._engine.snapshot
        for pod in self._pending:
            info = snapshot.info(pod)
            decision = self._engine.explain(info, self._answers(info))
            if decision.chosen:
                decision = replace(decision, reserved=self._place(info, decision.chosen))
            yield decision

    def _answers(self, pod: PodInfo) -> Answers | None:
        """What the extenders say to whatever the decision needs to hear."""
        if self._extenders is None:
            return None
        answers = self._engine.begin()
        while not isinstance(outcome := self._engine.decide(pod, answers), Placement | Failure):
            answers = answers.answered(outcome, self._extenders.ask(outcome))
        return answers

    def _place(self, pod: PodInfo, node_name: str) -> dict[str, Any]:
        placed = self._placer.reserve(self._engine.reach(pod, node_name))
        if isinstance(placed, Status):
            raise InputError(f"cannot be reserved on {node_name}: {placed.message}", where=pod.key)
        reserved = reserved_claims(placed.placement.state)
        if self._binds:
            reserved.update(self._bind(placed))
        return reserved

    def _bind(self, placed: Placed) -> dict[str, Any]:
        """Run PreBind of DynamicResources. Where it fails, the pod is nowhere again, and its claims are as before."""
        placement = placed.placement
        plugin = placed.runner.profile.plugins.get("DynamicResources")
        work = plugin.pre_bind(placement.state, placement.pod, placement.node_name) if plugin is not None else None
        if work is None:
            return {}
        self._objects.remember()
        try:
            refusal = finish(work)
        except MustWait:
            return {"waits": True}
        if refusal is None:
            return {}
        self._placer.undo(placed)
        self._objects.take_back()
        return {"bindError": f'running PreBind plugin "DynamicResources": {refusal.message}'}


class SnapshotObjects:
    """The objects of a snapshot, as plugins write them."""

    def __init__(self, snapshot: Snapshot, objects: Iterable[KubeObject]) -> None:
        self._snapshot = snapshot
        self._pods = {item.key: item for item in objects if isinstance(item, Pod)}
        self._before: list[tuple[KubeObject, KubeObject | None]] = []

    def get(self, kind: type[KubeObject], key: str) -> KubeObject | None:
        """The object as it is now."""
        return self._pods.get(key) if kind is Pod else self._snapshot.objects.get(kind, key)

    def put(self, item: KubeObject) -> KubeObject:
        """Make or replace an object."""
        if isinstance(item, Pod):
            self._pods[item.key] = item  # decided already: what its status says matters to nobody
            return item
        self._before.append((item, self.get(type(item), item.key)))
        self._snapshot.objects.set(item)
        return item

    def drop(self, item: KubeObject) -> None:
        """The object is gone."""
        self._snapshot.objects.remove(item)

    def remember(self) -> None:
        """What is written from now on may be taken back."""
        self._before = []

    def take_back(self) -> None:
        """Undo what was written."""
        for written, before in reversed(self._before):
            if before is None:
                self._snapshot.objects.remove(written)
            else:
                self._snapshot.objects.set(before)
        self._before = []


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
