"""What a plugin may ask of the world."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, TypeVar

from moorage.columns import NodeInfo, PodInfo, Snapshot
from moorage.config.gates import DEFAULT_FEATURES, Features
from moorage.framework.cycle_state import CycleState
from moorage.framework.points import Victims
from moorage.framework.status import Status
from moorage.objects import KubeObject

Kind = TypeVar("Kind", bound=KubeObject)


class FilterRunner(Protocol):
    """Runs the profile's filters for one node, as preemption needs it."""

    def filter_with_nominated(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """The verdict on a node, also counting pods of at least equal priority that were promised it."""

    def needs_alone(self, state: CycleState) -> Mapping[str, int] | None:
        """What must be free on a node for the pod to fit, if other pods matter in no other way; None if they do."""

    def suits(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> bool:
        """Whether the node object itself is fine and nobody else of importance was promised the node."""

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Add a pod to a copied node and tell the plugins."""

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Remove a pod from a copied node and tell the plugins."""

    def tell_added(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Tell the plugins of a pod that now counts on a node."""

    def tell_removed(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Tell the plugins of a pod that counts on a node no more."""


class PreemptingExtenders(Protocol):
    """The extenders that have a say in preemption for the pod of the running cycle."""

    def preempt(self, victims: Mapping[str, Victims]) -> Mapping[str, Victims]:
        """See Handle.ask_extenders."""


class WaitingPod(Protocol):
    """A pod held at Permit."""

    @property
    def pod(self) -> PodInfo:
        """The pod."""

    @property
    def node_name(self) -> str:
        """Where it will go."""

    def pending_plugins(self) -> Sequence[str]:
        """The plugins that have not allowed it yet."""

    def allow(self, plugin: str) -> None:
        """This plugin waits no longer."""

    def reject(self, plugin: str, reason: str) -> None:
        """This plugin ends the waiting: the pod goes back to the queue."""

    def tell(self, plugin: str, reason: str) -> None:
        """Why this plugin still waits, such as "2 of 3": shown as an event of the pod where that has changed."""


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod without a node, as the queue has it."""

    pod: PodInfo
    #: active, backoff, unschedulable, gated; "in flight" from when it is tried until it is bound or comes back.
    place: str
    #: The plugins that rejected it, or keep it out.
    plugins: frozenset[str] = frozenset()
    #: How often it was tried.
    attempts: int = 0

    @property
    def is_gated(self) -> bool:
        """Whether a PreEnqueue plugin keeps it out."""
        return self.place == "gated"


class ApiClient(Protocol):
    """The API server by path and bytes, for what `Host` has no call for. Its writes go the way of all the others."""

    async def get(
        self, path: str, query: Mapping[str, str | int] | None = None, *, deadline: float | None = None
    ) -> bytes:
        """An object, or a page of a list. Like all of these it raises ApiError."""

    async def post(
        self, path: str, body: bytes, query: Mapping[str, str | int] | None = None, *, deadline: float | None = None
    ) -> bytes:
        """Make an object."""

    async def put(
        self, path: str, body: bytes, query: Mapping[str, str | int] | None = None, *, deadline: float | None = None
    ) -> bytes:
        """Replace an object."""

    async def patch(
        self,
        path: str,
        body: bytes,
        query: Mapping[str, str | int] | None = None,
        *,
        content_type: str = "application/strategic-merge-patch+json",
        deadline: float | None = None,
    ) -> bytes:
        """Change an object."""

    async def delete(
        self,
        path: str,
        body: bytes = b"",
        query: Mapping[str, str | int] | None = None,
        *,
        deadline: float | None = None,
    ) -> bytes:
        """Delete an object."""


class Host(Protocol):
    """What the process around the engine does for plugins: everything that reaches outside."""

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """The pods held at Permit."""

    def pending_pods(self) -> Sequence[PendingPod]:
        """Every pod of ours without a node, gated ones included. Takes time with their number."""

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Move pods to the active queue at once."""

    def activate_where(self, wanted: Callable[[PodInfo], bool]) -> None:
        """The same for the pending pods that this picks. Takes time with the number of pending pods."""

    def activate_after(self, seconds: float, pods: Iterable[PodInfo]) -> None:
        """The same after a while: for a plugin whose verdict changes with time alone."""

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        """Write the pod's binding. Raises ApiError if the API server refuses it."""

    async def sleep(self, seconds: float) -> None:
        """Let time pass, by the clock that `Handle.now` reads, without holding up anybody else."""

    def is_preempting(self, pod: PodInfo) -> bool:
        """Whether victims are being evicted for the pod at this moment."""

    def is_leaving(self, pod: PodInfo) -> bool:
        """Whether the pod is being evicted at this moment, or going anyway."""

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something awaited beside what goes on. What it raises is logged: nobody waits for it."""

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have something run for as long as the process does. If it breaks, that is logged, and readiness says so."""

    async def read(self, kind: type[Kind], name: str, namespace: str = "") -> Kind:
        """An object as the API server has it now. Raises ApiError."""

    async def create(self, item: Kind) -> Kind:
        """Make an object; answers it as the API server keeps it. Raises ApiError."""

    async def patch(self, item: Kind, patch: Mapping[str, Any], *, subresource: str = "") -> Kind:
        """Merge into that very object; answers it as it now is. Raises ApiError.

        With metadata.resourceVersion in the patch, somebody else's change meanwhile is a conflict (409).
        """

    async def delete(self, item: KubeObject) -> None:
        """Delete that very object. Raises ApiError."""

    def event(
        self,
        about: PodInfo | KubeObject,
        reason: str,
        note: str,
        *,
        action: str = "Scheduling",
        warning: bool = False,
    ) -> None:
        """Tell people something of a pod, or of an object of any kind: an event, which `kubectl describe` shows.

        `reason` is a word in CamelCase. Returns at once; the same said again is counted. What nobody can be told is
        dropped.
        """

    @property
    def client(self) -> ApiClient:
        """For what the methods above do not offer. Raises RuntimeError where there is no API server."""


class Handle:
    """The one argument through which a plugin reaches anything but what it is called with."""

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        now: Callable[[], float],
        random: Random,
        host: Host | None = None,
        features: Features = DEFAULT_FEATURES,
    ) -> None:
        self.snapshot = snapshot
        self.features = features
        self.now = now
        #: Chance. Within a cycle it comes from the attempt's own seed: the same whenever the pod is decided with it.
        self.random = random
        self._host = host
        self._filters: FilterRunner | None = None
        self._preempting: PreemptingExtenders | None = None

    @property
    def host(self) -> Host:
        """The process around the engine. Raises RuntimeError where there is none (one decision over a snapshot)."""
        if self._host is None:
            raise RuntimeError("no process runs around this decision: nothing can be bound, activated or waited for")
        return self._host

    @property
    def has_host(self) -> bool:
        """Whether there is a process around the engine."""
        return self._host is not None

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have something run in the background: see Host.spawn. To be called from `start` on."""
        self.host.spawn(work)

    @property
    def filters(self) -> FilterRunner:
        """The filters of this profile. Raises RuntimeError while its plugins are still being made."""
        if self._filters is None:
            raise RuntimeError("nothing runs yet: plugins may run filters while scheduling, not while being made")
        return self._filters

    @property
    def has_extenders(self) -> bool:
        """Whether extenders have a say about the pod of the running cycle."""
        return self._preempting is not None

    def ask_extenders(self, victims: Mapping[str, Victims]) -> Mapping[str, Victims]:
        """On which of these nodes preemption may go on, and whom it would cost there, in the eyes of extenders.

        Within PostFilter. Raises ExtenderError where one breaks that may not be ignored. It may also end the cycle:
        what it raises then (Unanswered) must not be caught, and the pod is decided again with the answer.
        """
        return victims if self._preempting is None else self._preempting.preempt(victims)

    def enter_cycle(self, preempting: PreemptingExtenders | None) -> None:
        """Called by the cycle that begins."""
        self._preempting = preempting

    def leave_cycle(self) -> None:
        """Called by the cycle that ends."""
        self._preempting = None

    def open(self, *, filters: FilterRunner) -> None:
        """Called once, when the profile is complete: its plugins were made with this handle."""
        assert self._filters is None, "a handle is opened once"
        self._filters = filters
