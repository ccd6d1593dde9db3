"""PodGroups of scheduling.x-k8s.io, as their controller reads them."""

from typing import ClassVar

from moorage.controllers.objects.meta import Managed
from moorage.objects import Struct


class PodGroupSpec(Struct, frozen=True):
    """How many pods make the group whole."""

    min_member: int = 0


class PodGroupStatus(Struct, frozen=True):
    """How far the group is. Conditions are the scheduler's, and not read here."""

    phase: str = ""
    occupied_by: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: str = ""


class PodGroup(Managed, frozen=True):
    """Pods that are scheduled together: those with its name in their label."""

    API_VERSION: ClassVar[str] = "scheduling.x-k8s.io/v1alpha1"
    KIND: ClassVar[str] = "PodGroup"
    PLURAL: ClassVar[str] = "podgroups"

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()
