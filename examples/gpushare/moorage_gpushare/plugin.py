"""The same as a plugin: under Moorage's own scheduler the card is chosen in-process, at Reserve."""

from types import MappingProxyType
from typing import Any

import msgspec

from moorage.framework import SKIP, CycleState, Handle, NodeInfo, PodInfo, Status, unschedulable
from moorage.kube.paths import resource_of
from moorage.objects import Pod
from moorage_gpushare.cards import (
    UNHEALTHY_NAMESPACE,
    UNHEALTHY_PREFIX,
    Cards,
    Holding,
    annotations_for,
    best_fit,
    cards_of,
    free_by_card,
    holding_of,
    need_of,
    read_unhealthy,
)
from moorage_gpushare.ledger import NO_ROOM, NOT_SHARED, ConfigMap


class GpuShare:
    """Filter by what is free on one card, reserve the card, annotate the pod before it is bound."""

    reads = (ConfigMap,)
    writes = MappingProxyType({Pod: ("patch",)})

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._handle = handle
        #: node -> uid -> the card of a pod whose annotations are not seen yet.
        self._reserved: dict[str, dict[str, Holding]] = {}

    def pre_filter(self, _state: CycleState, pod: PodInfo, _nodes: Any) -> Status | None:
        return None if need_of(pod.pod) else SKIP

    def filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        cards = cards_of(node.node.status.capacity)
        if not cards.is_shared:
            return unschedulable(NOT_SHARED.format(node.name))
        return None if self._card(pod, node, cards) is not None else unschedulable(NO_ROOM)

    def reserve(self, _state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        node = self._handle.snapshot.nodes.get(node_name)
        need = need_of(pod.pod)
        if node is None or not need:
            return None
        self._forget_settled(node)
        card = self._card(pod, node, cards_of(node.node.status.capacity))
        if card is None:
            return unschedulable(NO_ROOM)
        self._reserved.setdefault(node_name, {})[pod.uid] = Holding(card, need)
        return None

    def unreserve(self, _state: CycleState, pod: PodInfo, node_name: str) -> None:
        self._reserved.get(node_name, {}).pop(pod.uid, None)

    async def pre_bind(self, _state: CycleState, pod: PodInfo, node_name: str) -> None:
        holding = self._reserved.get(node_name, {}).get(pod.uid)
        node = self._handle.snapshot.nodes.get(node_name)
        if holding is None or node is None:
            return
        cards = cards_of(node.node.status.capacity)
        annotations = annotations_for(holding.card, cards, holding.amount, self._handle.now())
        body = msgspec.json.encode({"metadata": {"uid": pod.uid, "annotations": annotations}})
        await self._handle.host.client.patch(resource_of("Pod").path(pod.namespace, pod.name), body)

    def _card(self, pod: PodInfo, node: NodeInfo, cards: Cards) -> int | None:
        holdings = [held for uid in node.pods if uid != pod.uid and (held := self._holding(node, uid)) is not None]
        listed = self._handle.snapshot.objects.get(ConfigMap, f"{UNHEALTHY_NAMESPACE}/{UNHEALTHY_PREFIX}{node.name}")
        unhealthy = read_unhealthy(listed.data.get("gpus", "")) if listed is not None else frozenset[int]()
        return best_fit(free_by_card(cards, holdings), need_of(pod.pod), unhealthy)

    def _holding(self, node: NodeInfo, uid: str) -> Holding | None:
        """What a pod on the node holds: as reserved here until the annotations are seen."""
        reserved = self._reserved.get(node.name, {}).get(uid)
        pod = node.pods[uid].pod
        return reserved or holding_of(pod.metadata.annotations, pod)

    def _forget_settled(self, node: NodeInfo) -> None:
        """Reservations whose pods are gone, or bound and annotated as reserved."""
        for uid, held in list(self._reserved.get(node.name, {}).items()):
            pod = node.pods.get(uid)
            if pod is None or holding_of(pod.pod.metadata.annotations, pod.pod) == held:
                del self._reserved[node.name][uid]
