"""Pods off nodes whose NoExecute taints they do not tolerate, or not for ever."""

from collections.abc import Iterable

from moorage.controllers.objects.meta import Condition, as_json, with_condition
from moorage.controllers.objects.nodes import Node, NodeTaint
from moorage.controllers.objects.pods import Pod, node_of
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.informers import key_of
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of
from moorage.objects import Toleration
from moorage.values.taint import NO_EXECUTE, tolerates
from moorage.values.time import time_of

_PODS = resource_of("Pod")


class TaintEviction(Controller):
    """Deletes pods that a NoExecute taint drives out, when their patience with it ends."""

    name = "taint-eviction"
    workers = 4

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._nodes = cluster.informers.watch(Node, self._node_changed)
        self._pods = cluster.informers.watch(Pod, self._pod_changed)
        self._by_node = cluster.informers.index(Pod, node_of)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        before = no_execute(old.spec.taints) if old is not None else []
        after = no_execute(new.spec.taints) if new is not None else []
        if new is not None and after and after != before:
            for pod in self._by_node[new.metadata.name]:
                self.queue.add(key_of(pod))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None or not new.spec.node_name:
            return
        is_new_here = old is None or (old.spec.node_name, old.spec.tolerations) != (
            new.spec.node_name,
            new.spec.tolerations,
        )
        node = self._nodes.get(new.spec.node_name) if is_new_here else None
        if node is not None and no_execute(node.spec.taints):
            self.queue.add(key_of(new))

    async def sync(self, key: Key) -> float | None:
        """Delete a pod whose patience has ended. Returns when it will have."""
        pod = self._pods.get(key[1], key[0])
        node = self._nodes.get(pod.spec.node_name) if pod is not None else None
        if pod is None or node is None or not pod.is_active:
            return None
        now = self.cluster.clock()
        leaves_at = leaving_time(no_execute(node.spec.taints), pod.spec.tolerations, now)
        if leaves_at is None:
            return None
        if leaves_at > now:
            return leaves_at - now
        await self._evict(pod)
        return None

    async def _evict(self, pod: Pod) -> None:
        told = Condition(
            "DisruptionTarget",
            "True",
            "DeletionByTaintManager",
            "Taint manager: deleting due to NoExecute taint",
            last_transition_time=self.cluster.now(),
        )
        conditions = with_condition(pod.status.conditions, told)
        await self.cluster.writer.patch_status(pod, {"conditions": as_json(conditions)}, is_guarded=True)
        meta = pod.metadata
        self.record(pod, "TaintManagerEviction", f"Marking for deletion Pod {pod.key}", action="Evicting")
        await self.cluster.writer.delete(_PODS, meta.name, meta.namespace, uid=meta.uid)


def no_execute(taints: Iterable[NodeTaint]) -> list[NodeTaint]:
    """The taints that drive pods out."""
    return [taint for taint in taints if taint.effect == NO_EXECUTE]


def leaving_time(taints: Iterable[NodeTaint], tolerations: Iterable[Toleration], now: float) -> float | None:
    """When a pod has to leave, in seconds since 1970: 0 for at once, None for never.

    A toleration without seconds holds for ever; of several with seconds that meet one taint, the shortest counts.
    """
    times = []
    for taint in taints:
        meeting = [toleration for toleration in tolerations if tolerates(toleration, taint)]
        if not meeting:
            return 0.0
        patience = [each.toleration_seconds for each in meeting if each.toleration_seconds is not None]
        if patience:
            since = time_of(taint.time_added or "") or now
            times.append(since + max(0, min(patience)))
    return min(times, default=None)
