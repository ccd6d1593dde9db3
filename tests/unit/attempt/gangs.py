"""A run with gangs of both APIs in it."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from msgspec.structs import replace
from tests.unit.attempt.conftest import Rig

from moorage.attempt.scripted import Bind, Measured
from moorage.columns import GroupInfo
from moorage.config import parse_config
from moorage.config.gates import features_of
from moorage.engine.engine import default_registry
from moorage.objects import (
    GangPolicy,
    LabelledPodGroup,
    LabelledPodGroupSpec,
    Node,
    ObjectMeta,
    Pod,
    PodGroup,
    PodGroupSpec,
    SchedulingPolicy,
)
from moorage.objects.pod import SchedulingGroup
from moorage.testing import PodBuilder, Run, a_node, a_pod

_numbers = count(1)
LABEL = "scheduling.x-k8s.io/pod-group"
MULTI_POINT = {
    "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
    "queueSort": {"disabled": [{"name": "Coscheduling"}]},
}


class GangRig(Rig):
    """`native`: groups are of scheduling.k8s.io, else of scheduling.x-k8s.io."""

    def __init__(
        self,
        *,
        native: bool = False,
        version: str = "1.37",
        plugins: Sequence[type] = (),
        gates: Any = None,
        **config: Any,
    ) -> None:
        self.native = native
        on = {"GenericWorkload": True, **({"GangScheduling": True} if version == "1.36" else {}), **(gates or {})}
        features = features_of(version, on if native else None)
        registry = default_registry()
        registry.register_all(plugins)
        head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        profiles = {} if native else {"profiles": [{"plugins": MULTI_POINT}]}
        parsed = parse_config({**head, **profiles, **config}, known=registry.known, features=features)
        Run.__init__(self, config=parsed, registry=registry)

    def nodes(self, count: int, cpu: str = "2", **labels: str) -> None:
        """Nodes with so many CPUs."""
        for _ in range(count):
            number = len(self.core.cluster.snapshot.nodes)
            self.node(a_node(f"n{number}").allocatable(cpu=cpu, pods="110").labels(labels))

    def group(self, name: str, minimum: int, **annotations: str) -> None:
        """A group is made, or changed: then its status stays."""
        kind: Any = PodGroup if self.native else LabelledPodGroup
        before = self.objects.all(kind).get(f"default/{name}")
        meta = ObjectMeta(
            name=name,
            namespace="default",
            uid=f"group-{name}-{next(_numbers)}" if before is None else before.metadata.uid,
            annotations={key.replace("__", "/").replace("_", "-"): value for key, value in annotations.items()},
        )
        if self.native:
            policy = SchedulingPolicy(gang=GangPolicy(min_count=minimum))
            item: Any = PodGroup(metadata=meta, spec=PodGroupSpec(scheduling_policy=policy))
        else:
            item = LabelledPodGroup(metadata=meta, spec=LabelledPodGroupSpec(min_member=minimum))
        self.objects.set(item if before is None else replace(item, status=before.status))
        self.settle()

    def ungroup(self, name: str) -> None:
        """A group is deleted."""
        self.objects.drop(PodGroup if self.native else LabelledPodGroup, f"default/{name}")
        self.settle()

    def member(self, group: str, name: str, cpu: str = "1") -> PodBuilder:
        """A pod of a group."""
        pod = a_pod(name).metadata(uid=f"uid-{name}").requests(cpu=cpu)
        if self.native:
            return pod.spec(scheduling_group=SchedulingGroup(pod_group_name=group))
        return pod.labels({LABEL: group})

    def gang(self, name: str, size: int, minimum: int | None = None, cpu: str = "1", **annotations: str) -> None:
        """A group and its pods, which come one after the other."""
        self.group(name, size if minimum is None else minimum, **annotations)
        for number in range(size):
            self.pod(self.member(name, f"{name}-{number}", cpu))
        self.settle()

    def successor(self) -> "GangRig":
        """Another process, after this one was killed."""
        other = GangRig(native=self.native)
        for kind in (Node, PodGroup, LabelledPodGroup, Pod):
            for item in list(self.objects.all(kind).values()):
                other.objects.set(item)
        return other

    def bound(self, group: str = "") -> list[str]:
        """The members that have a node."""
        return [name for name, node in self.nodes_of().items() if node and name.startswith(group)]

    def find(self, name: str) -> GroupInfo:
        """The group as the scheduler knows it."""
        prefix = "podgroups" if self.native else "podgroups.scheduling.x-k8s.io"
        found = self.core.cluster.snapshot.groups.get(f"{prefix}/default/{name}")
        assert found is not None, name
        return found

    def told(self, name: str, type_: str = "PodGroupInitiallyScheduled") -> tuple[str, str]:
        """Status and message of a condition of a group."""
        item: Any = self.get(PodGroup if self.native else LabelledPodGroup, name)
        return next(((one.status, one.message) for one in item.status.conditions if one.type == type_), ("", ""))

    def attempts(self) -> int:
        """How often a group was decided."""
        observer = self.world.observer
        assert isinstance(observer, Measured)
        return sum(one[0] == "decided group" for one in observer.told)

    def binds(self) -> int:
        """How many binds were asked for."""
        return len(self.asked(Bind))
