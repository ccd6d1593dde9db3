"""Heartbeats into conditions, conditions into taints."""

import logging
from typing import ClassVar

import msgspec

from moorage.controllers.nodes.taints import wanted_taints
from moorage.controllers.objects.meta import Condition, Managed, as_json, condition_of, with_condition
from moorage.controllers.objects.nodes import Node
from moorage.controllers.objects.pods import Pod, node_of
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.kube.errors import Conflict, NotFound
from moorage.kube.informer import Key
from moorage.objects import LeaseSpec

logger = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"
GRACE_SECONDS = 40.0
"""How long a node may be silent; longer where its lease says that it lasts longer."""

_JUDGED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class Lease(Managed, frozen=True):
    """A node's heartbeat."""

    API_VERSION: ClassVar[str] = "coordination.k8s.io/v1"
    KIND: ClassVar[str] = "Lease"

    spec: LeaseSpec = LeaseSpec()


class NodeLifecycle(Controller):
    """Says of nodes whose lease is not renewed that nobody knows how they are, and taints nodes by their conditions.

    Only nodes that have a lease are judged by it: one without never had a kubelet. Renewals are timed by when they
    are seen here, so that nobody's clock matters but ours.
    """

    name = "node-lifecycle"
    workers = 4

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._nodes = cluster.informers.watch(Node, self.enqueue)
        self._pods = cluster.informers.index(Pod, node_of)
        self._leases = cluster.informers.watch(Lease, self._lease_changed)
        self._heard: dict[str, float] = {}

    def _lease_changed(self, old: Lease | None, new: Lease | None) -> None:
        lease = new if new is not None else old
        if lease is None or lease.metadata.namespace != LEASE_NAMESPACE:
            return
        name = lease.metadata.name
        if new is None:
            self._heard.pop(name, None)
            return
        if old is None or old.spec.renew_time != new.spec.renew_time:
            is_first = name not in self._heard
            self._heard[name] = self.cluster.clock()
            if is_first:
                self.queue.add(("", name))

    async def sync(self, key: Key) -> float | None:
        """Judge one node. Returns when its silence will have been too long."""
        node = self._nodes.get(key[1])
        if node is None:
            return None
        wait = self._silent_in(key[1])
        if wait == 0.0 and not _is_unknown(node):
            await self._say_unknown(node)
            return None
        taints = wanted_taints(node, self.cluster.now())
        if taints != node.spec.taints:
            patch = {"spec": {"taints": [msgspec.to_builtins(taint) for taint in taints] or None}}
            await self.cluster.writer.patch(node, patch, is_guarded=True)
        return wait or None

    def _silent_in(self, name: str) -> float | None:
        """In how many seconds the node has been silent for too long; None where it is not judged."""
        heard = self._heard.get(name)
        lease = self._leases.get(name, LEASE_NAMESPACE)
        if heard is None or lease is None:
            return None
        grace = max(GRACE_SECONDS, lease.spec.lease_duration_seconds or 0.0)
        return max(0.0, heard + grace - self.cluster.clock())

    async def _say_unknown(self, node: Node) -> None:
        conditions = node.status.conditions
        for kind in _JUDGED:
            told = Condition(
                kind,
                "Unknown",
                "NodeStatusUnknown",
                "Kubelet stopped posting node status.",
                last_transition_time=self.cluster.now(),
            )
            conditions = with_condition(conditions, told)
        await self.cluster.writer.patch_status(node, {"conditions": as_json(conditions)}, is_guarded=True)
        name = node.metadata.name
        self.record(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady", action="Judging")
        for pod in self._pods[name]:
            if pod.is_ready:
                await self._say_not_ready(pod)

    async def _say_not_ready(self, pod: Pod) -> None:
        """What nobody can see serve does not count as serving. Its kubelet will say otherwise when it is back."""
        told = Condition("Ready", "False", "NodeNotReady", last_transition_time=self.cluster.now())
        conditions = with_condition(pod.status.conditions, told)
        try:
            await self.cluster.writer.patch_status(pod, {"conditions": as_json(conditions)}, is_guarded=True)
        except (NotFound, Conflict) as error:
            logger.debug("pod %s on a silent node: %s", pod.key, error)


def _is_unknown(node: Node) -> bool:
    ready = condition_of(node.status.conditions, "Ready")
    return ready is not None and ready.status == "Unknown"
