"""Binding for a scheduler: each pod once, however often and at whatever moment it is asked for.

A bind decides: the node is filtered again with all that is on its way to it, then reserved, prepared and bound, in the
order and with the undoing that the plugins know from in-process. A caller that gave up finds, when it asks again, the
binding it began.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Final

from moorage.attempt.background import Background
from moorage.cluster import ClusterState
from moorage.columns import PodInfo
from moorage.engine.runner import Runner
from moorage.errors import ApiError, MoorageError
from moorage.extender.deciding import Decider
from moorage.extender.wire import BindingArgs
from moorage.framework.answers import CONTRACTS, blame, check_event, verdict
from moorage.framework.handle import PendingPod, WaitingPod
from moorage.framework.points import worker_methods
from moorage.framework.profile import Named
from moorage.framework.status import Code, Status
from moorage.kube.errors import AnswerLost, NotFound, Unreachable
from moorage.kube.lanes import Lanes
from moorage.kube.objects import ClientObjects
from moorage.kube.paths import resource_of
from moorage.kube.recorder import NORMAL, WARNING, EventRecorder, reference_to
from moorage.kube.transport import Client
from moorage.kube.workers import Workers
from moorage.objects import KubeObject, Pod, decode

logger = logging.getLogger(__name__)

_UNREACHABLE_DELAY: Final = 1.0
_PODS = resource_of("Pod")


class BindHost(ClientObjects):
    """What plugins may ask of an extender's process: to bind, to sleep, and the API client. There is no queue."""

    def __init__(
        self, client: Client | None, lanes: Lanes | None, background: Background, recorder: EventRecorder | None
    ) -> None:
        """Without a cluster to follow there are no client, no lanes and no recorder."""
        super().__init__(client)
        self._lanes = lanes
        self._recorder = recorder
        self._background = background

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something awaited beside what goes on. What it raises is logged: nobody waits for it."""
        self._background.later(work)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have something run for as long as the process does. If it breaks, the log and /readyz say so."""
        self._background.spawn(work)

    def event(
        self,
        about: PodInfo | KubeObject,
        reason: str,
        note: str,
        *,
        action: str = "Scheduling",
        warning: bool = False,
    ) -> None:
        """Tell people something of a pod, or of an object of any kind; without a cluster to follow nobody is told."""
        check_event(about, reason, note, action)
        if self._recorder is not None:
            item = about.pod if isinstance(about, PodInfo) else about
            kind = WARNING if warning else NORMAL
            self._recorder.record(reference_to(item), reason=reason, action=action, note=note, type=kind)

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """Nobody is held at Permit here."""
        return ()

    def pending_pods(self) -> Sequence[PendingPod]:
        """The queue is the scheduler's own, out of sight."""
        return ()

    def activate_where(self, wanted: Callable[[PodInfo], bool]) -> None:
        """The queue is the scheduler's own, out of reach."""

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """The queue is the scheduler's own, out of reach."""

    def activate_after(self, seconds: float, pods: Iterable[PodInfo]) -> None:
        """The queue is the scheduler's own, out of reach."""

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        """Write the binding, and go on until it is known what came of it."""
        if self._lanes is None:
            raise RuntimeError("no cluster is followed here: nothing can be bound")
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
        """Let time pass."""
        await asyncio.sleep(seconds)

    def is_preempting(self, pod: PodInfo) -> bool:  # noqa: ARG002 - the host's signature
        """Evictions are the scheduler's."""
        return False

    def is_leaving(self, pod: PodInfo) -> bool:
        """Only what the pod itself says is known."""
        return pod.pod.is_terminating


class NotBound(MoorageError):
    """The pod was not bound, and why."""


