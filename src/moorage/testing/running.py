"""A whole scheduler on a small cluster, over time that jumps: what a plugin does from the queue to the bind."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, overload

from moorage.attempt.core import SchedulerCore
from moorage.attempt.driving import Driver
from moorage.attempt.scripted import LATER, OpenRequest, Request, ScriptedWorld
from moorage.attempt.virtual import VirtualTime
from moorage.cluster import ObjectEvents
from moorage.cluster.invariants import sum_faults
from moorage.config import Config
from moorage.framework.registrations import kinds_read
from moorage.framework.registry import Registry, plugin_name
from moorage.objects import KubeObject, Node, Pod
from moorage.testing.serving import Item, Objects, as_read, built
from moorage.testing.touching import Touched, culprits

#: A whole second, as every clock of a test starts at.
START: Final = 1_767_225_600.0

Plugin = TypeVar("Plugin")


class Run:
    """The real scheduler on a cluster of its own: queue, gates, hints, back-off, Permit, PreBind, Bind, preemption.

    Time stands still until `advance` lets it pass. What plugins and the scheduler write is carried out as an API server
    would, unless `later` picks a request: it then stands in `world.open` until it is answered. What awaits anything but
    the handle (HTTP, asyncio) is refused here.
    """

    def __init__(
        self,
        objects: Iterable[Item] = (),
        *,
        config: Config,
        registry: Registry,
        seed: int = 1,
        now: float = START,
    ) -> None:
        self.world = ScriptedWorld(self._answer, time=VirtualTime(now))
        #: Which requests are not answered at once; all that are not picked are carried out.
        self.later: Callable[[Request], bool] = lambda _request: False
        #: Whether the scheduler is told of what changes.
        self.tells = True
        self.wakes = 0
        self.core = SchedulerCore(world=self.world, config=config, registry=registry, seed=seed, wake=self._woken)
        self.driver = Driver(self.core, self.world.time, deliver=self._deliver)
        self._changes: deque[tuple[KubeObject | None, KubeObject | None]] = deque()
        self._handlers: dict[type[KubeObject], ObjectEvents] = {}
        self.objects = Objects(self._changes.append)
        self._kinds = [kind for name, plugin in self.core.plugins for kind in kinds_read(name, plugin)]
        for item in objects:
            self._set(item)
        self._deliver()
        self.core.start_plugins()

    # The cluster.

    def add(self, *items: Item) -> None:
        """Objects are made, or changed where there is one of their kind and name; everything then goes on."""
        for item in items:
            self._set(item)
        self.settle()

    def remove(self, kind: type[KubeObject], name: str, namespace: str = "default") -> None:
        """Somebody deletes an object."""
        key = name if kind is Node or not kind.NAMESPACED else f"{namespace}/{name}"
        self.objects.drop(kind, key)
        self.settle()

    # The scheduler.

    @property
    def now(self) -> float:
        """Seconds of the epoch, as plugins see them."""
        return self.world.time.now

    def settle(self) -> None:
        """Everything goes as far as it gets at this moment. Raises Touched where a plugin changed an object."""
        self.driver.settle()
        self._check()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.driver.advance(seconds)
        self._check()

    def stop(self) -> None:
        """The process ends: bindings are undone or finished, `stop` is called."""
        self.world.time.finish(self.core.wind_up(1.0))
        self.world.time.finish(self.core.background.stop())

    # What is seen.

    @overload
    def plugin(self, plugin: type[Plugin], profile: str = "default-scheduler") -> Plugin: ...
    @overload
    def plugin(self, plugin: str, profile: str = "default-scheduler") -> Any: ...
    def plugin(self, plugin: type[Any] | str, profile: str = "default-scheduler") -> Any:
        """The instance of a plugin."""
        name = plugin if isinstance(plugin, str) else plugin_name(plugin)
        return self.core.profiles[profile].plugins[name]

    def get(self, kind: type[Any], name: str, namespace: str = "default") -> Any:
        """An object as the cluster has it; None where it has none."""
        return self.objects.get(kind, name if kind is Node or not kind.NAMESPACED else f"{namespace}/{name}")

    def node_of(self, pod: str, namespace: str = "default") -> str:
        """Where the pod is, "" for nowhere."""
        found: Pod | None = self.get(Pod, pod, namespace)
        return found.spec.node_name if found is not None else ""

    def place(self, pod: str, namespace: str = "default") -> str:
        """Where the queue has the pod, or its group: active, backoff, unschedulable, gated; incomplete where its group
        is not there; "" for nowhere."""
        key = f"{namespace}/{pod}"
        for place, queued in self.core.queue.pods():
            if any(member.key == key for member in queued.members):
                return str(place)
        return "incomplete" if any(one.key == key for one in self.core.queue.incomplete()) else ""

    def condition(self, pod: str, namespace: str = "default") -> tuple[str, str]:
        """Reason and message of PodScheduled, empty where there is none."""
        found: Pod | None = self.get(Pod, pod, namespace)
        conditions = found.status.conditions if found is not None else ()
        return next(((one.reason, one.message) for one in conditions if one.type == "PodScheduled"), ("", ""))

    def notes(self, pod: str, reason: str = "") -> list[str]:
        """What events say of a pod, or of another object, in order: all of them, or those of one reason."""
        return [
            one.note
            for one in self.world.events
            if pod == (one.item.metadata.name if one.pod is None else one.pod.name) and reason in ("", one.reason)
        ]

    def asked(self, kind: type) -> list[Any]:
        """Every request of a kind (moorage.attempt.scripted: Bind, Patch, ...) so far."""
        return [one for one in self.world.requests if isinstance(one, kind)]

    def open(self, kind: type, name: str = "") -> OpenRequest:
        """The one request of a kind (about a pod) that waits for its answer."""
        found = [one for one in self.world.open if isinstance(one.request, kind)]
        (one,) = [one for one in found if not name or _name(one) == name]
        return one

    def give(self, kind: type, answer: Any = None, name: str = "") -> None:
        """Answer that request, by default as the cluster would."""
        request = self.open(kind, name)
        request.give(self.objects.serve(request.request) if answer is None else answer)
        self.settle()

    # What is told, and what is asked for.

    def _answer(self, request: Request) -> Any:
        return LATER if self.later(request) else self.objects.serve(request)

    def _set(self, item: Item) -> None:
        self.objects.set(as_read(built(item), self._kinds))

    def _check(self) -> None:
        by = culprits(name for name, _ in self.core.plugins)
        self.objects.check(by)
        for fault in sum_faults(self.core.cluster):
            raise Touched(f"{by} changed what it may only read: {fault}")

    def _woken(self) -> None:
        self.wakes += 1

    def _deliver(self) -> bool:
        if not self.tells or not self._changes:
            return False
        while self._changes:
            old, new = self._changes.popleft()
            handler = self._handler(type(new if new is not None else old))
            if new is None:
                handler.deleted(old)
            elif old is None:
                handler.added(new)
            else:
                handler.updated(old, new)
        return True

    def _handler(self, kind: Any) -> Any:
        if kind is Pod:
            return self.core.pod_events
        if kind is Node:
            return self.core.node_events
        handler = self._handlers.get(kind)
        if handler is None:
            handler = ObjectEvents(kind, self.core.cluster.snapshot.objects, self.core.queue)
            self._handlers[kind] = handler
        return handler


def _name(request: OpenRequest) -> str:
    pod = getattr(request.request, "pod", None)
    return pod.name if pod is not None else ""
