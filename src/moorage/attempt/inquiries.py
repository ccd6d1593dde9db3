"""Attempts whose decision waits for what extenders say.

The pod stays in flight meanwhile, and others are decided. When the answer is there the pod is decided again, from the
beginning, on the cluster as it then is. Where the pod itself has changed, what it was asked about is no more: the
question is taken back and the attempt begins anew; a pod that is gone, or has a node, is let go.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from moorage.attempt.world import Job, World
from moorage.cluster import ClusterState
from moorage.columns import PodInfo
from moorage.framework.asking import Answer, Answers, Question
from moorage.queue import QueuedPod, SchedulingQueue

MOST_ASKING: Final = 16
"""Attempts that wait for extenders at the same time: each is decided on what was known before the others had nodes."""


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
        self._anew: deque[QueuedPod] = deque()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._open)

    @property
    def has_room(self) -> bool:
        """Whether one more may ask."""
        return len(self._open) < self._at_most

    @property
    def has_anew(self) -> bool:
        """Whether an attempt has to begin anew."""
        return bool(self._anew)

    def next_anew(self) -> QueuedPod | None:
        """What has to be attempted anew: its pod has changed."""
        return self._anew.popleft() if self._anew else None

    def ask(self, inquiry: Inquiry) -> None:
        """Put the question; the attempt goes on with its answer."""
        self._open[inquiry.pod.uid] = inquiry
        inquiry.job = self._world.spawn(self._run(inquiry))

    def pod_changed(self, uid: str) -> None:
        """A pod has changed, is gone or has a node: see whether somebody is asked about it."""
        inquiry = self._open.get(uid)
        if inquiry is None:
            return
        current = self._cluster.pending(uid)
        if current is not None and is_same_question(inquiry.pod, current):
            return
        self._close(inquiry)
        if current is None:
            self._queue.done(uid)
        else:
            self._anew.append(inquiry.queued)
        self._wake()

    def stop(self) -> None:
        """Take everything back: the process stops."""
        for inquiry in list(self._open.values()):
            self._close(inquiry)
            self._queue.done(inquiry.pod.uid)
        while self._anew:
            self._queue.done(self._anew.popleft().pod.uid)

    def _close(self, inquiry: Inquiry) -> None:
        del self._open[inquiry.pod.uid]
        if inquiry.job is not None:
            inquiry.job.cancel()

    async def _run(self, inquiry: Inquiry) -> None:
        answer = await self._world.ask(inquiry.question)
        if self._open.get(inquiry.pod.uid) is not inquiry:
            return  # it was taken back at the very moment the answer came
        del self._open[inquiry.pod.uid]
        self._go_on(inquiry, answer)
        self._wake()


def is_same_question(before: PodInfo, after: PodInfo) -> bool:
    """Whether a newer version of a pod leaves what was asked about it as it was: only its status changed."""
    old, new = before.pod, after.pod
    return old.spec == new.spec and (
        (old.metadata.labels, old.metadata.annotations, old.metadata.deletion_timestamp)
        == (new.metadata.labels, new.metadata.annotations, new.metadata.deletion_timestamp)
    )
