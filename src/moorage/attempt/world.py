"""The world: everything an attempt awaits, writes or tells, on one page.

A host gives one to the coroutines of this package and drives them: `live` with tasks and an API server, others with the
trampoline of `virtual`. The world owns time, timers and cancellation, fences what is written (nothing is sent by a
process that may no longer act), limits and repeats it, and answers in the words of `framework.writes`.
"""

from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from moorage.columns import GroupInfo, PodInfo
from moorage.engine import Failure, GroupOutcome, Placement
from moorage.engine.asking import Answer, Extender, Question
from moorage.engine.timing import PointObserver
from moorage.errors import MoorageError
from moorage.framework.handle import ApiClient
from moorage.framework.writes import BindAnswer, Done, NotDone, WriteAnswer
from moorage.objects import Condition, KubeObject

Value = TypeVar("Value")
Kind = TypeVar("Kind", bound=KubeObject)

#: The logger whose INFO lines speak of single pods: hosts show them only to who wants to read that much.
POD_LOGGER: Final = "moorage.attempt.pods"

NORMAL, WARNING = "Normal", "Warning"


class SelfCancelled(MoorageError):
    """What a plugin awaited was cancelled, and not by us."""


@dataclass(slots=True)  # not frozen: to make a frozen one costs each pod a microsecond more
class PodEvent:
    """Something people are told about a pod, or about something else, in the name of a profile. Never changed."""

    profile: str
    pod: PodInfo | None
    reason: str
    action: str
    note: str
    kind: str = NORMAL
    #: The group it is about; None where it is about the pod.
    group: GroupInfo | None = None
    #: Whether the same may happen again, so that it is counted rather than told each time.
    repeats: bool = True
    #: The object it is about, where that is neither a pod nor a group; `pod` is None then.
    about: KubeObject | None = None

    @property
    def item(self) -> KubeObject:
        """The object it is about."""
        if self.about is not None:
            return self.about
        if self.group is not None:
            return self.group.item
        assert self.pod is not None, "it is about something"
        return self.pod.pod


class Timer(Protocol):
    """A call to come."""

    def cancel(self) -> None:
        """It will not come."""


class Job(Protocol):
    """Work that goes on beside whoever began it."""

    def cancel(self) -> None:
        """End it: what it awaits raises the world's `cancellation`, once. It begins before it is told."""


class Promise(Protocol[Value]):
    """A value that somebody else gives, once."""

    def done(self) -> bool:
        """Whether it was given, or nobody waits for it any more."""

    def set_result(self, value: Value, /) -> None:
        """Give it."""

    def result(self) -> Value:
        """What was given; only once it is `done`."""


class Observer(PointObserver, Protocol):
    """Is told what to measure; seconds by the world's clock."""

    def decided(self, outcome: Placement | Failure, seconds: float) -> None:
        """A decision came out so, and took so long."""

    def decided_group(self, key: str, outcome: GroupOutcome, seconds: float) -> None:
        """A decision on a group came out so, and took so long."""

    def sent_back(self, failure: Failure) -> None:
        """A pod goes back into the queue, for this reason."""

    def held(self, label: str, seconds: float) -> None:
        """A pod was held at Permit for so long."""

    def preempting(self, victims: int | None) -> None:
        """Preemption was considered; it chose so many victims, None where it chose no node."""

    def scheduled(self, profile: str, attempts: int, *, attempt: float, since_ready: float | None) -> None:
        """A pod was bound."""

    def failed(self, profile: str, *, is_error: bool, attempt: float) -> None:
        """An attempt ended without a node."""


class Beside(Protocol):
    """Work beside what goes on: what plugins have running in the background needs no more of a world."""

    @property
    def cancellation(self) -> type[BaseException]:
        """What a cancelled job is told by. Undo and let it pass; nothing a plugin raises arrives as this."""

    def spawn(self, work: Coroutine[Any, Any, None]) -> Job:
        """Begin work beside this. What it raises is a bug: the host says so and goes on."""

    async def ended(self, jobs: Collection[Job], *, at_most: float | None = None) -> bool:
        """Wait until all of them have ended, or for so many seconds. Whether they have."""

    async def run(self, awaitable: Any) -> Any:
        """Await what a plugin gave. A cancellation of its own raises SelfCancelled: an error, like any other of its."""


class World(Beside, Protocol):
    """What an attempt may ask of the process around it."""

    # Time; work beside is above.

    def now(self) -> float:
        """Seconds of the epoch; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Have something called when so much time has passed."""

    def promise(self) -> Promise[Value]:
        """A promise nobody has kept yet."""

    async def kept(self, promise: Promise[Value]) -> Value:
        """Wait for a promise that one coroutine alone waits for."""

    async def run_in_thread(self, call: Callable[[], Any]) -> Any:
        """Call what a plugin wants to run where it holds up nobody. To be awaited in `run`, like what plugins give."""

    # Writing. The names say which lane it takes; nothing here raises.

    async def bind(self, pod: PodInfo, node_name: str, *, uncertain: bool) -> BindAnswer:
        """Bind a pod; with `uncertain` an earlier try may have worked: then a pod found on that node is Bound."""

    async def evict(self, pod: PodInfo, condition: Condition) -> WriteAnswer:
        """Write why the pod has to go, then delete it: that very pod, whoever bears its name by now."""

    async def patch_status(self, pod: PodInfo, status: Mapping[str, Any]) -> WriteAnswer:
        """Merge into the pod's status: conditions by their type, null takes a field away."""

    # Extenders.

    async def ask(self, question: Question) -> Answer:
        """Put a decision's question to its extenders. Where it cannot be, the answer is Broken."""

    async def bind_through(self, extender: Extender, pod: PodInfo, node_name: str) -> BindAnswer:
        """Have an extender bind a pod."""

    # What plugins read and write.

    async def read(self, kind: type[Kind], name: str, namespace: str) -> Kind | NotDone:
        """An object as the API server has it now."""

    async def create(self, item: Kind) -> Kind | NotDone:
        """Make an object; answers it as the API server keeps it."""

    async def patch(
        self, kind: type[Kind], name: str, namespace: str, patch: Mapping[str, Any], subresource: str
    ) -> Kind | NotDone:
        """Merge into an object; a resourceVersion in the patch makes anybody else's change a Conflict."""

    async def delete(self, item: KubeObject) -> Done | NotDone:
        """Delete that very object."""

    @property
    def client(self) -> ApiClient:
        """An API client whose writes are fenced and limited like those above, for plugins that need more."""

    # Telling.

    def record(self, event: PodEvent) -> None:
        """Tell people. Returns at once; what nobody can be told is dropped."""

    @property
    def observer(self) -> Observer:
        """Who measures."""