class Binder:
    """Binds pods, one binding each."""

    def __init__(self, runner: Runner, decider: Decider, cluster: ClusterState, client: Client) -> None:
        self._runner = runner
        self._decider = decider
        self._cluster = cluster
        self._client = client
        self._workers = Workers()
        profile = runner.profile
        self._pre_binds, self._binds, self._post_binds = (
            profile.at(point) for point in ("preBind", "bind", "postBind")
        )
        self._under_way: dict[str, tuple[str, asyncio.Task[None]]] = {}

    async def bind(self, args: BindingArgs) -> None:
        """Bind the pod. Returns where it is bound as wished, by this call or before; raises NotBound where not."""
        name = f"{args.pod_namespace}/{args.pod_name}"
        if not args.pod_name or not args.node:
            raise NotBound("expected PodName, PodNamespace, PodUID and Node")
        pod = await self._pod(args)
        at, task = self._under_way.get(pod.uid, ("", None))
        if task is None:
            at = pod.spec.node_name
            if not at:
                at, task = args.node, asyncio.get_running_loop().create_task(self._run(pod, args.node))
                self._under_way[pod.uid] = at, task
                task.add_done_callback(partial(self._ended, pod))
        if at != args.node:
            raise NotBound(f"pod {name} {'is being' if task else 'is already'} bound to node {at}")
        if task is not None:
            # Whoever asked may hang up: the binding goes on, and whoever asks again waits for the same one.
            await asyncio.shield(task)

    def _ended(self, pod: PodInfo, task: asyncio.Task[None]) -> None:
        del self._under_way[pod.uid]
        if not task.cancelled() and (problem := task.exception()) is not None:
            logger.warning("pod %s was not bound: %s", pod.key, problem)

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = [task for _, task in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _pod(self, args: BindingArgs) -> PodInfo:
        """The pod as it is known here; what is not known yet is read."""
        uid = args.pod_uid
        known = self._cluster.counted(uid) or self._cluster.pending(uid)
        if known is not None:
            return known
        try:
            raw = await self._client.get(_PODS.path(args.pod_namespace, args.pod_name))
        except NotFound:
            raise NotBound(f"pod {args.pod_namespace}/{args.pod_name} does not exist") from None
        except ApiError as error:
            raise NotBound(str(error)) from error
        pod = self._cluster.snapshot.info(decode(raw, Pod))
        if uid and pod.uid != uid:
            raise NotBound(f"pod {pod.key} is another one now: its UID is {pod.uid}, not {uid}")
        return self._cluster.counted(pod.uid) or pod

    async def _run(self, pod: PodInfo, node_name: str) -> None:
        search, refusal = self._decider.refusal(pod, node_name)
        if refusal is not None:
            raise NotBound(f"node {node_name} does not take pod {pod.key}: {refusal.message}")
        self._cluster.assume(pod, node_name)
        state = search.state
        reserved = False
        try:
            self._check(self._runner.reserve(state, pod, node_name))
            reserved = True
            for one in self._pre_binds:
                self._check(await self._answer(one, "PreBind", state, pod, node_name))
            for one in self._binds:
                status = await self._answer(one, "Bind", state, pod, node_name)
                if status is None or status.code is not Code.SKIP:
                    self._check(status)
                    break
        except BaseException:
            if reserved:
                self._runner.unreserve(state, pod, node_name)
            self._cluster.forget(pod.uid)
            raise
        for one in self._post_binds:
            try:
                await self._answer(one, "PostBind", state, pod, node_name)
            except MoorageError as problem:
                logger.warning("pod %s is bound, but %s", pod.key, problem)

    def _check(self, status: Status | None) -> None:
        if status is not None and not status.is_success:
            raise NotBound(f"{status.plugin}: {status.message}" if status.plugin else status.message)

    async def _answer(self, one: Named, point: str, *args: Any) -> Status | None:
        name = CONTRACTS[point].method
        with blame(one.name, point):
            method = getattr(one.plugin, name)
            in_thread = name in worker_methods(one.plugin)
            answer = await self._workers.run(partial(method, *args)) if in_thread else method(*args)
            if inspect.isawaitable(answer):
                answer = await answer
        return verdict(one.name, one.plugin, point, answer)
