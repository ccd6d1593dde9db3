"""Keeps room on nodes for pods that are to come: reservations by a custom resource, with an end."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Final

from moorage.framework import (
    MAX_SCORE,
    Action,
    ApiError,
    CycleState,
    EventHint,
    Handle,
    Hint,
    KubeObject,
    NodeInfo,
    PodInfo,
    Resource,
    Status,
    Struct,
    amount,
    nothing_of_pod,
    on,
    unschedulable,
)

_LOOK_AGAIN: Final = 5.0
"""Seconds after which reservations that were made meanwhile are looked at."""

RESERVED = unschedulable("node(s) had their room reserved for others")


class ReservationSpec(Struct, frozen=True):
    """So much on one node, for pods with these labels, until a moment; for ever where none is said."""

    node_name: str = ""
    amounts: dict[str, str | int | float] = {}
    labels: dict[str, str] = {}
    until: str = ""


class ReservationStatus(Struct, frozen=True):
    """The pods that came."""

    used_by: tuple[str, ...] = ()


class Reservation(KubeObject, frozen=True):
    """As crd.yaml defines it."""

    API_VERSION: ClassVar[str] = "example.com/v1"
    KIND: ClassVar[str] = "Reservation"
    PLURAL: ClassVar[str] = "reservations"
    NAMESPACED: ClassVar[bool] = False

    spec: ReservationSpec = ReservationSpec()
    status: ReservationStatus = ReservationStatus()

    def is_for(self, pod: PodInfo) -> bool:
        """Whether the pod may have the room."""
        return all(pod.labels.get(key) == value for key, value in self.spec.labels.items())

    @property
    def ends(self) -> float:
        """Seconds of the epoch."""
        return datetime.fromisoformat(self.spec.until).timestamp() if self.spec.until else float("inf")


class NodeReservation:
    """Filter: what is kept for others is not free. Score: whom room is kept for goes there. PostBind: it is said so."""

    #: Followed before any pod is scheduled; the definition has to be there.
    reads: ClassVar = (Reservation,)
    writes: ClassVar = MappingProxyType({Reservation: ("patch/status",)})
    default_weight: ClassVar = 100

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.objects = handle.snapshot.objects

    async def start(self) -> None:
        """Reservations end with time alone, and nobody tells of that."""
        self.handle.spawn(self._watch_ends())

    def filter(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """The pod has to fit beside what is still kept."""
        others = [one for one in self._on(node.name) if not one.is_for(pod)]
        if not others:
            return None
        kept = _kept(others, node)
        wanted = pod.request.amounts
        return RESERVED if any(node.free(name) - kept.get(name, 0) < wanted[name] for name in wanted) else None

    def score(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """The node where room is kept for the pod."""
        return MAX_SCORE if any(one.is_for(pod) for one in self._on(node.name)) else 0

    async def post_bind(self, _state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Write down who came. Another scheduler may write, too: then it is read and tried again."""
        for reservation in [one for one in self._on(node_name) if one.is_for(pod)]:
            await self._note(reservation, pod)

    def events_to_register(self) -> Sequence[EventHint]:
        """What may give room back; none of it depends on the waiting pod."""
        return [
            on(Reservation, Action.UPDATE | Action.DELETE, _always, reads=nothing_of_pod),
            on(Resource.ASSIGNED_POD, Action.DELETE, _always, reads=nothing_of_pod),
            on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, _always, reads=nothing_of_pod),
        ]

    def _on(self, node_name: str) -> Iterator[Reservation]:
        now = self.handle.now()
        return (one for one in self.objects.by(Reservation, _node_of).get(node_name, ()) if now < one.ends)

    async def _note(self, reservation: Reservation, pod: PodInfo) -> None:
        for _ in range(3):
            used_by = [*dict.fromkeys((*reservation.status.used_by, pod.key))]
            version = {"resourceVersion": reservation.metadata.resource_version}
            try:
                await self.handle.host.patch(
                    reservation, {"metadata": version, "status": {"usedBy": used_by}}, subresource="status"
                )
                return
            except ApiError as refusal:
                if refusal.code != 409:
                    raise
            reservation = await self.handle.host.read(Reservation, reservation.metadata.name)

    async def _watch_ends(self) -> None:
        while True:
            before = self.handle.now()
            coming = (one.ends - before for one in self.objects.each(Reservation) if one.ends > before)
            await self.handle.host.sleep(min([_LOOK_AGAIN, *coming]))
            # One that ended may have been made while this slept.
            if any(before < one.ends <= self.handle.now() for one in self.objects.each(Reservation)):
                self.handle.host.activate_where(lambda _pod: True)


def _kept(reservations: Iterable[Reservation], node: NodeInfo) -> dict[str, int]:
    """What is still kept by resource: the pods it was kept for use it up."""
    kept: dict[str, int] = {}
    for reservation in reservations:
        used_by = [other for other in node.pods.values() if reservation.is_for(other)]
        for name, quantity in reservation.spec.amounts.items():
            used = sum(other.request.amounts.get(name, 0) for other in used_by)
            kept[name] = kept.get(name, 0) + max(0, amount(name, quantity) - used)
    return kept


def _node_of(reservation: Reservation) -> str:
    return reservation.spec.node_name


def _always(_pod: PodInfo, _old: Any, _new: Any) -> Hint:
    return Hint.QUEUE
