"""Attempts whose decision waits for what extenders say.

The pod stays in flight meanwhile, and others are decided. When the answer is there the pod is decided again, from the
beginning, on the cluster as it then is. Where the pod itself has changed, what it was asked about is no more: the
question is taken back and the attempt begins anew; a pod that is gone, or has a node, is let go.

So many are asked about at once and no more. Those beyond are put off, so that pods no extender is interested in do not
wait behind them; when there is room the most important of them begins anew. A pod like one that is put off would end in
the same question: it is put off without being decided.
"""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from moorage.attempt.world import Job, World
from moorage.cluster import ClusterState
from moorage.columns import PodClass, PodInfo
from moorage.engine.asking import Answer, Answers, Question
from moorage.queue import QueuedPod, SchedulingQueue

MOST_ASKING: Final = 16
"""Attempts that wait for extenders at the same time: each is decided on what was known before the others had nodes."""

MOST_PUT_OFF: Final = 256
"""Attempts put off, beyond which no other pod is decided: what comes later may be more urgent."""


@dataclass(slots=True, eq=False)
class Inquiry:
    """An attempt that has asked something."""

    queued: QueuedPod
    #: The pod as it was when the attempt began.
    pod: PodInfo
    answers: Answers
    question: Question
    #: When the attempt began.
    started: float
    job: Job | None = None


class _PutOff:
    """Attempts that wait until there is room to ask: the most important is next, of equals the one put off first."""

    def __init__(self) -> None:
        self._pods: dict[str, PodInfo] = {}
        self._by_priority: dict[int, dict[str, QueuedPod]] = {}
        self._classes: Counter[PodClass] = Counter()

    def __len__(self) -> int:
        return len(self._pods)

    def has_like(self, pod: PodInfo) -> bool:
        """Whether a pod of the same class is among them."""
        return pod.pod_class in self._classes

    def get(self, uid: str) -> PodInfo | None:
        """The pod as it was when it was put off."""
        return self._pods.get(uid)

    def add(self, queued: QueuedPod, pod: PodInfo) -> None:
        self._pods[pod.uid] = pod
        self._by_priority.setdefault(pod.priority, {})[pod.uid] = queued
        self._classes[pod.pod_class] += 1

    def take(self, uid: str) -> QueuedPod:
        """It does not wait any more."""
        pod = self._pods.pop(uid)
        alike = self._by_priority[pod.priority]
        queued = alike.pop(uid)
        if not alike:
            del self._by_priority[pod.priority]
        self._classes[pod.pod_class] -= 1
        if not self._classes[pod.pod_class]:
            del self._classes[pod.pod_class]
        return queued

    def take_next(self) -> QueuedPod | None:
        if not self._pods:
            return None
        return self.take(next(iter(self._by_priority[max(self._by_priority)])))


class Inquiries:
    """The attempts that wait for answers. `go_on` is called with each answer, in a step of its own."""

    def __init__(
        self,
        *,
        world: World,
        cluster: ClusterState,
        queue: SchedulingQueue,
        go_on: Callable[[Inquiry, Answer], None],
        wake: Callable[[], None],
        at_most: int = MOST_ASKING,
    ) -> None:
        self._world = world
        self._cluster = cluster
        self._queue = queue
        self._go_on = go_on
        self._wake = wake
        self._at_most = at_most
        self._open: dict[str, Inquiry] = {}
        self._put_off = _PutOff()
        self._anew: deque[QueuedPod] = deque()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._open)

    @property
    def has_room(self) -> bool:
        """Whether another pod may be decided, though it may have to ask."""
        return len(self._put_off) < MOST_PUT_OFF

    @property
    def has_anew(self) -> bool:
        """Whether an attempt has to begin anew."""
        return bool(self._anew)

    def next_anew(self) -> QueuedPod | None:
        """What has to be attempted anew: its pod has changed."""
        return self._anew.popleft() if self._anew else None

    def puts_off(self, queued: QueuedPod, pod: PodInfo) -> bool:
        """Whether an attempt is put off before it has begun: there is no room, and a pod like it waits for that."""
        if len(self._open) < self._at_most or not self._put_off.has_like(pod):
            return False
        self._put_off.add(queued, pod)
        return True

    def ask(self, inquiry: Inquiry) -> None:
        """Put the question, and the attempt goes on with its answer; or put it off, and the attempt begins anew."""
        if len(self._open) >= self._at_most and not inquiry.answers.given:
            self._put_off.add(inquiry.queued, inquiry.pod)
            return
        self._open[inquiry.pod.uid] = inquiry
        inquiry.job = self._world.spawn(self._run(inquiry))

    def pod_changed(self, uid: str) -> None:
        """A pod has changed, is gone or has a node: see whether somebody is asked about it."""
        inquiry = self._open.get(uid)
        before = inquiry.pod if inquiry is not None else self._put_off.get(uid)
        if before is None:
            return
        current = self._cluster.pending(uid)
        if current is not None and is_same_question(before, current):
            return
        queued = self._put_off.take(uid) if inquiry is None else self._take_back(inquiry)
        if current is None:
            self._queue.done(uid)
        else:
            self._anew.append(queued)
        if inquiry is not None:
            self._resume()
        self._wake()

    def stop(self) -> None:
        """Take everything back: the process stops."""
        for inquiry in list(self._open.values()):
            self._anew.append(self._take_back(inquiry))
        while (queued := self._put_off.take_next()) is not None:
            self._anew.append(queued)
        while self._anew:
            self._queue.done(self._anew.popleft().pod.uid)

    def _take_back(self, inquiry: Inquiry) -> QueuedPod:
        del self._open[inquiry.pod.uid]
        if inquiry.job is not None:
            inquiry.job.cancel()
        return inquiry.queued

    def _resume(self) -> None:
        """There is room for one more: the most important of those put off begins anew."""
        if (queued := self._put_off.take_next()) is not None:
            self._anew.append(queued)

    async def _run(self, inquiry: Inquiry) -> None:
        answer = await self._world.ask(inquiry.question)
        if self._open.get(inquiry.pod.uid) is not inquiry:
            return  # it was taken back at the very moment the answer came
        del self._open[inquiry.pod.uid]
        self._go_on(inquiry, answer)
        if inquiry.pod.uid not in self._open:
            self._resume()
        self._wake()


def is_same_question(before: PodInfo, after: PodInfo) -> bool:
    """Whether a newer version of a pod leaves what was asked about it as it was: only its status changed."""
    old, new = before.pod, after.pod
    return old.spec == new.spec and (
        (old.metadata.labels, old.metadata.annotations, old.metadata.deletion_timestamp)
        == (new.metadata.labels, new.metadata.annotations, new.metadata.deletion_timestamp)
    )
