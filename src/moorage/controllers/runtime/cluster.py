"""The cluster, as every controller is given it."""

from collections.abc import Callable
from dataclasses import dataclass

from moorage.controllers.runtime.informers import Informers
from moorage.controllers.runtime.writer import Writer
from moorage.kube.recorder import EventRecorder
from moorage.kube.stamps import time_stamp


@dataclass(frozen=True, slots=True)
class Cluster:
    """What is known of it, and how to change it. `clock` tells seconds since 1970.

    `scheduler_name` is for pods whose template names no scheduler, where a controller has to choose one.
    """

    informers: Informers
    writer: Writer
    recorder: EventRecorder
    clock: Callable[[], float]
    scheduler_name: str = "default-scheduler"

    def now(self) -> str:
        """This moment, as the API writes it."""
        return time_stamp(self.clock())
