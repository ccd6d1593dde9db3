"""Writes to the cluster: bind before delete before status before event, within qps and burst, retried safely.

Unschedulable pods make many status patches; were they to share one queue with binds, they would starve them. So each
write goes through the `Gate` in its lane. A write is repeated only where that cannot do harm; a bind whose answer was
lost is looked up before it is sent again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from moorage.errors import ApiError
from moorage.kube.backoff import Backoff
from moorage.kube.errors import (
    AlreadyExists,
    AnswerLost,
    BadAnswer,
    Conflict,
    NotFound,
    ServerError,
    StatusError,
    TooManyRequests,
    Unreachable,
)
from moorage.kube.gate import Gate, Lane, TokenBucket
from moorage.kube.paths import ApiResource, resource_of
from moorage.kube.transport import JSON, STRATEGIC_MERGE_PATCH, Client, Query

_Result = TypeVar("_Result")

_PODS = resource_of("Pod")
_EVENTS = resource_of("Event")


class Fenced(ApiError):
    """The write was not sent: we may no longer act (leadership is lost, or the process is stopping)."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently a write is tried. `attempts` counts the first one; delays are seconds."""

    attempts: int = 4
    first_delay: float = 0.1
    longest_delay: float = 5.0

    def retries(self, error: ApiError) -> bool:
        """Whether the failure may pass by itself."""
        return isinstance(error, Unreachable | AnswerLost | TooManyRequests | ServerError)


class _PodMeta(msgspec.Struct):
    uid: str = ""


class _PodSpec(msgspec.Struct, rename="camel"):
    node_name: str | None = None


class _BoundPod(msgspec.Struct):
    """As much of a pod as says where it is."""

    metadata: _PodMeta
    spec: _PodSpec


