"""What plugins may ask of the process: framework.handle.Host over a world.

Plugins are made before the queue they fill, and the queue asks them which events help: so the host is made first and
opened last, once (`attempt.core`), and refuses use before that.
"""

import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from moorage.attempt import reporting
from moorage.attempt.background import Background
from moorage.attempt.permits import HeldPods
from moorage.attempt.preempting import Evictions
from moorage.attempt.underway import UnderWay
from moorage.attempt.world import NORMAL, WARNING, PodEvent, World
from moorage.columns import PodInfo
from moorage.errors import MoorageError
from moorage.framework.answers import check_event, is_async
from moorage.framework.handle import ApiClient, PendingPod, WaitingPod
from moorage.framework.writes import BoundElsewhere, NotDone, NotWritten, Unknown, aimed_at
from moorage.objects import KubeObject
from moorage.queue import Place, SchedulingQueue

logger = logging.getLogger(__name__)

Kind = TypeVar("Kind", bound=KubeObject)

_UNKNOWN_DELAY: Final = 1.0
"""Seconds between rounds of attempts while nobody answers."""


class NotRunning(MoorageError):
    """A plugin asked for something before the process was put together."""


class PluginHost:
    """Serves plugins, once `open` was called."""

    def __init__(
        self,
        *,
        world: World,
        held: HeldPods,
        under_way: UnderWay,
        background: Background,
        wake: Callable[[], None],
        profiles: Sequence[str],
    ) -> None:
        """`profiles` are the names events are told under; those about no pod of theirs under the first."""
        self._world = world
        self._profiles = profiles
        self._background = background
        self._held = held
        self._under_way = under_way
        self._wake = wake
        self._queue: SchedulingQueue | None = None
        self._evictions: Evictions | None = None

    def open(self, *, queue: SchedulingQueue, evictions: Evictions) -> None:
        """From now on plugins are served."""
        assert self._queue is None, "a host is opened once"
        self._queue, self._evictions = queue, evictions

    # What happens in the process.

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """The pods held at Permit."""
        return self._held

    def pending_pods(self) -> Sequence[PendingPod]:
        """Every pod of ours without a node."""
        queue = self._open_queue()
        queued = [(place, member) for place, entity in queue.pods() for member in entity.members]
        queued += [(Place.UNSCHEDULABLE, member) for member in queue.incomplete()]
        found = [PendingPod(one.pod, str(place), one.rejecting_plugins, one.attempts) for place, one in queued]
        return [*found, *(PendingPod(pod, "in flight") for pod in queue.in_flight())]

    def activate_where(self, wanted: Callable[[PodInfo], bool]) -> None:
        """Move the pending pods that this picks to the active queue at once."""
        self.activate([one.pod for one in self.pending_pods() if wanted(one.pod)])

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Move pods to the active queue at once."""
        self._open_queue().activate(pods)
        self._wake()

    def activate_after(self, seconds: float, pods: Iterable[PodInfo]) -> None:
        """The same after a while."""
        self._open_queue()
        self._world.call_later(seconds, partial(self.activate, tuple(pods)))

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something awaited beside what goes on. What it raises is logged: nobody waits for it."""
        self._background.later(work)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have something run for as long as the process does."""
        if self._queue is None:
            is_async(work)  # which closes it
            self._open_queue()
        self._background.spawn(work)

    def is_preempting(self, pod: PodInfo) -> bool:
        """Whether victims are being evicted for the pod at this moment."""
        return self._open_evictions().is_under_way(pod)

    def is_leaving(self, pod: PodInfo) -> bool:
        """Whether the pod is being evicted at this moment, or going anyway."""
        return self._open_evictions().is_leaving(pod)

    async def sleep(self, seconds: float) -> None:
        """Let time pass without holding up anybody else."""
        await self._world.sleep(seconds)

    # What is read and written.

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        """Write the pod's binding. Raises NotWritten where the API server refuses it.

        As long as nobody answers, this goes on: the pod may be bound already, so its room must not be given to anybody
        else.
        """
        self._open_queue()
        uncertain = False
        while isinstance(answer := await self._world.bind(pod, node_name, uncertain=uncertain), Unknown):
            uncertain = uncertain or answer.may_be_done
            logger.warning("pod %s may not be bound to %s yet: %s", pod.key, node_name, answer.message)
            await self._world.sleep(_UNKNOWN_DELAY)
        if isinstance(answer, BoundElsewhere):
            binding = self._under_way.get(pod.uid)
            if binding is not None:
                binding.taken_to = answer.node_name
        if isinstance(answer, NotDone):
            raise NotWritten(answer)

    async def read(self, kind: type[Kind], name: str, namespace: str = "") -> Kind:
        """An object as the API server has it now. Raises NotWritten, with Gone where there is none."""
        answer = await self._world.read(kind, name, namespace)
        if isinstance(answer, NotDone):
            raise NotWritten(answer)
        return answer

    async def create(self, item: Kind) -> Kind:
        """Make an object; answers it as the API server keeps it. Raises NotWritten."""
        answer = await self._world.create(item)
        if isinstance(answer, NotDone):
            raise NotWritten(answer)
        return answer

    async def patch(self, item: Kind, patch: Mapping[str, Any], *, subresource: str = "") -> Kind:
        """Merge into that very object; answers it as it now is. Raises NotWritten.

        With metadata.resourceVersion in the patch, somebody else's change meanwhile is a Conflict.
        """
        meta = item.metadata
        answer = await self._world.patch(type(item), meta.name, meta.namespace, aimed_at(item, patch), subresource)
        if isinstance(answer, NotDone):
            raise NotWritten(answer)
        return answer

    async def delete(self, item: KubeObject) -> None:
        """Delete that very object. Raises NotWritten."""
        answer = await self._world.delete(item)
        if isinstance(answer, NotDone):
            raise NotWritten(answer)

    def event(
        self,
        about: PodInfo | KubeObject,
        reason: str,
        note: str,
        *,
        action: str = "Scheduling",
        warning: bool = False,
    ) -> None:
        """Tell people something of a pod, or of an object of any kind."""
        check_event(about, reason, note, action)
        pod = about if isinstance(about, PodInfo) else None
        item = about if isinstance(about, KubeObject) else None
        profile = pod.spec.scheduler_name if pod is not None else ""
        if profile not in self._profiles:
            profile = self._profiles[0]
        kind = WARNING if warning else NORMAL
        self._world.record(PodEvent(profile, pod, reason, action, reporting.shortened(note), kind=kind, about=item))

    @property
    def client(self) -> ApiClient:
        """An API client, for what the methods above do not offer; its writes are fenced and limited like theirs."""
        return self._world.client

    # The ring's clasp.

    def _open_queue(self) -> SchedulingQueue:
        if self._queue is None:
            raise NotRunning("nothing runs yet: plugins may ask this while scheduling, not while being made")
        return self._queue

    def _open_evictions(self) -> Evictions:
        self._open_queue()
        assert self._evictions is not None
        return self._evictions
