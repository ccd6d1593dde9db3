"""A controller: keys that want attention, and what to do with one."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from moorage.controllers.objects.meta import Managed
from moorage.controllers.runtime.informers import Informers, key_of
from moorage.controllers.runtime.writer import Writer
from moorage.kube.informer import Key
from moorage.kube.recorder import NORMAL, EventRecorder
from moorage.kube.workqueue import WorkQueue
from moorage.objects import ObjectReference
from moorage.values.time import format_time


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """What a controller is given: what is known of the cluster, and how to change it. `clock` tells seconds since 1970.

    `scheduler_name` is for pods whose template names no scheduler, where a controller has to choose one.
    """

    informers: Informers
    writer: Writer
    recorder: EventRecorder
    clock: Callable[[], float]
    scheduler_name: str = "default-scheduler"

    def now(self) -> str:
        """This moment, as the API writes it."""
        return format_time(self.clock())


Right = tuple[str, tuple[str, ...], tuple[str, ...]]
"""API group, resources, verbs."""

SECONDS_PER_OBJECT = 100e-6
LONGEST_GATHERING = 2.0
"""Who has to look at many objects lets changes of them gather for a while: so long for each, so long at most."""


class Controller(ABC):
    """Brings objects of one kind to the state they ask for, one key at a time.

    A subclass asks the cluster's informers to tell it of changes when it is made, adds keys to `queue`, and brings
    one up to date in `sync`. What `sync` raises is tried again later.
    """

    name: ClassVar[str]
    workers: ClassVar[int] = 4
    rights: ClassVar[tuple[Right, ...]] = ()
    """What a service account that runs it alone must be allowed."""

    def __init__(self, cluster: ControllerContext) -> None:
        self.cluster = cluster
        self.queue: WorkQueue[Any] = WorkQueue(self.name)

    @abstractmethod
    async def sync(self, key: Any) -> float | None:
        """Do for one object what has to be done. Returns after how many seconds to look at it again, if at all."""

    async def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Ask the server what has to be known before informers are started."""

    async def run(self) -> None:
        """Work until cancelled."""
        await self.queue.run(self.sync, workers=self.workers)

    def enqueue(self, old: Managed | None, new: Managed | None) -> None:
        """Look at whatever has changed."""
        self.queue.add(_key_of_either(old, new))

    def enqueue_counting(self, key: Any, count: int) -> None:
        """Look at a key that takes a walk through `count` objects: the more there are, the less often."""
        self.queue.add_after(key, min(int(count * SECONDS_PER_OBJECT * 100) / 100, LONGEST_GATHERING))

    def record(self, regarding: Managed, reason: str, note: str, *, action: str, event_type: str = NORMAL) -> None:
        """Note for people what happened to an object."""
        meta = regarding.metadata
        reference = ObjectReference(
            regarding.API_VERSION, regarding.KIND, meta.namespace, meta.name, meta.uid, meta.resource_version
        )
        self.cluster.recorder.record(reference, reason=reason, action=action, note=note, type=event_type)


def _key_of_either(old: Managed | None, new: Managed | None) -> Key:
    changed = new if new is not None else old
    assert changed is not None, "a change has an old or a new state"
    return key_of(changed)
