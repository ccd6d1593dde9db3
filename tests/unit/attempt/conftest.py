"""A whole scheduler in a scripted world: a cluster that is a few dicts, told of late, and answers in any order."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from moorage.attempt.scripted import Request
from moorage.config import parse_config
from moorage.engine.engine import default_registry
from moorage.objects import Pod
from moorage.testing import NodeBuilder, PodBuilder, Run
from moorage.testing.running import START

__all__ = ["START", "Rig"]

Later = Callable[[Request], bool]


class Rig(Run):
    """A run with nothing in it yet, by the name of pods alone. Nothing settles by itself."""

    def __init__(self, plugins: Sequence[type] = (), **config: Any) -> None:
        registry = default_registry()
        registry.register_all(plugins)
        head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        parsed = parse_config({**head, **config}, known=registry.known)
        super().__init__(config=parsed, registry=registry)

    # The cluster.

    def node(self, node: NodeBuilder) -> None:
        """A node joins."""
        self.objects.set(node.build())
        self._deliver()

    def pod(self, pod: PodBuilder) -> str:
        """Somebody makes a pod; its uid."""
        made: Pod = self.objects.set(pod.build())
        return made.metadata.uid

    def change(self, name: str, **fields: Any) -> None:
        """Somebody changes fields of a pod's metadata."""
        pod = self.pods[name]
        self.objects.set(replace(pod, metadata=replace(pod.metadata, **fields)))

    def vanish(self, name: str) -> None:
        """A pod is gone."""
        self.objects.drop(Pod, f"default/{name}")

    def steal(self, name: str, node_name: str) -> None:
        """Somebody else binds a pod."""
        pod = self.pods[name]
        self.objects.set(replace(pod, spec=replace(pod.spec, node_name=node_name)))

    @property
    def pods(self) -> dict[str, Pod]:
        """The pods by name."""
        return {pod.metadata.name: pod for pod in self.objects.all(Pod).values()}

    @property
    def bindings(self) -> list[tuple[str, str]]:
        """Every binding carried out."""
        return self.objects.bindings

    def serve(self, request: Request) -> Any:
        """Carry a request out, as an API server does."""
        return self.objects.serve(request)

    # What is seen.

    def nodes_of(self) -> dict[str, str]:
        """Which pod is where, "" for nowhere."""
        return {name: pod.spec.node_name for name, pod in sorted(self.pods.items())}

    def events(self) -> list[tuple[str, str]]:
        """Pod and reason of every event."""
        return [(event.pod.name, event.reason) for event in self.world.events if event.pod is not None]

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
