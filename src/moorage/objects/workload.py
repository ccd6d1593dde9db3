"""What owns pods and what guards them: services, replica controllers, budgets, priorities, groups."""

from typing import Any, ClassVar

from moorage.objects.meta import Condition, KubeObject, LabelSelector, Quantities, Struct


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


class GangPolicy(Struct, frozen=True):
    """All or nothing, from `minCount` members on."""

    min_count: int = 0


class SchedulingPolicy(Struct, frozen=True):
    """How a group is scheduled; without a gang, member by member."""

    gang: GangPolicy | None = None


class CompositeGangPolicy(Struct, frozen=True):
    """All or nothing, from `minGroupCount` groups on."""

    min_group_count: int = 0


class CompositeSchedulingPolicy(Struct, frozen=True):
    """How a group of groups is scheduled."""

    gang: CompositeGangPolicy | None = None


class TopologyConstraint(Struct, frozen=True):
    """All members in one domain of this node label."""

    key: str = ""


class SchedulingConstraints(Struct, frozen=True):
    """Where members may go in relation to each other."""

    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionMode(Struct, frozen=True):
    """Whether members are disrupted one by one (`single`) or only together (`all`)."""

    single: dict[str, Any] | None = None
    all: dict[str, Any] | None = None


class PodGroupStatus(Struct, frozen=True):
    """What became of the group."""

    conditions: tuple[Condition, ...] = ()


class PodGroupSpec(Struct, frozen=True):
    """The policy of a pod group."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    #: In v1alpha2 a word: Pod or PodGroup.
    disruption_mode: DisruptionMode | str | None = None
    priority: int | None = None
    preemption_policy: str = ""
    #: The group of groups it stands in.
    parent_composite_pod_group_name: str = ""


class PodGroup(KubeObject, frozen=True):
    """Pods that are scheduled together, as 1.37 serves it."""

    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1beta1"
    KIND: ClassVar[str] = "PodGroup"
    PLURAL: ClassVar[str] = "podgroups"

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class PodGroupAlpha(PodGroup, frozen=True):
    """The same as 1.36 serves it."""

    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1alpha2"


class CompositePodGroupSpec(Struct, frozen=True):
    """The policy of a group of groups."""

    scheduling_policy: CompositeSchedulingPolicy = CompositeSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority: int | None = None
    preemption_policy: str = ""
    parent_composite_pod_group_name: str = ""


class CompositePodGroup(KubeObject, frozen=True):
    """Groups that are scheduled together."""

    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1alpha3"
    KIND: ClassVar[str] = "CompositePodGroup"
    PLURAL: ClassVar[str] = "compositepodgroups"

    spec: CompositePodGroupSpec = CompositePodGroupSpec()


class Workload(KubeObject, frozen=True):
    """What groups are made from; scheduling does not read it."""

    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1beta1"
    KIND: ClassVar[str] = "Workload"
    PLURAL: ClassVar[str] = "workloads"


class LabelledPodGroupSpec(Struct, frozen=True):
    """How many pods make the group whole, what they take together, and how long they wait for each other."""

    min_member: int = 0
    min_resources: Quantities = {}
    schedule_timeout_seconds: int | None = None


class LabelledPodGroupStatus(Struct, frozen=True):
    """What became of the group: the controller's phase, the scheduler's conditions."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class LabelledPodGroup(KubeObject, frozen=True):
    """A PodGroup of scheduling.x-k8s.io: its pods name it in the label `scheduling.x-k8s.io/pod-group`."""

    API_VERSION: ClassVar[str] = "scheduling.x-k8s.io/v1alpha1"
    KIND: ClassVar[str] = "PodGroup"
    PLURAL: ClassVar[str] = "podgroups"

    spec: LabelledPodGroupSpec = LabelledPodGroupSpec()
    status: LabelledPodGroupStatus = LabelledPodGroupStatus()
