"""What plugins may ask of the process: framework.handle.Host on a real cluster."""

import asyncio
from collections.abc import Iterable

from moorage.columns import PodInfo
from moorage.errors import MoorageError
from moorage.framework.handle import WaitingPod
from moorage.kube.lanes import Lanes
from moorage.kube.transport import Client
from moorage.live.permits import HeldPods
from moorage.live.preempting import Evictions
from moorage.queue import SchedulingQueue


class NotRunning(MoorageError):
    """A plugin asked for something before the process was put together."""


class LiveHost:
    """Plugins are made before the queue they fill; `attach` completes the host once everything is there."""

    def __init__(self, client: Client, lanes: Lanes, held: HeldPods) -> None:
        self._client = client
        self._lanes = lanes
        self._held = held
        self._queue: SchedulingQueue | None = None
        self._evictions: Evictions | None = None

    def attach(self, queue: SchedulingQueue, evictions: Evictions) -> None:
        """From now on plugins can be served."""
        self._queue = queue
        self._evictions = evictions

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """The pods held at Permit."""
        return self._held

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Move pods to the active queue at once."""
        if self._queue is None:
            raise NotRunning("the queue is not there yet: activate pods while scheduling, not while being made")
        self._queue.activate(pods)

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        """Write the pod's binding. Raises ApiError if the API server refuses it."""
        await self._lanes.bind(namespace=pod.namespace, name=pod.name, uid=pod.uid, node_name=node_name)

    async def sleep(self, seconds: float) -> None:
        """Let time pass without holding up anybody else."""
        await asyncio.sleep(seconds)

    def is_preempting(self, pod: PodInfo) -> bool:
        """Whether victims are being evicted for the pod at this moment."""
        return self._evictions is not None and self._evictions.is_under_way(pod)

    def is_leaving(self, pod: PodInfo) -> bool:
        """Whether the pod is being evicted at this moment, or going anyway."""
        return self._evictions is not None and self._evictions.is_leaving(pod)

    @property
    def client(self) -> Client:
        """The API client of the process."""
        return self._client
