"""Binding pods to cards: annotate, bind, and know what came of it. One node at a time, each pod once."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

import msgspec

from moorage.errors import ApiError, MoorageError
from moorage.kube.errors import AnswerLost, NotFound, Unreachable
from moorage.kube.lanes import Lanes
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client
from moorage.objects import Pod, decode
from moorage_gpushare.cards import annotations_for, need_of
from moorage_gpushare.ledger import Ledger

logger = logging.getLogger(__name__)

_PODS = resource_of("Pod")
_PAUSE: Final = 1.0


class NotBound(MoorageError):
    """The pod was not bound, and why."""


class Binder:
    """Binds pods. `now` stamps the annotations, by which the device plugin knows who came first."""

    def __init__(self, client: Client, ledger: Ledger, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._lanes = Lanes(client, qps=200, burst=400)
        self._ledger = ledger
        self._now = now
        self._under_way: dict[str, tuple[str, asyncio.Task[None]]] = {}

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Returns once the pod is bound to the node, by this call or before; raises NotBound where it is not."""
        pod = await self._read(namespace, name, uid)
        at, task = self._under_way.get(pod.metadata.uid, (pod.spec.node_name, None))
        if not at:
            at, task = node, asyncio.get_running_loop().create_task(self._bind(pod, node))
            self._under_way[pod.metadata.uid] = at, task
            task.add_done_callback(lambda ended: self._ended(pod.metadata.uid, ended))
        if at != node:
            raise NotBound(f"pod {pod.key} {'is being' if task else 'is already'} bound to node {at}")
        if task is not None:
            await asyncio.shield(task)  # whoever asked may hang up, and ask again

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = [task for _, task in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, uid: str, task: asyncio.Task[None]) -> None:
        del self._under_way[uid]
        if not task.cancelled() and (problem := task.exception()) is not None:
            logger.warning("not bound: %s", problem)

    async def _read(self, namespace: str, name: str, uid: str) -> Pod:
        """The pod as the API server has it now: what an informer shows may be a moment old."""
        if not namespace or not name:
            raise NotBound("expected PodName, PodNamespace, PodUID and Node")
        try:
            pod = decode(await self._client.get(_PODS.path(namespace, name)), Pod)
        except ApiError as error:
            raise NotBound(str(error)) from error
        if uid and pod.metadata.uid != uid:
            raise NotBound(f"pod {pod.key} is another one now: its UID is {pod.metadata.uid}, not {uid}")
        return pod

    async def _bind(self, pod: Pod, node: str) -> None:
        """From the choice of the card to its booking nothing is awaited: two bindings never take the same room."""
        uid = pod.metadata.uid
        refusal = self._ledger.refusal(pod, node)
        if refusal:
            raise NotBound(f"pod {pod.key} cannot go to node {node}: {refusal}")
        need = need_of(pod)
        card = self._ledger.card_for(pod, node) if need else None
        if card is not None:
            self._ledger.book(pod, node, card)
        try:
            if card is not None:
                await self._annotate(pod, annotations_for(card, self._ledger.cards(node), need, self._now()))
            await self._write(pod, node)
        except BaseException as problem:
            self._ledger.release(uid)
            if isinstance(problem, ApiError):
                raise NotBound(str(problem)) from problem
            raise

    async def _annotate(self, pod: Pod, annotations: dict[str, str]) -> None:
        body = msgspec.json.encode({"metadata": {"uid": pod.metadata.uid, "annotations": annotations}})
        await self._client.patch(_PODS.path(pod.metadata.namespace, pod.metadata.name), body)

    async def _write(self, pod: Pod, node: str) -> None:
        """POST the binding. As long as nobody knows whether it arrived the card stays booked, and we ask again."""
        meta = pod.metadata
        uncertain = False
        while True:
            try:
                await self._lanes.bind(
                    namespace=meta.namespace, name=meta.name, uid=meta.uid, node_name=node, uncertain=uncertain
                )
            except NotFound:
                raise
            except (AnswerLost, Unreachable) as error:
                uncertain = uncertain or isinstance(error, AnswerLost)
                logger.warning("pod %s may not be bound to %s yet: %s", pod.key, node, error)
                await asyncio.sleep(_PAUSE)
            else:
                return
