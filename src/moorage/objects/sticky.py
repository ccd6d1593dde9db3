"""StickyJobs, as scheduling reads them, and the annotations their pods carry."""

from typing import ClassVar, Final

import msgspec

from moorage.objects.meta import Condition, KubeObject, Struct
from moorage.objects.pod import PodSpec

LAST_NODE: Final = "example.com/last-node"
LAST_NODE_UID: Final = "example.com/last-node-uid"
STATUS_VERSION: Final = "example.com/sticky-version"
"""Annotations of a pod: where its job ran last, and as of which version of the job."""

PREFERRED: Final = "Preferred"
REQUIRED: Final = "Required"
COMPLETE: Final = "Complete"


class StickyJobTemplate(Struct, frozen=True):
    """The pod, as far as it takes room."""

    spec: PodSpec = PodSpec()


class StickyJobSpec(Struct, frozen=True):
    """How much the job wants its node back."""

    template: StickyJobTemplate = StickyJobTemplate()
    stickiness: str = PREFERRED
    wait_seconds: int | None = None
    seat_seconds: int = 0


class StickyJobStatus(Struct, frozen=True):
    """Where the job ran last, and whether it runs."""

    last_node: str = ""
    last_node_uid: str = msgspec.field(name="lastNodeUID", default="")
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class StickyJob(KubeObject, frozen=True):
    """A job that runs one pod at a time, on the node it last ran on."""

    API_VERSION: ClassVar[str] = "example.com/v1"
    KIND: ClassVar[str] = "StickyJob"
    PLURAL: ClassVar[str] = "stickyjobs"

    spec: StickyJobSpec = StickyJobSpec()
    status: StickyJobStatus = StickyJobStatus()
