"""The world of a live process: tasks of asyncio, the clock on the wall, and an API server behind fenced lanes."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from moorage.attempt.world import Observer, PodEvent, Promise
from moorage.columns import PodInfo
from moorage.engine.asking import Answer, Broken, Extender, Question
from moorage.errors import ApiError, ExtenderError
from moorage.extender.asking import Extenders
from moorage.framework.writes import (
    BindAnswer,
    Bound,
    BoundElsewhere,
    Conflict,
    Done,
    Gone,
    NotDone,
    Refused,
    Unknown,
    WriteAnswer,
)
from moorage.kube import errors
from moorage.kube.fencing import FencedClient
from moorage.kube.gate import Lane
from moorage.kube.lanes import Lanes, RetryPolicy
from moorage.kube.paths import resource_of
from moorage.kube.tasks import Tasks
from moorage.kube.transport import MERGE_PATCH, Client
from moorage.kube.workers import Workers
from moorage.live.reporting import Reporter
from moorage.objects import Condition, KubeObject, decode

logger = logging.getLogger(__name__)

Value = TypeVar("Value")
Kind = TypeVar("Kind", bound=KubeObject)

_PODS: Final = resource_of("Pod")
_LOOK_AGAIN: Final = 1.0
_STATUS_RETRY: Final = RetryPolicy(attempts=4, first_delay=0.01, longest_delay=1.0)


class LiveWorld(Tasks):
    """attempt.world.World on a real cluster. Everything written goes through the lanes."""

    def __init__(
        self,
        *,
        client: Client,
        lanes: Lanes,
        reporter: Reporter,
        observer: Observer,
        now: Callable[[], float],
        extenders: Extenders | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._client = FencedClient(client, lanes)
        self._lanes = lanes
        self._extenders = extenders
        self._observer = observer
        self._workers = Workers()
        #: Seconds of the epoch: the clock itself, asked a dozen times a pod.
        self.now = now
        self.record: Callable[[PodEvent], None] = reporter.record

    # Time, and work beside.

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        """Have something called when so much time has passed."""
        return self._loop.call_later(seconds, call)

    def promise(self) -> asyncio.Future[Any]:
        """A promise nobody has kept yet."""
        return self._loop.create_future()

    async def kept(self, promise: Promise[Value]) -> Value:
        """Wait for a promise."""
        assert isinstance(promise, asyncio.Future)
        value: Value = await promise
        return value

    async def run_in_thread(self, call: Callable[[], Any]) -> Any:
        """Call what a plugin wants to run where it holds up nobody."""
        return await self._workers.run(call)

    # Writing.

    async def bind(self, pod: PodInfo, node_name: str, *, uncertain: bool) -> BindAnswer:
        """Bind a pod. After a conflict the API server is asked where the pod is: what watches bring lags behind."""
        lanes = self._lanes
        try:
            await lanes.bind(
                namespace=pod.namespace, name=pod.name, uid=pod.uid, node_name=node_name, uncertain=uncertain
            )
        except errors.Conflict as refusal:
            try:
                found = await lanes.node_of(pod.namespace, pod.name, pod.uid)
            except errors.NotFound as gone:
                return Gone(str(gone), gone.code, gone.reason)
            except ApiError as error:
                return Unknown(str(error), error.code, error.reason)
            if found == node_name and uncertain:
                return Bound()
            if found:
                return BoundElsewhere(str(refusal), refusal.code, refusal.reason, node_name=found)
            return Refused(str(refusal), refusal.code, refusal.reason)
        except errors.NotFound as gone:
            return Gone(str(gone), gone.code, gone.reason)
        except (errors.Unreachable, errors.AnswerLost) as lost:
            return Unknown(str(lost), lost.code, lost.reason, may_be_done=isinstance(lost, errors.AnswerLost))
        except ApiError as error:
            return Refused(str(error), error.code, error.reason)
        return Bound()

    async def evict(self, pod: PodInfo, condition: Condition) -> WriteAnswer:
        """Write why the pod has to go, then delete it."""
        status = {"conditions": [msgspec.to_builtins(condition)]}
        try:
            await self._lanes.patch(_PODS, _status_body(pod, status), name=pod.name, namespace=pod.namespace)
            await self._lanes.delete(_PODS, name=pod.name, namespace=pod.namespace, uid=pod.uid)
        except ApiError as error:
            return _not_done(error)
        return Done()

    async def patch_status(self, pod: PodInfo, status: Mapping[str, Any]) -> WriteAnswer:
        """Merge into the pod's status."""
        body = _status_body(pod, status)
        try:
            await self._lanes.patch(_PODS, body, name=pod.name, namespace=pod.namespace, retry=_STATUS_RETRY)
        except ApiError as error:
            return _not_done(error)
        return Done()

    # Extenders.

    async def ask(self, question: Question) -> Answer:
        """Put a decision's question to its extenders."""
        if self._extenders is None:
            return Broken(f"nobody can ask extenders about pod {question.pod.key}")
        return await self._extenders.ask(question)

    async def bind_through(self, extender: Extender, pod: PodInfo, node_name: str) -> BindAnswer:
        """Have an extender bind a pod. One that fails may have bound it all the same: then the API server is asked."""
        if self._extenders is None:
            return Refused(f"nobody can ask extender {extender.name} to bind pod {pod.key} to {node_name}")
        if not self._lanes.may_act():
            return Refused(f"extender {extender.name} was not asked: this process may no longer act")
        try:
            await self._extenders.bind(extender, pod, node_name)
        except ExtenderError as problem:
            found = await self._whereabouts(pod)
            if found == node_name:
                return Bound()
            return BoundElsewhere(str(problem), node_name=found) if found else Refused(str(problem))
        return Bound()

    async def _whereabouts(self, pod: PodInfo) -> str:
        """Where the API server has the pod, "" for nowhere. Goes on asking until it knows: its room may be taken."""
        while True:
            try:
                return await self._lanes.node_of(pod.namespace, pod.name, pod.uid)
            except errors.NotFound:
                return ""
            except ApiError as error:
                logger.warning("pod %s may be bound or not: %s", pod.key, error)
            await asyncio.sleep(_LOOK_AGAIN)

    # What plugins read and write.

    async def read(self, kind: type[Kind], name: str, namespace: str) -> Kind | NotDone:
        """An object as the API server has it now."""
        try:
            return decode(await self._client.get(resource_of(kind).path(namespace, name)), kind)
        except ApiError as error:
            return _not_done(error)

    async def create(self, item: Kind) -> Kind | NotDone:
        """Make an object."""
        kind = type(item)
        tree = {"apiVersion": kind.API_VERSION, "kind": kind.KIND, **msgspec.to_builtins(item)}
        path = resource_of(kind).path(item.metadata.namespace)
        try:
            return decode(await self._lanes.send(Lane.BIND, "POST", path, msgspec.json.encode(tree)), kind)
        except ApiError as error:
            return _not_done(error)

    async def patch(
        self, kind: type[Kind], name: str, namespace: str, patch: Mapping[str, Any], subresource: str
    ) -> Kind | NotDone:
        """Merge into an object."""
        try:
            answer = await self._lanes.patch(
                resource_of(kind),
                msgspec.json.encode(patch),
                name=name,
                namespace=namespace,
                subresource=subresource,
                content_type=MERGE_PATCH,
                lane=Lane.BIND,
            )
        except ApiError as error:
            return _not_done(error)
        return decode(answer, kind)

    async def delete(self, item: KubeObject) -> Done | NotDone:
        """Delete that very object."""
        meta = item.metadata
        try:
            await self._lanes.delete(resource_of(type(item)), name=meta.name, namespace=meta.namespace, uid=meta.uid)
        except ApiError as error:
            return _not_done(error)
        return Done()

    @property
    def client(self) -> FencedClient:
        """An API client whose writes are fenced and limited."""
        return self._client

    # Telling.

    @property
    def observer(self) -> Observer:
        """Who measures."""
        return self._observer


def _status_body(pod: PodInfo, status: Mapping[str, Any]) -> bytes:
    """The uid makes the API server refuse the patch for another pod that has taken the name."""
    return msgspec.json.encode({"metadata": {"uid": pod.uid}, "status": status})


def _not_done(error: ApiError) -> Gone | Conflict | Refused | Unknown:
    """A failure of the API in the words of `framework.writes`."""
    if isinstance(error, errors.NotFound):
        return Gone(str(error), error.code, error.reason)
    if isinstance(error, errors.Conflict):
        return Conflict(str(error), error.code, error.reason)
    if isinstance(error, errors.Unreachable | errors.AnswerLost):
        return Unknown(str(error), error.code, error.reason, may_be_done=isinstance(error, errors.AnswerLost))
    return Refused(str(error), error.code, error.reason)