class _Reference(msgspec.Struct, rename="camel", omit_defaults=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""


class _Binding(msgspec.Struct, rename="camel"):
    metadata: _Reference
    target: _Reference
    api_version: str = "v1"
    kind: str = "Binding"


class Lanes:
    """The writes of one process. `may_act` is asked before every single request; when it says no, nothing is sent."""

    def __init__(
        self,
        client: Client,
        *,
        qps: float = 50.0,
        burst: int = 100,
        concurrency: int = 24,
        retry: RetryPolicy | None = None,
        may_act: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._client = client
        clock = clock or asyncio.get_running_loop().time
        self.gate = Gate(TokenBucket(qps, burst, clock=clock), concurrency=concurrency)
        self._retry = retry or RetryPolicy()
        self.may_act = may_act

    async def bind(
        self,
        *,
        namespace: str,
        name: str,
        uid: str,
        node_name: str,
        uncertain: bool = False,
        retry: RetryPolicy | None = None,
    ) -> None:
        """Bind a pod to a node. Returns once it is known to be there.

        Raises Conflict when the pod is assigned already, NotFound when it is gone, another ApiError when the last
        attempt failed: AnswerLost then means that nobody knows. Call again with `uncertain` to find out.
        """
        path = _PODS.path(namespace, name, "binding")
        body = msgspec.json.encode(
            _Binding(
                metadata=_Reference(name=name, namespace=namespace, uid=uid),
                target=_Reference(api_version="v1", kind="Node", name=node_name),
            )
        )

        async def attempt(uncertain: bool) -> None:
            if uncertain and await self._is_bound(namespace, name, uid, node_name):
                return
            try:
                await self._send(Lane.BIND, "POST", path, body)
            except Conflict:
                # The try whose answer was lost may have arrived after we looked.
                if not uncertain or not await self._is_bound(namespace, name, uid, node_name):
                    raise

        try:
            await self._persist(attempt, retry, uncertain=uncertain)
        except (AnswerLost, ServerError) as lost:
            if not await self._turned_out_bound(lost, namespace, name, uid, node_name):
                raise

    async def _turned_out_bound(self, lost: ApiError, namespace: str, name: str, uid: str, node_name: str) -> bool:
        """What became of the last attempt is not known either: look once more, for what it is worth."""
        try:
            return await self._is_bound(namespace, name, uid, node_name)
        except (Unreachable, AnswerLost, TooManyRequests, ServerError):
            raise lost from None

    async def node_of(self, namespace: str, name: str, uid: str) -> str:
        """Where the API server has that very pod, "" for nowhere yet. Raises NotFound when it is gone."""
        async with self.gate.through(Lane.BIND):
            answer = await self._client.get(_PODS.path(namespace, name))
        try:
            pod = msgspec.json.decode(answer, type=_BoundPod)
        except msgspec.DecodeError as error:
            raise BadAnswer(f"pod {namespace}/{name}: {error}") from error
        if pod.metadata.uid != uid:
            raise NotFound(f'pods "{name}" is now another pod', code=404, reason="NotFound")
        return pod.spec.node_name or ""

    async def _is_bound(self, namespace: str, name: str, uid: str, node_name: str) -> bool:
        """Whether a bind that was never answered has been carried out. Raises when it no longer can be."""
        found = await self.node_of(namespace, name, uid)
        if found and found != node_name:
            raise Conflict(f"pod {name} is already assigned to node {found!r}", code=409, reason="Conflict")
        return bool(found)

    async def delete(
        self,
        resource: ApiResource,
        *,
        name: str,
        namespace: str = "",
        uid: str = "",
        grace_period_seconds: int | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        """Delete an object (only that very one, when `uid` is given). One that is already gone counts as deleted
        after a lost answer, and is NotFound otherwise."""
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        path, body = resource.path(namespace, name), msgspec.json.encode(options)

        async def attempt(uncertain: bool) -> None:
            try:
                await self._send(Lane.DELETE, "DELETE", path, body)
            except NotFound:
                if not uncertain:
                    raise

        await self._persist(attempt, retry)

    async def patch(
        self,
        resource: ApiResource,
        patch: bytes,
        *,
        name: str,
        namespace: str = "",
        subresource: str = "status",
        content_type: str = STRATEGIC_MERGE_PATCH,
        lane: Lane = Lane.STATUS,
        retry: RetryPolicy | None = None,
    ) -> bytes:
        """Patch an object's status (or another part). A merge patch said twice says the same, so it is repeated."""
        path = resource.path(namespace, name, subresource)

        async def attempt(_uncertain: bool) -> bytes:
            return await self._send(lane, "PATCH", path, patch, content_type)

        return await self._persist(attempt, retry)

    async def create_event(self, namespace: str, body: bytes, *, retry: RetryPolicy | None = None) -> None:
        """Create an events.k8s.io event whose name the caller has made unique."""

        async def attempt(uncertain: bool) -> None:
            try:
                await self._send(Lane.EVENT, "POST", _EVENTS.path(namespace), body)
            except AlreadyExists:
                if not uncertain:
                    raise

        await self._persist(attempt, retry)

    async def send(
        self,
        lane: Lane,
        method: str,
        path: str,
        body: bytes = b"",
        content_type: str = JSON,
        *,
        query: Query | None = None,
        deadline: float | None = None,
    ) -> bytes:
        """Any other write, tried once."""
        return await self._send(lane, method, path, body, content_type, query, deadline)

    async def _send(
        self,
        lane: Lane,
        method: str,
        path: str,
        body: bytes,
        content_type: str = JSON,
        query: Query | None = None,
        deadline: float | None = None,
    ) -> bytes:
        if not self.gate.slip_in():
            await self.gate.enter(lane)
        try:
            if not self.may_act():
                raise Fenced(f"{method} {path} was not sent: this process may no longer act")
            return await self._client.request(
                method, path, body=body, query=query, content_type=content_type, deadline=deadline
            )
        finally:
            self.gate.leave()

    async def _persist(
        self, attempt: Callable[[bool], Awaitable[_Result]], retry: RetryPolicy | None, *, uncertain: bool = False
    ) -> _Result:
        """Try, and try again while the policy allows. `attempt` is told whether an earlier try may have worked."""
        policy = retry or self._retry
        backoff: Backoff | None = None
        for left in reversed(range(policy.attempts)):
            try:
                return await attempt(uncertain)
            except ApiError as error:
                if not policy.retries(error) or not left:
                    raise
                uncertain = uncertain or isinstance(error, AnswerLost | ServerError)
                backoff = backoff or Backoff(policy.first_delay, policy.longest_delay)
                await asyncio.sleep(backoff.next(error.retry_after if isinstance(error, StatusError) else None))
        raise AssertionError("a retry policy allows at least one attempt")
