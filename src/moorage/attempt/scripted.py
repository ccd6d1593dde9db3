"""A world whose answers are the caller's: what an attempt asks for becomes a Request, and `answer` says what follows.

    world = ScriptedWorld(answer=lambda request: LATER if isinstance(request, Bind) else AGREED)
    world.time.run()                    # everything goes as far as it gets
    world.open[0].give(Bound())         # the bind is answered
    world.time.advance(10)              # back-off, timers, Permit

Requests are answered at once unless `answer` says LATER; then they stand in `open`, in order, to be answered in any.
"""

from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from moorage.attempt.virtual import Cancelled, VirtualJob, VirtualPromise, VirtualTime, VirtualTimer, promise_of
from moorage.attempt.world import Job, Observer, PodEvent, Promise
from moorage.columns import PodInfo
from moorage.engine import Failure, GroupOutcome, Placement
from moorage.engine.asking import Answer, Broken, Extender, Question
from moorage.framework.handle import ApiClient
from moorage.framework.writes import BindAnswer, Bound, Done, NotDone, Refused, WriteAnswer
from moorage.objects import Condition, KubeObject

Value = TypeVar("Value")
Kind = TypeVar("Kind", bound=KubeObject)

LATER: Final = object()
"""What `answer` says of a request that is answered later."""


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind the pod."""

    pod: PodInfo
    node_name: str
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Evict:
    """Evict the pod."""

    pod: PodInfo
    condition: Condition


@dataclass(frozen=True, slots=True)
class PatchStatus:
    """Merge into the pod's status."""

    pod: PodInfo
    status: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """Read an object."""

    kind: type[KubeObject]
    name: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Create:
    """Make an object."""

    item: KubeObject


@dataclass(frozen=True, slots=True)
class Patch:
    """Merge into an object."""

    kind: type[KubeObject]
    name: str
    namespace: str
    patch: Mapping[str, Any]
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an object."""

    item: KubeObject


@dataclass(frozen=True, slots=True)
class Ask:
    """Put a question to extenders."""

    question: Question


@dataclass(frozen=True, slots=True)
class BindThrough:
    """Have an extender bind the pod."""

    extender: Extender
    pod: PodInfo
    node_name: str


Request = Bind | Evict | PatchStatus | Ask | BindThrough | Read | Create | Patch | Delete


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request that waits for its answer."""

    request: Request
    _answer: VirtualPromise[Any]

    def give(self, answer: Any) -> None:
        """Answer it. Nothing goes on before the time's next `run`."""
        self._answer.set_result(answer)


@dataclass(slots=True)
class Measured:
    """An observer that keeps what it was told, each as (what, labels or numbers)."""

    told: list[tuple[Any, ...]] = field(default_factory=list)

    def decided(self, outcome: Placement | Failure, seconds: float) -> None:
        """A decision came out so, and took so long."""
        self.told.append(("decided", outcome.pod.key, seconds))

    def decided_group(self, key: str, outcome: GroupOutcome, seconds: float) -> None:
        """A decision on a group came out so, and took so long."""
        self.told.append(("decided group", key, outcome.status, seconds))

    def sent_back(self, failure: Failure) -> None:
        """A pod goes back into the queue."""
        self.told.append(("sent back", failure.pod.key, failure.full_message))

    def point(self, point: str, label: str, profile: str) -> Callable[[float], None]:
        """Whom to tell how long the plugins of a point took."""
        return lambda seconds: self.told.append(("ran", point, label, profile, seconds))

    def call(self, point: str, label: str, plugin: str) -> Callable[[float], None]:  # noqa: ARG002 - nobody asks
        """For how long one call of a plugin takes, by no clock of this world."""
        return lambda _seconds: None

    def sum_up(self) -> None:
        """Nothing waits for it."""

    def held(self, label: str, seconds: float) -> None:
        """A pod was held at Permit for so long."""
        self.told.append(("held", label, seconds))

    def preempting(self, victims: int | None) -> None:
        """Preemption was considered."""
        self.told.append(("preempting", victims))

    def scheduled(self, profile: str, attempts: int, *, attempt: float, since_ready: float | None) -> None:
        """A pod was bound."""
        self.told.append(("scheduled", profile, attempts, attempt, since_ready))

    def failed(self, profile: str, *, is_error: bool, attempt: float) -> None:
        """An attempt ended without a node."""
        self.told.append(("failed", profile, is_error, attempt))


def agree(request: Request) -> Any:
    """The answer of a server that carries everything out and holds no objects."""
    match request:
        case Bind() | BindThrough():
            return Bound()
        case Ask():
            return Broken("this world has no extenders")
        case Create(item):
            return item
        case Read(kind, name) | Patch(kind, name):
            return Refused(f"{kind.__name__} {name}: this world holds no objects", code=404, reason="NotFound")
        case _:
            return Done()


