"""The kubelets of all hollow nodes: pods come in from one informer, statuses and deletions go out."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from moorage.errors import InputError
from moorage.kube.errors import Conflict, Invalid, NotFound
from moorage.kube.paths import resource_of
from moorage.kube.recorder import WARNING, EventRecorder
from moorage.kube.transport import Client
from moorage.kube.workqueue import WorkQueue
from moorage.nodes.addresses import PodAddresses
from moorage.nodes.admission import Refusal, Room, Share, misfit, room_of, share_of
from moorage.nodes.instructions import read_instructions
from moorage.nodes.objects import HollowNode, HostedPod
from moorage.nodes.runs import Run, State, recalled
from moorage.nodes.stages import Pace, next_stage
from moorage.nodes.statuses import gates_of, is_ready, pod_status
from moorage.objects import ObjectReference

logger = logging.getLogger(__name__)

_PODS = resource_of("Pod")


@dataclass(slots=True)
class ServedNode:
    """A node with its pods, by uid."""

    node: HollowNode
    room: Room
    runs: dict[str, Run] = field(default_factory=dict)

    @property
    def is_stopped(self) -> bool:
        return self.node.is_stopped


class Kubelets:
    """Takes nodes and pods as informers tell of them (`serve`, `leave`, `observe`, `forget`), and lets the pods live.

    Nobody is let in before `open_doors`: then all pods are known, and those that ran before keep their place.
    """

    def __init__(
        self,
        client: Client,
        *,
        pace: Pace,
        clock: Callable[[], float],
        recorder: EventRecorder | None = None,
    ) -> None:
        self._client = client
        self._pace = pace
        self._clock = clock
        self._recorder = recorder
        self._nodes: dict[str, ServedNode] = {}
        self._runs: dict[str, Run] = {}
        self._at_the_door: dict[str, dict[str, HostedPod]] = {}
        self._is_open = False
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._addresses = PodAddresses()
        self._writes: WorkQueue[str] = WorkQueue("kubelet")

    async def run(self, *, writers: int = 32) -> None:
        """Write what happens to pods, until cancelled."""
        try:
            await self._writes.run(self._write, workers=writers)
        finally:
            for timer in self._timers.values():
                timer.cancel()

    def serve(self, node: HollowNode) -> None:
        """Be the kubelet of a node, or take note of what has changed about it."""
        served = self._nodes.get(node.metadata.name)
        if served is None:
            served = self._nodes[node.metadata.name] = ServedNode(node, Room(_room(node)))
            self._let_in(served)
            return
        was_stopped = served.is_stopped
        served.node = node
        served.room.allocatable = _room(node)
        if was_stopped and not served.is_stopped:
            self._let_in(served)
            for run in list(served.runs.values()):
                self._writes.add(run.uid)
                self._plan(run)

    def leave(self, name: str) -> None:
        """The node is gone, or no longer ours: what becomes of its pods is for others to say."""
        served = self._nodes.pop(name, None)
        for run in list(served.runs.values()) if served is not None else ():
            self._drop(run)
            self._at_the_door.setdefault(name, {})[run.uid] = run.pod

    def open_doors(self) -> None:
        """All pods are known from here on."""
        self._is_open = True
        for served in self._nodes.values():
            self._let_in(served)

    def observe(self, pod: HostedPod) -> None:
        """A pod has a node, or has changed."""
        run = self._runs.get(pod.metadata.uid)
        if run is None:
            self._at_the_door.setdefault(pod.spec.node_name, {})[pod.metadata.uid] = pod
            served = self._nodes.get(pod.spec.node_name)
            if served is not None:
                self._let_in(served)
            return
        run.pod = pod
        self._take_note(run)
        if pod.spec.readiness_gates and is_ready(run, gates_of(pod)) != _is_said_ready(pod):
            self._writes.add(run.uid)
        self._plan(run)

    def forget(self, pod: HostedPod) -> None:
        """A pod is gone from the API."""
        uid, node_name = pod.metadata.uid, pod.spec.node_name
        at_the_door = self._at_the_door.get(node_name)
        if at_the_door is not None:
            at_the_door.pop(uid, None)
            if not at_the_door:
                del self._at_the_door[node_name]
        run = self._runs.get(uid)
        if run is not None:
            self._drop(run)
            self._addresses.give_back(run.ip)

    def _let_in(self, served: ServedNode) -> None:
        if not self._is_open or served.is_stopped:
            return
        waiting = self._at_the_door.pop(served.node.metadata.name, {}).values()
        for pod in _in_order(waiting):
            run = self._admit(pod, served)
            self._runs[run.uid] = served.runs[run.uid] = run
            self._take_note(run)
            self._plan(run)

    def _admit(self, pod: HostedPod, served: ServedNode) -> Run:
        """Recall a pod that was here before, or let a new one in if it fits; one that does not has failed."""
        now = self._clock()
        share, refusal = _read(pod)
        run = recalled(pod, share, now)
        if run is not None:
            self._addresses.hold(run.ip)
            if not run.is_finished:
                served.room.take(share)
            return run
        run = Run(pod, pod.spec.node_name, State.STARTING, share, admitted_at=now, changed_at=now)
        refusal = refusal or misfit(pod, served.node) or served.room.refusal(share)
        if refusal is not None:
            self._refuse(run, refusal)
            return run
        served.room.take(share)
        run.ip = served.node.internal_ip if pod.spec.host_network else self._addresses.take()
        # Whoever does not start at once shows that it is here.
        self._writes.add(run.uid)
        return run

    def _refuse(self, run: Run, refusal: Refusal) -> None:
        run.state, run.is_refused = State.FAILED, True
        run.reason, run.message = refusal.reason, f"Pod was rejected: {refusal.message}"
        self._writes.add(run.uid)
        if self._recorder is not None:
            meta = run.pod.metadata
            regarding = ObjectReference("v1", "Pod", meta.namespace, meta.name, meta.uid)
            self._recorder.record(
                regarding, reason=refusal.reason, action="Rejected", note=refusal.message, type=WARNING
            )

    def _take_note(self, run: Run) -> None:
        """Read what people have written on the pod; what cannot be read leaves things as they were."""
        try:
            run.told = read_instructions(run.pod)
        except InputError as error:
            logger.warning("pod %s: %s", run.pod.key, error)
        if run.pod.is_terminating and run.terminating_since is None:
            run.terminating_since = self._clock()

    def _plan(self, run: Run) -> None:
        """Let everything happen that is due, and come back for what is not."""
        timer = self._timers.pop(run.uid, None)
        if timer is not None:
            timer.cancel()
        served = self._nodes[run.node_name]
        while not served.is_stopped and (coming := next_stage(run, self._pace)) is not None:
            due, stage = coming
            now = self._clock()
            if due > now:
                self._timers[run.uid] = asyncio.get_running_loop().call_later(due - now, self._plan, run)
                return
            held_room = not run.is_finished
            stage.happens(run, now)
            if held_room and run.is_finished:
                served.room.release(run.share)
            self._writes.add(run.uid)

    def _drop(self, run: Run) -> None:
        del self._runs[run.uid]
        timer = self._timers.pop(run.uid, None)
        if timer is not None:
            timer.cancel()
        served = self._nodes.get(run.node_name)
        if served is not None:
            del served.runs[run.uid]
            if not run.is_finished:
                served.room.release(run.share)

    async def _write(self, uid: str) -> float | None:
        run = self._runs.get(uid)
        served = self._nodes.get(run.node_name) if run is not None else None
        if run is None or served is None or served.is_stopped:
            return None
        try:
            if run.state is not State.REMOVED or (run.pod.metadata.finalizers and not run.pod.is_terminal):
                await self._write_status(run, served)
            if run.state is State.REMOVED:
                await self._delete(run)
        except (NotFound, Conflict) as error:
            # Gone, or another pod by now: the informer tells us which.
            logger.debug("pod %s: %s", run.pod.key, error)
        except Invalid as error:
            logger.warning("pod %s: %s", run.pod.key, error)
        return None

    async def _write_status(self, run: Run, served: ServedNode) -> None:
        meta = run.pod.metadata
        patch = {"metadata": {"uid": meta.uid}, "status": pod_status(run, served.node.internal_ip)}
        await self._client.patch(_PODS.path(meta.namespace, meta.name, "status"), msgspec.json.encode(patch))

    async def _delete(self, run: Run) -> None:
        meta = run.pod.metadata
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta.uid}}
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", **options})
        await self._client.delete(_PODS.path(meta.namespace, meta.name), body)


def _in_order(pods: Iterable[HostedPod]) -> list[HostedPod]:
    """Those who were here before, then those who were bound, in the order of their making."""
    return sorted(pods, key=lambda pod: (pod.status.phase in ("", "Pending"), pod.metadata.creation_timestamp))


def _room(node: HollowNode) -> dict[str, int]:
    try:
        return dict(room_of(node))
    except InputError as error:
        logger.warning("node %s: %s", node.metadata.name, error)
        return {}


def _read(pod: HostedPod) -> tuple[Share, Refusal | None]:
    """What the pod asks of its node, and why it cannot run if nobody can read what it asks or is told."""
    try:
        share = share_of(pod)
    except InputError as error:
        return Share({}, ()), Refusal("UnexpectedAdmissionError", str(error))
    try:
        read_instructions(pod)
    except InputError as error:
        return share, Refusal("InvalidAnnotation", str(error))
    return share, None


def _is_said_ready(pod: HostedPod) -> bool:
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions)
