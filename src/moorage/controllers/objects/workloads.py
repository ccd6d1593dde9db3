"""ReplicaSets, Deployments, Jobs and budgets."""

from math import ceil, floor
from typing import Any, ClassVar

from moorage.controllers.objects.meta import Condition, Managed
from moorage.objects import LabelSelector, Struct

IntOrPercent = int | str
Template = dict[str, Any]


class ReplicaSetSpec(Struct, frozen=True):
    """How many replicas of what."""

    replicas: int = 1
    min_ready_seconds: int = 0
    selector: LabelSelector | None = None
    template: Template = {}


class ReplicaSetStatus(Struct, frozen=True):
    """How many there are."""

    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class ReplicaSet(Managed, frozen=True):
    """Keeps replicas of a pod template."""

    API_VERSION: ClassVar[str] = "apps/v1"
    KIND: ClassVar[str] = "ReplicaSet"

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class RollingUpdate(Struct, frozen=True):
    """By how much a rollout may go above and below the wanted number."""

    max_surge: IntOrPercent = "25%"
    max_unavailable: IntOrPercent = "25%"


class DeploymentStrategy(Struct, frozen=True):
    """How pods of an old template are replaced."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class DeploymentSpec(Struct, frozen=True):
    """What is to run, and how it changes."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: Template = {}
    strategy: DeploymentStrategy = DeploymentStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    paused: bool = False
    progress_deadline_seconds: int | None = None


class DeploymentStatus(Struct, frozen=True):
    """How far the rollout is."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    collision_count: int | None = None
    conditions: tuple[Condition, ...] = ()


class Deployment(Managed, frozen=True):
    """Rolls out ReplicaSets, one for each template."""

    API_VERSION: ClassVar[str] = "apps/v1"
    KIND: ClassVar[str] = "Deployment"

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class StatefulSetSpec(Struct, frozen=True):
    """How many pods a StatefulSet wants."""

    replicas: int = 1


class StatefulSet(Managed, frozen=True):
    """Read only for how many pods it wants."""

    API_VERSION: ClassVar[str] = "apps/v1"
    KIND: ClassVar[str] = "StatefulSet"

    spec: StatefulSetSpec = StatefulSetSpec()


class JobSpec(Struct, frozen=True):
    """How often what has to succeed."""

    parallelism: int = 1
    completions: int | None = None
    backoff_limit: int = 6
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    completion_mode: str = "NonIndexed"
    selector: LabelSelector | None = None
    template: Template = {}


class UncountedPods(Struct, frozen=True):
    """Pods that have ended and still carry the finalizer, by uid: they are in no count yet."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(Struct, frozen=True):
    """What has come of it."""

    active: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    start_time: str = ""
    completion_time: str = ""
    completed_indexes: str = ""
    uncounted_terminated_pods: UncountedPods = UncountedPods()
    conditions: tuple[Condition, ...] = ()


class Job(Managed, frozen=True):
    """Runs pods until enough have succeeded."""

    API_VERSION: ClassVar[str] = "batch/v1"
    KIND: ClassVar[str] = "Job"

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def is_indexed(self) -> bool:
        """Whether each of its completions has a number of its own."""
        return self.spec.completion_mode == "Indexed"


class BudgetSpec(Struct, frozen=True):
    """How many of which pods must stay."""

    selector: LabelSelector | None = None
    min_available: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None


class BudgetStatus(Struct, frozen=True):
    """How many more may go."""

    observed_generation: int = 0
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    disrupted_pods: dict[str, str] = {}
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(Managed, frozen=True):
    """A limit on voluntary disruptions."""

    API_VERSION: ClassVar[str] = "policy/v1"
    KIND: ClassVar[str] = "PodDisruptionBudget"

    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


def scaled(value: IntOrPercent, total: int, *, round_up: bool) -> int:
    """The number meant. What is neither a number nor a percentage counts as none: the API lets it not through."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not (digits.isascii() and digits.isdigit()):
        return 0
    share = int(digits) * total / 100
    return ceil(share) if round_up else floor(share)
