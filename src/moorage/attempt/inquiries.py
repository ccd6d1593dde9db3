"""Attempts whose decision waits for what extenders say.

The pod stays in flight meanwhile, and others are decided. When the answer is there the pod is decided again, from the
beginning, on the cluster as it then is. Where the pod itself has changed, what it was asked about is no more: the
question is taken back and the attempt begins anew; a pod that is gone, or has a node, is let go.

So many are asked about at once and no more (`room`). Those beyond are put off, so that pods that concern no extender
do not wait behind them; when there is room the most important of them begins anew. A pod like one that is put off would
end in the same question: it is put off without being decided.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from moorage.attempt.room import Places, PutOff, Room
from moorage.attempt.world import Job, World
from moorage.cluster import ClusterState
from moorage.columns import PodInfo
from moorage.engine.asking import Answer, Answers, Extender, Question
from moorage.queue import QueuedPod, SchedulingQueue

MOST_ASKING: Final = 32
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
        extenders: Sequence[Extender] = (),
        at_most: int = MOST_ASKING,
    ) -> None:
        self._world = world
        self._cluster = cluster
        self._queue = queue
        self._go_on = go_on
        self._wake = wake
        self._room = Room(extenders, at_most)
        self._open: dict[str, Inquiry] = {}
        self._put_off = PutOff(self._room)
        self._anew: deque[QueuedPod] = deque()
        #: Those of them that room is kept for.
        self._resumed: dict[str, Places] = {}

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
        """What has to be attempted anew: its pod has changed, or there is room for it now."""
        if not self._anew:
            return None
        queued = self._anew.popleft()
        self._let_go_of_room(queued)
        return queued

    def puts_off(self, queued: QueuedPod, pod: PodInfo) -> bool:
        """Whether an attempt is put off before it has begun: there is no room, and a pod like it waits for that."""
        if not self._put_off or not self._put_off.has_like(pod) or self._room.has(self._room.places(pod)):
            return False
        self._put_off.add(queued, pod)
        return True

    def ask(self, inquiry: Inquiry) -> None:
        """Put the question, and the attempt goes on with its answer; or put it off, and the attempt begins anew."""
        places = self._room.places(inquiry.pod)
        if not inquiry.answers.given and not self._room.has(places):
            self._put_off.add(inquiry.queued, inquiry.pod)
            return
        self._room.enter(places)
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
        self.resume()
        self._wake()

    def stop(self) -> None:
        """Take everything back: the process stops."""
        self._anew.extend(self._take_back(inquiry) for inquiry in list(self._open.values()))
        self._anew.extend(self._put_off.take_all())
        while self._anew:
            self._queue.done(self._anew.popleft().pod.uid)

    def _take_back(self, inquiry: Inquiry) -> QueuedPod:
        self._close(inquiry)
        if inquiry.job is not None:
            inquiry.job.cancel()
        return inquiry.queued

    def _close(self, inquiry: Inquiry) -> None:
        del self._open[inquiry.pod.uid]
        self._room.leave(self._room.places(inquiry.pod))

    def resume(self) -> None:
        """Where there is room the most important of those put off begin anew; until they do the room is kept."""
        while (queued := self._put_off.take_next()) is not None:
            self._anew.append(queued)
            places = self._resumed[queued.pod.uid] = self._room.places(queued.pod)
            self._room.enter(places)

    def _let_go_of_room(self, queued: QueuedPod) -> None:
        places = self._resumed.pop(queued.pod.uid, None)
        if places is not None:
            self._room.leave(places)

    async def _run(self, inquiry: Inquiry) -> None:
        asked = self._room.ask(inquiry.question, self._world.now())
        answer = await self._world.ask(inquiry.question)
        self._room.hear(inquiry.question, asked, answer, self._world.now())
        if self._open.get(inquiry.pod.uid) is not inquiry:
            return  # it was taken back at the very moment the answer came
        self._close(inquiry)
        self._go_on(inquiry, answer)
        self.resume()
        self._wake()


def is_same_question(before: PodInfo, after: PodInfo) -> bool:
    """Whether a newer version of a pod leaves what was asked about it as it was: only its status changed."""
    old, new = before.pod, after.pod
    return old.spec == new.spec and (
        (old.metadata.labels, old.metadata.annotations, old.metadata.deletion_timestamp)
        == (new.metadata.labels, new.metadata.annotations, new.metadata.deletion_timestamp)
    )
