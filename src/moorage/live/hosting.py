"""What plugins may ask of the process: framework.handle.Host on a real cluster."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Final

from moorage.columns import PodInfo
from moorage.errors import MoorageError
from moorage.framework.handle import WaitingPod
from moorage.kube.errors import AnswerLost, Unreachable
from moorage.kube.lanes import Lanes
from moorage.kube.transport import Client
from moorage.live.permits import HeldPods
from moorage.live.preempting import Evictions
from moorage.queue import SchedulingQueue

logger = logging.getLogger(__name__)

_UNREACHABLE_DELAY: Final = 1.0
"""Seconds between rounds of attempts while the API server does not answer."""


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

    def activate_after(self, seconds: float, pods: Iterable[PodInfo]) -> None:
        """The same after a while."""
        asyncio.get_running_loop().call_later(seconds, self.activate, tuple(pods))

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        """Write the pod's binding. Raises ApiError if the API server refuses it.

        As long as the API server cannot be asked, this goes on: the pod may be bound already, so its room must not be
        given to anybody else.
        """
        uncertain = False
        while True:
            try:
                await self._lanes.bind(
                    namespace=pod.namespace, name=pod.name, uid=pod.uid, node_name=node_name, uncertain=uncertain
                )
            except (Unreachable, AnswerLost) as error:
                uncertain = uncertain or isinstance(error, AnswerLost)
                logger.warning("pod %s may not be bound to %s yet: %s", pod.key, node_name, error)
                await asyncio.sleep(_UNREACHABLE_DELAY)
            else:
                return

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
