"""What owns pods and what guards them: services, replica controllers, budgets, priorities, groups."""

from typing import ClassVar

from moorage.objects.meta import KubeObject, LabelSelector, Struct


class ServiceSpec(Struct, frozen=True):
    """Which pods a service reaches."""

    selector: dict[str, str] = {}


class Service(KubeObject, frozen=True):
    """A service."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "Service"

    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Struct, frozen=True):
    """Which pods it counts as its own."""

    selector: dict[str, str] = {}


class ReplicationController(KubeObject, frozen=True):
    """The old way to keep replicas."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "ReplicationController"

    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class SelectorSpec(Struct, frozen=True):
    """The selector of a ReplicaSet or StatefulSet."""

    selector: LabelSelector | None = None


class ReplicaSet(KubeObject, frozen=True):
    """Keeps replicas of a pod template."""

    API_VERSION: ClassVar[str] = "apps/v1"
    KIND: ClassVar[str] = "ReplicaSet"

    spec: SelectorSpec = SelectorSpec()


class StatefulSet(KubeObject, frozen=True):
    """Keeps replicas with identities."""

    API_VERSION: ClassVar[str] = "apps/v1"
    KIND: ClassVar[str] = "StatefulSet"

    spec: SelectorSpec = SelectorSpec()


class PodDisruptionBudgetSpec(Struct, frozen=True):
    """Which pods the budget guards."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(Struct, frozen=True):
    """How many more of them may be disturbed now."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = {}


class PodDisruptionBudget(KubeObject, frozen=True):
    """A limit on voluntary disruptions."""

    API_VERSION: ClassVar[str] = "policy/v1"
    KIND: ClassVar[str] = "PodDisruptionBudget"

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(KubeObject, frozen=True):
    """A name for a priority."""

    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1"
    KIND: ClassVar[str] = "PriorityClass"
    NAMESPACED: ClassVar[bool] = False

    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""


class GangPolicy(Struct, frozen=True, gc=False):
    """All or nothing, from `minCount` members on."""

    min_count: int = 0


class SchedulingPolicy(Struct, frozen=True):
    """How a group is scheduled; without a gang, member by member."""

    gang: GangPolicy | None = None


class PodGroupSpec(Struct, frozen=True):
    """The policy of a pod group."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    priority: int | None = None
    #: The group of groups it stands in.
    parent_composite_pod_group_name: str = ""


class PodGroup(KubeObject, frozen=True):
    """Pods that are scheduled together."""

    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1alpha2"
    KIND: ClassVar[str] = "PodGroup"

    spec: PodGroupSpec = PodGroupSpec()
