"""A whole scheduler in a scripted world: a cluster that is a few dicts, told of late, and answers in any order."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from moorage.attempt.core import SchedulerCore
from moorage.attempt.driving import Driver
from moorage.attempt.scripted import LATER, Bind, Evict, OpenRequest, PatchStatus, Request, ScriptedWorld, agree
from moorage.attempt.virtual import VirtualTime
from moorage.config import parse_config
from moorage.engine.engine import default_registry
from moorage.framework.writes import Bound, BoundElsewhere, Done, Gone
from moorage.objects import Pod, convert
from moorage.testing import NodeBuilder, PodBuilder

#: A whole second, as every clock of a test starts at.
START = 1_767_225_600.0

Later = Callable[[Request], bool]


class Rig:
    """The scheduler and the cluster it runs on. What is written is told to the scheduler when jobs rest, as long as
    `tells`; a request is answered at once unless `later` picks it."""

    def __init__(self, plugins: Sequence[type] = (), **config: Any) -> None:
        registry = default_registry()
        registry.register_all(plugins)
        head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        parsed = parse_config({**head, **config}, known=registry.known)
        self.later: Later = lambda _request: False
        self.tells = True
        self.world = ScriptedWorld(self._answer, time=VirtualTime(START))
        self.wakes = 0
        self.core = SchedulerCore(world=self.world, config=parsed, registry=registry, seed=1, wake=self._woken)
        self.driver = Driver(self.core, self.world.time, deliver=self._deliver)
        self.pods: dict[str, Pod] = {}
        self.bindings: list[tuple[str, str]] = []
        self._changes: deque[tuple[Pod | None, Pod | None]] = deque()
        self._version = 0

    # The cluster.

    def node(self, node: NodeBuilder) -> None:
        """A node joins."""
        self.core.node_events.added(node.build())

    def pod(self, pod: PodBuilder) -> str:
        """Somebody makes a pod; its uid."""
        built = pod.build()
        self._set(built)
        return built.metadata.uid

    def change(self, name: str, **fields: Any) -> None:
        """Somebody changes fields of a pod's metadata."""
        pod = self.pods[name]
        self._set(replace(pod, metadata=replace(pod.metadata, **fields)))

    def remove(self, name: str) -> None:
        """A pod is gone."""
        self._changes.append((self.pods.pop(name), None))

    def steal(self, name: str, node_name: str) -> None:
        """Somebody else binds a pod."""
        pod = self.pods[name]
        self._set(replace(pod, spec=replace(pod.spec, node_name=node_name)))

    # The scheduler.

    def settle(self) -> None:
        """Everything goes as far as it gets at this moment."""
        self.driver.settle()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.driver.advance(seconds)

    def open(self, kind: type, name: str = "") -> OpenRequest:
        """The one request of a kind (about a pod) that waits for its answer."""
        found = [one for one in self.world.open if isinstance(one.request, kind)]
        (one,) = [one for one in found if not name or _name(one) == name]
        return one

    def give(self, kind: type, answer: Any = None, name: str = "") -> None:
        """Answer that request, by default as the cluster would."""
        request = self.open(kind, name)
        request.give(self.serve(request.request) if answer is None else answer)
        self.settle()

    def asked(self, kind: type) -> list[Any]:
        """Every request of a kind so far."""
        return [one for one in self.world.requests if isinstance(one, kind)]

    # What is seen.

    def nodes_of(self) -> dict[str, str]:
        """Which pod is where, "" for nowhere."""
        return {name: pod.spec.node_name for name, pod in sorted(self.pods.items())}

    def condition(self, name: str) -> tuple[str, str]:
        """Reason and message of PodScheduled, empty where there is none."""
        conditions = self.pods[name].status.conditions
        return next(((one.reason, one.message) for one in conditions if one.type == "PodScheduled"), ("", ""))

    def events(self) -> list[tuple[str, str]]:
        """Pod and reason of every event."""
        return [(event.pod.name, event.reason) for event in self.world.events]

    def place(self, name: str) -> str:
        """Where the queue has a pod, "" for nowhere."""
        found = self.core.queue.find(f"default/{name}")
        return str(found[0]) if found else ""

    def leftovers(self) -> dict[str, int]:
        """What is there only while something is under way, if it is."""
        core = self.core
        counts = {
            "assumed": core.cluster.sizes["assumed_pods"],
            "in flight": len(core.queue.in_flight()),
            "under way": len(core.under_way),
            "writing": core.under_way.writing,
            "held": len(core.held),
            "evictions": len(core.evictions),
            "statuses": sum(core.statuses.is_writing(pod.metadata.uid) for pod in self.pods.values()),
            "open": len(self.world.open),
        }
        return {what: count for what, count in counts.items() if count}

    # The API server.

    def serve(self, request: Request) -> Any:
        """Carry a request out, as an API server does."""
        match request:
            case Bind(pod, node_name, uncertain):
                return self._bind(pod.name, pod.uid, node_name, uncertain=uncertain)
            case PatchStatus(pod, status):
                known = self._known(pod.name, pod.uid)
                if known is None:
                    return Gone(f'pods "{pod.name}" not found', 404, "NotFound")
                self._set(replace(known, status=_merged(known, dict(status))))
                return Done()
            case Evict(pod):
                if self._known(pod.name, pod.uid) is None:
                    return Gone(f'pods "{pod.name}" not found', 404, "NotFound")
                self.remove(pod.name)
                return Done()
        return agree(request)

    def _bind(self, name: str, uid: str, node_name: str, *, uncertain: bool) -> Any:
        known = self._known(name, uid)
        if known is None:
            return Gone(f'pods "{name}" not found', 404, "NotFound")
        if known.spec.node_name:
            if uncertain and known.spec.node_name == node_name:
                return Bound()
            taken = f"pod {name} is already assigned to node {known.spec.node_name!r}"
            return BoundElsewhere(taken, 409, "Conflict", node_name=known.spec.node_name)
        self.bindings.append((name, node_name))
        status = replace(known.status, nominated_node_name="")
        self._set(replace(known, spec=replace(known.spec, node_name=node_name), status=status))
        return Bound()

    def _known(self, name: str, uid: str) -> Pod | None:
        pod = self.pods.get(name)
        return pod if pod is not None and pod.metadata.uid == uid else None

    def _set(self, pod: Pod) -> None:
        self._version += 1
        name = pod.metadata.name
        pod = replace(pod, metadata=replace(pod.metadata, resource_version=str(self._version)))
        self._changes.append((self.pods.get(name), pod))
        self.pods[name] = pod

    def _answer(self, request: Request) -> Any:
        return LATER if self.later(request) else self.serve(request)

    def _deliver(self) -> bool:
        if not self.tells or not self._changes:
            return False
        while self._changes:
            old, new = self._changes.popleft()
            if new is None:
                assert old is not None
                self.core.pod_events.deleted(old)
            elif old is None:
                self.core.pod_events.added(new)
            else:
                self.core.pod_events.updated(old, new)
        return True

    def _woken(self) -> None:
        self.wakes += 1


