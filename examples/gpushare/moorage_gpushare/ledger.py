"""Who holds how much of which card: what the API server shows, and what is being bound at the moment."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from moorage.objects import KubeObject, Node, Pod
from moorage_gpushare.cards import (
    UNHEALTHY_NAMESPACE,
    UNHEALTHY_PREFIX,
    Cards,
    Holding,
    best_fit,
    cards_of,
    free_by_card,
    holding_of,
    need_of,
    read_unhealthy,
)

NOT_SHARED = "The node {} is not for GPU share, need skip"
NO_ROOM = "Insufficient GPU Memory in one device"
NOT_FOUND = 'node "{}" not found'


class ConfigMap(KubeObject, frozen=True):
    """As much of a ConfigMap as says which cards are out of order."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "ConfigMap"

    data: dict[str, str] = {}


@dataclass(slots=True)
class Holder:
    """A pod on a node's card."""

    name: str
    namespace: str
    holding: Holding


@dataclass(slots=True)
class Place:
    """A node by name: it keeps its holders while the node object comes, goes and changes."""

    cards: Cards | None = None
    holders: dict[str, Holder] = field(default_factory=dict)
    unhealthy: frozenset[int] = frozenset()

    @property
    def free(self) -> list[int]:
        """What is free of each card."""
        return free_by_card(self.cards or Cards(), (holder.holding for holder in self.holders.values()))


class Ledger:
    """Fed by informers; `book` and `release` are for who binds. A booking lasts until the pod is seen bound or gone."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        #: uid -> the node the pod is counted on.
        self._counted: dict[str, str] = {}
        self._booked: set[str] = set()

    # What the cluster shows.

    def set_node(self, node: Node) -> None:
        """A node came or changed."""
        self._place(node.metadata.name).cards = cards_of(node.status.capacity)

    def remove_node(self, name: str) -> None:
        """A node is gone; pods bound to it count again should it return."""
        self._place(name).cards = None
        self._tidy(name)

    def set_pod(self, pod: Pod) -> None:
        """A pod came or changed. It holds its card until it has ended or is gone: being deleted is not gone."""
        uid, node = pod.metadata.uid, pod.spec.node_name
        if pod.is_terminal:
            self.remove_pod(uid)
        elif node:
            self.remove_pod(uid)
            holding = holding_of(pod.metadata.annotations, pod)
            if holding is not None:
                self._count(uid, node, Holder(pod.metadata.name, pod.metadata.namespace, holding))

    def remove_pod(self, uid: str) -> None:
        """A pod is gone, or was not bound after all."""
        self._booked.discard(uid)
        node = self._counted.pop(uid, None)
        if node is not None:
            del self._places[node].holders[uid]
            self._tidy(node)

    def set_unhealthy(self, config_map: ConfigMap) -> None:
        """The cards of a node that are out of order."""
        name = unhealthy_node(config_map)
        if name:
            self._place(name).unhealthy = read_unhealthy(config_map.data.get("gpus", ""))

    def remove_unhealthy(self, config_map: ConfigMap) -> None:
        """All of the node's cards are in order."""
        name = unhealthy_node(config_map)
        if name in self._places:
            self._places[name].unhealthy = frozenset()
            self._tidy(name)

    # Questions.

    def refusal(self, pod: Pod, node: str) -> str:
        """Why the node does not take the pod; "" where it does."""
        place = self._places.get(node)
        if place is None or place.cards is None:
            return NOT_FOUND.format(node)
        need = need_of(pod)
        if not need:
            return ""
        if not place.cards.is_shared:
            return NOT_SHARED.format(node)
        return "" if self.card_for(pod, node) is not None else NO_ROOM

    def card_for(self, pod: Pod, node: str) -> int | None:
        """The card of the node that the pod would get."""
        place = self._places.get(node) or Place()
        free = free_by_card(
            place.cards or Cards(),
            (holder.holding for uid, holder in place.holders.items() if uid != pod.metadata.uid),
        )
        return best_fit(free, need_of(pod), place.unhealthy)

    def nodes(self) -> Iterator[tuple[str, Place]]:
        """The nodes that share cards, by name."""
        for name, place in sorted(self._places.items()):
            if place.cards is not None and place.cards.is_shared:
                yield name, place

    def node(self, name: str) -> Place | None:
        """One node, with cards or without; None where there is none of that name."""
        place = self._places.get(name)
        return place if place is not None and place.cards is not None else None

    def cards(self, name: str) -> Cards:
        """The cards of a node; none where there is no such node."""
        place = self._places.get(name)
        return (place.cards if place is not None else None) or Cards()

    # What is being bound.

    def book(self, pod: Pod, node: str, card: int) -> None:
        """From now on the pod holds this card."""
        meta = pod.metadata
        self.remove_pod(meta.uid)
        self._count(meta.uid, node, Holder(meta.name, meta.namespace, Holding(card, need_of(pod))))
        self._booked.add(meta.uid)

    def release(self, uid: str) -> None:
        """The pod was not bound: undo `book`, unless the cluster has shown by now that it was."""
        if uid in self._booked:
            self.remove_pod(uid)

    def _count(self, uid: str, node: str, holder: Holder) -> None:
        self._place(node).holders[uid] = holder
        self._counted[uid] = node

    def _place(self, name: str) -> Place:
        return self._places.setdefault(name, Place())

    def _tidy(self, name: str) -> None:
        place = self._places[name]
        if place.cards is None and not place.holders and not place.unhealthy:
            del self._places[name]


def unhealthy_node(config_map: ConfigMap) -> str:
    """The node whose cards this ConfigMap is about; "" where it is about something else."""
    meta = config_map.metadata
    if meta.namespace != UNHEALTHY_NAMESPACE or not meta.name.startswith(UNHEALTHY_PREFIX):
        return ""
    return meta.name.removeprefix(UNHEALTHY_PREFIX)
