"""`run_nodes`: hollow nodes on any API server, until cancelled."""

import asyncio
import time
from collections.abc import Callable, Sequence

from moorage.kube.informer import Informer
from moorage.kube.lanes import Lanes
from moorage.kube.recorder import EventRecorder
from moorage.kube.transport import Client
from moorage.nodes.devices import publish
from moorage.nodes.heartbeats import Heartbeats
from moorage.nodes.kubelets import Kubelets
from moorage.nodes.objects import HollowNode, HostedPod
from moorage.nodes.registration import named, node_manifests, register
from moorage.nodes.shapes import NodeShape
from moorage.nodes.stages import Pace


async def run_nodes(
    client: Client,
    shapes: Sequence[NodeShape],
    *,
    pace: Pace | None = None,
    heartbeat_rate: float = 150.0,
    clock: Callable[[], float] = time.time,
    on_ready: Callable[[], None] | None = None,
) -> None:
    """Register nodes of these shapes, and be the kubelet of every hollow node, until cancelled.

    `on_ready` is called once the nodes are registered and their pods known. Nodes stay registered at the end. Raises
    InputError for shapes that cannot be, ApiError when the nodes cannot be registered.
    """
    await register(client, node_manifests(shapes, clock()))
    await publish(client, named(shapes))
    recorder = EventRecorder(Lanes(client), controller="kubelet")
    kubelets = Kubelets(client, pace=pace or Pace(), clock=clock, recorder=recorder)
    heartbeats = Heartbeats(client, clock=clock, rate=heartbeat_rate)
    nodes = Informer(client, HollowNode)
    pods = Informer(client, HostedPod, field_selector="spec.nodeName!=")
    nodes.add_handler(_NodeEvents(kubelets, heartbeats))
    pods.add_handler(_PodEvents(kubelets))
    async with asyncio.TaskGroup() as group:
        group.create_task(nodes.run(), name="hollow nodes")
        await nodes.synced.wait()
        group.create_task(heartbeats.run(), name="heartbeats")
        group.create_task(recorder.run(), name="kubelet events")
        group.create_task(kubelets.run(), name="kubelets")
        group.create_task(pods.run(), name="hosted pods")
        await pods.synced.wait()
        if on_ready is not None:
            on_ready()


class _NodeEvents:
    """Nodes, told to the kubelets and the heartbeats."""

    def __init__(self, kubelets: Kubelets, heartbeats: Heartbeats) -> None:
        self._kubelets = kubelets
        self._heartbeats = heartbeats

    def added(self, new: HollowNode) -> None:
        if not new.is_hollow:
            return
        self._kubelets.serve(new)
        if new.is_stopped:
            self._heartbeats.pause(new.metadata.name)
        else:
            self._heartbeats.begin(new)

    def updated(self, old: HollowNode, new: HollowNode) -> None:
        if old.is_hollow and not new.is_hollow:
            self.deleted(old)
        else:
            self.added(new)

    def deleted(self, old: HollowNode) -> None:
        self._kubelets.leave(old.metadata.name)
        self._heartbeats.end(old.metadata.name)

    def synced(self) -> None:
        """Pods follow once the nodes are known: there is nothing else to wait for."""


class _PodEvents:
    """Pods that have a node, told to the kubelets."""

    def __init__(self, kubelets: Kubelets) -> None:
        self._kubelets = kubelets

    def added(self, new: HostedPod) -> None:
        self._kubelets.observe(new)

    def updated(self, _old: HostedPod, new: HostedPod) -> None:
        self._kubelets.observe(new)

    def deleted(self, old: HostedPod) -> None:
        self._kubelets.forget(old)

    def synced(self) -> None:
        self._kubelets.open_doors()