class ScriptedWorld:
    """A World on virtual time. `answer` is asked at once for each request; LATER leaves it open."""

    def __init__(
        self,
        answer: Callable[[Request], Any] = agree,
        *,
        time: VirtualTime | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.time = time or VirtualTime()
        self.answer = answer
        #: Everything asked for, in order.
        self.requests: list[Request] = []
        #: What is not answered yet.
        self.open: list[OpenRequest] = []
        self.events: list[PodEvent] = []
        self._observer: Observer = observer or Measured()

    # Time, and work beside.

    @property
    def cancellation(self) -> type[BaseException]:
        """What a cancelled job is told by."""
        return Cancelled

    def now(self) -> float:
        """Virtual seconds."""
        return self.time.now

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await self.time.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], None]) -> VirtualTimer:
        """Have something called when so much time has passed."""
        return self.time.call_later(seconds, call)

    def spawn(self, work: Coroutine[Any, Any, None]) -> VirtualJob:
        """Begin work beside this."""
        return self.time.spawn(work)

    async def ended(self, jobs: Collection[Job], *, at_most: float | None = None) -> bool:
        """Wait until all of them have ended, or for so many seconds."""
        return await self.time.ended([job for job in jobs if isinstance(job, VirtualJob)], at_most)

    def promise(self) -> VirtualPromise[Value]:
        """A promise nobody has kept yet."""
        return VirtualPromise()

    async def kept(self, promise: Promise[Value]) -> Value:
        """Wait for a promise."""
        return await promise_of(promise)

    async def run(self, awaitable: Any) -> Any:
        """Await what a plugin gave."""
        return await self.time.run_plugin(awaitable)

    async def run_in_thread(self, call: Callable[[], Any]) -> Any:
        """There are no threads, and no time passes: it is called at once."""
        return call()

    # Writing.

    async def bind(self, pod: PodInfo, node_name: str, *, uncertain: bool) -> BindAnswer:
        """Bind a pod."""
        answer: BindAnswer = await self._ask(Bind(pod, node_name, uncertain))
        return answer

    async def evict(self, pod: PodInfo, condition: Condition) -> WriteAnswer:
        """Evict a pod."""
        answer: WriteAnswer = await self._ask(Evict(pod, condition))
        return answer

    async def patch_status(self, pod: PodInfo, status: Mapping[str, Any]) -> WriteAnswer:
        """Merge into the pod's status."""
        answer: WriteAnswer = await self._ask(PatchStatus(pod, status))
        return answer

    # Extenders.

    async def ask(self, question: Question) -> Answer:
        """Put a decision's question to its extenders."""
        answer: Answer = await self._ask(Ask(question))
        return answer

    async def bind_through(self, extender: Extender, pod: PodInfo, node_name: str) -> BindAnswer:
        """Have an extender bind a pod."""
        answer: BindAnswer = await self._ask(BindThrough(extender, pod, node_name))
        return answer

    # What plugins read and write.

    async def read(self, kind: type[Kind], name: str, namespace: str) -> Kind | NotDone:
        """An object as it is now."""
        answer: Kind | NotDone = await self._ask(Read(kind, name, namespace))
        return answer

    async def create(self, item: Kind) -> Kind | NotDone:
        """Make an object."""
        answer: Kind | NotDone = await self._ask(Create(item))
        return answer

    async def patch(
        self, kind: type[Kind], name: str, namespace: str, patch: Mapping[str, Any], subresource: str
    ) -> Kind | NotDone:
        """Merge into an object."""
        answer: Kind | NotDone = await self._ask(Patch(kind, name, namespace, patch, subresource))
        return answer

    async def delete(self, item: KubeObject) -> Done | NotDone:
        """Delete an object."""
        answer: Done | NotDone = await self._ask(Delete(item))
        return answer

    @property
    def client(self) -> ApiClient:
        """There is no API server here."""
        raise RuntimeError("this world has no API server: use the handle's typed reads and writes")

    # Telling.

    def record(self, event: PodEvent) -> None:
        """Keep the event."""
        self.events.append(event)

    @property
    def observer(self) -> Observer:
        """Who measures."""
        return self._observer

    async def _ask(self, request: Request) -> Any:
        self.requests.append(request)
        answer = self.answer(request)
        if answer is not LATER:
            return answer
        waiting = OpenRequest(request, VirtualPromise())
        self.open.append(waiting)
        try:
            return await waiting._answer
        finally:
            self.open.remove(waiting)
