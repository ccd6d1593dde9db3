"""The bindings under way: how far each has come, and stopping one from outside."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from moorage.attempt.permits import HeldPod
from moorage.attempt.placing import Placed
from moorage.attempt.world import Job
from moorage.columns import PodInfo
from moorage.queue import QueuedPod


class Stage(Enum):
    """How far a binding has come."""

    PERMIT = "held at Permit"
    PRE_BIND = "being prepared"
    BIND = "being bound"


@dataclass(slots=True, eq=False)
class Binding:
    """A placed pod on its way to its node. The members of a group have one each."""

    queued: QueuedPod
    placed: Placed
    #: When the attempt began.
    started: float
    held: HeldPod | None = None
    stage: Stage = Stage.PERMIT
    job: Job | None = None
    #: Why it has to make room for another pod, "" if it does not.
    preempted: str = ""
    #: Whether it was told to end.
    is_stopped: bool = False
    #: Whether it is measured how long each of its plugins takes.
    is_measured: bool = False
    #: Whether what it took was given back already, so that nothing it does counts any more.
    is_undone: bool = False
    #: The node that somebody else bound the pod to, "" as far as is known.
    taken_to: str = ""

    @property
    def pod(self) -> PodInfo:
        """The pod."""
        return self.placed.placement.pod

    @property
    def node_name(self) -> str:
        """Where it goes."""
        return self.placed.placement.node_name

    def stop(self) -> None:
        """End it: what it waits for is cancelled."""
        self.is_stopped = True
        if self.job is not None:
            self.job.cancel()


class UnderWay:
    """Every binding under way, by uid."""

    def __init__(self) -> None:
        self._bindings: dict[str, Binding] = {}
        #: Those whose request is waiting or on the wire.
        self.writing = 0

    def __iter__(self) -> Iterator[Binding]:
        return iter(list(self._bindings.values()))

    def __len__(self) -> int:
        return len(self._bindings)

    def get(self, uid: str) -> Binding | None:
        """The binding of that pod."""
        return self._bindings.get(uid)

    def add(self, binding: Binding) -> None:
        """It has begun."""
        self._bindings[binding.pod.uid] = binding

    def remove(self, binding: Binding) -> None:
        """It has ended, however."""
        if self._bindings.get(binding.pod.uid) is binding:
            del self._bindings[binding.pod.uid]

    def preempt(self, uid: str, plugin: str) -> bool:
        """Stop a pod that has to make room before it is bound. False where it is not under way, or too late."""
        binding = self._bindings.get(uid)
        if binding is None or binding.stage is Stage.BIND or binding.is_stopped:
            return False
        binding.preempted = f"preempted by {plugin}"
        binding.stop()
        return True
