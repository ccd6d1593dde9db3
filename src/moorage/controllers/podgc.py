"""Pods whose node is gone: nobody is left who could end them."""

from moorage.controllers.objects.meta import Condition, as_json, with_condition
from moorage.controllers.objects.nodes import Node
from moorage.controllers.objects.pods import Pod, node_of
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.informers import key_of
from moorage.kube.errors import NotFound
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of

QUARANTINE_SECONDS = 5.0
"""How long a node has to be gone: one that is replaced takes its pods back."""

_NODES = resource_of("Node")
_PODS = resource_of("Pod")


class PodGarbageCollector(Controller):
    """Deletes pods that are bound to nodes which do not exist."""

    name = "pod-garbage-collector"
    workers = 4

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._nodes = cluster.informers.watch(Node, self._node_changed)
        self._pods = cluster.informers.watch(Pod, self._pod_changed)
        self._by_node = cluster.informers.index(Pod, node_of)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if old is not None and new is None:
            for pod in self._by_node[old.metadata.name]:
                self.queue.add_after(key_of(pod), QUARANTINE_SECONDS)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        is_newly_bound = new is not None and (old is None or old.spec.node_name != new.spec.node_name)
        if new is not None and is_newly_bound and self._is_lost(new):
            self.queue.add_after(key_of(new), QUARANTINE_SECONDS)

    def _is_lost(self, pod: Pod) -> bool:
        return bool(pod.spec.node_name) and self._nodes.get(pod.spec.node_name) is None

    async def sync(self, key: Key) -> float | None:
        """Delete a pod if its node is really gone. One that has not ended has failed."""
        pod = self._pods.get(key[1], key[0])
        if pod is None or not self._is_lost(pod) or await self._node_exists(pod.spec.node_name):
            return None
        if not pod.is_finished:
            told = Condition(
                "DisruptionTarget",
                "True",
                "DeletionByPodGC",
                "PodGC: node no longer exists",
                last_transition_time=self.cluster.now(),
            )
            conditions = with_condition(pod.status.conditions, told)
            await self.cluster.writer.patch_status(pod, {"phase": "Failed", "conditions": as_json(conditions)})
        await self.cluster.writer.delete(_PODS, key[1], key[0], uid=pod.metadata.uid, grace_period_seconds=0)
        return None

    async def _node_exists(self, name: str) -> bool:
        try:
            await self.cluster.writer.get(_NODES, name)
        except NotFound:
            return False
        return True
