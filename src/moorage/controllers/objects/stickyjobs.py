"""StickyJobs, as their controller reads them."""

from typing import ClassVar

import msgspec

from moorage.controllers.objects.meta import Condition, Managed
from moorage.controllers.objects.workloads import Template
from moorage.objects import Struct


class StickyJobSpec(Struct, frozen=True):
    """What runs, and how often it has to succeed (None: it runs until it is deleted)."""

    template: Template = {}
    completions: int | None = None


class StickyJobStatus(Struct, frozen=True):
    """Where it ran last, and how it stands."""

    last_node: str = ""
    last_node_uid: str = msgspec.field(name="lastNodeUID", default="")
    phase: str = ""
    pod_name: str = ""
    pod_uid: str = msgspec.field(name="podUID", default="")
    """The last pod whose end has been counted."""
    succeeded: int = 0
    failures: int = 0
    retry_time: str = ""
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class StickyJob(Managed, frozen=True):
    """Runs one pod at a time, on the node it last ran on."""

    API_VERSION: ClassVar[str] = "example.com/v1"
    KIND: ClassVar[str] = "StickyJob"
    PLURAL: ClassVar[str] = "stickyjobs"

    spec: StickyJobSpec = StickyJobSpec()
    status: StickyJobStatus = StickyJobStatus()

    @property
    def is_complete(self) -> bool:
        """Whether it has succeeded as often as it was to."""
        wanted = self.spec.completions
        return wanted is not None and self.status.succeeded >= wanted