def _name(request: OpenRequest) -> str:
    pod = getattr(request.request, "pod", None)
    return pod.name if pod is not None else ""


def _merged(pod: Pod, patch: dict[str, Any]) -> Any:
    status = msgspec.to_builtins(pod.status)
    conditions = {one["type"]: one for one in status.get("conditions", ())}
    conditions.update({one["type"]: one for one in patch.get("conditions", ())})
    merged = {**status, **patch, "conditions": list(conditions.values())}
    if merged.get("nominatedNodeName", "") is None:
        merged["nominatedNodeName"] = ""
    return convert(merged, type(pod.status))


@pytest.fixture
def rig() -> Rig:
    """The default configuration."""
    return Rig()


def plugin(name: str = "Mine", **members: Any) -> type:
    """A plugin class with these methods; `self.handle` is its handle. No event helps what it rejects."""

    def init(self: Any, _args: Any, handle: Any) -> None:
        self.handle = handle

    return type(name, (), {"__init__": init, "events_to_register": lambda _self: (), **members})


def enabling(*names: str) -> dict[str, Any]:
    """The configuration in which these plugins run beside the default ones."""
    return {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": name} for name in names]}}}]}


def rig_with(*plugins: type) -> Rig:
    """The default configuration and these plugins."""
    return Rig(plugins, **enabling(*(one.__name__ for one in plugins)))
