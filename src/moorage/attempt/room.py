"""Room for attempts that have to ask: so many in all, and at each extender no more than it keeps up with."""

from collections import Counter
from collections.abc import Sequence

from moorage.attempt.pacing import Asked, Pace
from moorage.columns import PodClass, PodInfo
from moorage.engine.asking import Answer, Broken, Extender, PrioritizeAnswer, PrioritizeQuestion, Question
from moorage.queue import QueuedPod

#: The places of the extenders that have a say about a pod.
Places = tuple[int, ...]


class Room:
    """Counts the attempts that are out, at every extender that their pod concerns."""

    def __init__(self, extenders: Sequence[Extender], at_most: int) -> None:
        self._asked = [one for one in extenders if one.filters or one.prioritizes or one.preempts]
        self._left = at_most
        self._paces = {one.place: Pace(one.name, at_most, one.patience) for one in self._asked}
        self._out: Counter[int] = Counter()

    def places(self, pod: PodInfo) -> Places:
        """Whom the pod concerns."""
        return tuple(one.place for one in self._asked if one.is_interested(pod))

    def has(self, places: Places) -> bool:
        """Whether one more attempt may ask these."""
        return self._left > 0 and all(self._out[place] < self._paces[place].size for place in places)

    def enter(self, places: Places) -> None:
        """An attempt is out."""
        self._left -= 1
        self._out.update(places)

    def leave(self, places: Places) -> None:
        """It is not any more."""
        self._left += 1
        self._out.subtract(places)

    def ask(self, question: Question, now: float) -> Asked | None:
        """A question goes out; None where several are asked at once, and nobody can tell whose answer came when."""
        extender = _only(question)
        return None if extender is None else self._paces[extender.place].ask(now, self._out[extender.place] - 1)

    def hear(self, question: Question, asked: Asked | None, answer: Answer, now: float) -> None:
        """It has been answered."""
        extender = _only(question)
        if extender is None or asked is None:
            return
        is_missing = isinstance(answer, PrioritizeAnswer) and extender.place not in answer.scores
        self._paces[extender.place].hear(asked, now, is_broken=is_missing or isinstance(answer, Broken))


def _only(question: Question) -> Extender | None:
    if not isinstance(question, PrioritizeQuestion):
        return question.extender
    return question.extenders[0] if len(question.extenders) == 1 else None


class PutOff:
    """Attempts that wait for room: the most important is next, of equals the one put off first."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._pods: dict[str, PodInfo] = {}
        #: By whom they concern, and by priority.
        self._waiting: dict[Places, dict[int, dict[str, QueuedPod]]] = {}
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
        """It waits from now on."""
        self._pods[pod.uid] = pod
        group = self._waiting.setdefault(self._room.places(pod), {})
        group.setdefault(pod.priority, {})[pod.uid] = queued
        self._classes[pod.pod_class] += 1

    def take(self, uid: str) -> QueuedPod:
        """It does not wait any more."""
        pod = self._pods.pop(uid)
        places = self._room.places(pod)
        group = self._waiting[places]
        alike = group[pod.priority]
        queued = alike.pop(uid)
        if not alike:
            del group[pod.priority]
        if not group:
            del self._waiting[places]
        self._classes[pod.pod_class] -= 1
        if not self._classes[pod.pod_class]:
            del self._classes[pod.pod_class]
        return queued

    def take_next(self) -> QueuedPod | None:
        """The most important of those that there is room for."""
        priorities = [(max(group), places) for places, group in self._waiting.items() if self._room.has(places)]
        if not priorities:
            return None
        priority, places = max(priorities)
        return self.take(next(iter(self._waiting[places][priority])))

    def take_all(self) -> list[QueuedPod]:
        """Nobody waits any more."""
        return [self.take(uid) for uid in list(self._pods)]
