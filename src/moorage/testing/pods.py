"""The builder of pods."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from moorage.columns import PodInfo, Snapshot
from moorage.objects import (
    Affinity,
    Container,
    ContainerPort,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaimSource,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PreferredSchedulingTerm,
    Quantities,
    ResourceRequirements,
    SchedulingGate,
    Toleration,
    TopologySpreadConstraint,
    Volume,
    WeightedPodAffinityTerm,
)
from moorage.testing.nodes import HOSTNAME, ZONE

Labels = Mapping[str, str]
Amounts = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class PodBuilder:
    """A pod in the making. Every call gives a new builder."""

    pod: Pod

    def build(self) -> Pod:
        """The pod. Its uid follows from namespace and name unless it was given one."""
        metadata = self.pod.metadata
        return self.pod if metadata.uid else self.metadata(uid=f"{metadata.namespace}-{metadata.name}-uid").pod

    def info(self) -> PodInfo:
        """The pod as plugins are handed it, for tests that call a plugin's methods themselves."""
        return Snapshot().info(self.build())

    # -------------------------------------------------------------------------------------------------------- who it is

    def namespace(self, name: str) -> "PodBuilder":
        """Its namespace, "default" if nobody says otherwise."""
        return self.metadata(namespace=name)

    def labels(self, labels: Labels | None = None, /, **more: str) -> "PodBuilder":
        """Further labels; keys that are no Python names go into a mapping."""
        return self.metadata(labels={**self.pod.metadata.labels, **(labels or {}), **more})

    def annotations(self, annotations: Labels | None = None, /, **more: str) -> "PodBuilder":
        """Further annotations."""
        return self.metadata(annotations={**self.pod.metadata.annotations, **(annotations or {}), **more})

    def owned_by(self, kind: str, name: str) -> "PodBuilder":
        """Its controller, as `.owned_by("ReplicaSet", "web")`."""
        owner = OwnerReference("apps/v1", kind, name, f"{name}-uid", controller=True)
        return self.metadata(owner_references=(*self.pod.metadata.owner_references, owner))

    def terminating(self) -> "PodBuilder":
        """Being deleted, but still there."""
        return self.metadata(deletion_timestamp="2026-01-01T00:00:00Z")

    # ---------------------------------------------------------------------------------------------- what it consists of

    def requests(self, amounts: Amounts | None = None, /, **more: str | int | float) -> "PodBuilder":
        """What its first container asks for: `.requests(cpu="500m")`, `.requests({"example.com/gpu": 1})`."""
        return self._main(resources=ResourceRequirements(requests={**(amounts or {}), **more}))

    def image(self, name: str) -> "PodBuilder":
        """The image of its first container."""
        return self._main(image=name)

    def host_port(self, port: int, *, protocol: str = "TCP", address: str = "") -> "PodBuilder":
        """A port its first container takes on the node."""
        ports = self.pod.spec.containers[0].ports
        return self._main(ports=(*ports, ContainerPort(port, port, address, protocol)))

    def container(self, *, image: str = "", requests: Amounts | None = None) -> "PodBuilder":
        """One more container."""
        others = self.pod.spec.containers
        return self.spec(containers=(*others, _container(f"container-{len(others)}", image, requests)))

    def init_container(
        self, *, image: str = "", requests: Amounts | None = None, sidecar: bool = False
    ) -> "PodBuilder":
        """One more init container, or a sidecar, which keeps running."""
        others = self.pod.spec.init_containers
        made = _container(f"init-{len(others)}", image, requests, "Always" if sidecar else "")
        return self.spec(init_containers=(*others, made))

    def overhead(self, amounts: Amounts | None = None, /, **more: str | int | float) -> "PodBuilder":
        """What running it costs on top of its containers."""
        return self.spec(overhead={**(amounts or {}), **more})

    def claim(self, name: str) -> "PodBuilder":
        """A volume from a PersistentVolumeClaim of its namespace."""
        volume = Volume(name=name, persistent_volume_claim=PersistentVolumeClaimSource(name))
        return self.spec(volumes=(*self.pod.spec.volumes, volume))

    # -------------------------------------------------------------------------------------------------- where it stands

    def on(self, node: str) -> "PodBuilder":
        """Running on a node."""
        return self.spec(node_name=node)

    def nominated_to(self, node: str) -> "PodBuilder":
        """Promised a node by preemption."""
        return self.status(nominated_node_name=node)

    def started(self, time: str) -> "PodBuilder":
        """Since when it runs, as in "2026-01-01T00:00:00Z"."""
        return self.status(start_time=time)

    def priority(self, value: int, *, preempts: bool = True) -> "PodBuilder":
        """How important it is, and whether others may be evicted for it."""
        return self.spec(priority=value, preemption_policy="" if preempts else "Never")

    def scheduler(self, name: str) -> "PodBuilder":
        """The profile it asks for."""
        return self.spec(scheduler_name=name)

    def gated(self, *gates: str) -> "PodBuilder":
        """Kept out of the queue by these gates."""
        return self.spec(scheduling_gates=(*self.pod.spec.scheduling_gates, *map(SchedulingGate, gates)))

    # ---------------------------------------------------------------------------------------------- what nodes it wants

    def tolerates(self, key: str = "", value: str | None = None, *, effect: str = "") -> "PodBuilder":
        """Puts up with a taint: any value unless one is given, any effect, any key at all without one."""
        operator = "Exists" if value is None else "Equal"
        toleration = Toleration(key, operator, value or "", effect)
        return self.spec(tolerations=(*self.pod.spec.tolerations, toleration))

    def node_selector(self, labels: Labels | None = None, /, **more: str) -> "PodBuilder":
        """Only nodes with these labels."""
        return self.spec(node_selector={**self.pod.spec.node_selector, **(labels or {}), **more})

    def requires_nodes(self, key: str, operator: str, *values: str) -> "PodBuilder":
        """Required node affinity: `.requires_nodes("disk", "In", "ssd")`. A further call adds an alternative."""
        before = self._node_affinity.required_during_scheduling_ignored_during_execution or NodeSelector()
        terms = (*before.node_selector_terms, _node_term(key, operator, values))
        return self._with_node_affinity(required_during_scheduling_ignored_during_execution=NodeSelector(terms))

    def prefers_nodes(self, weight: int, key: str, operator: str, *values: str) -> "PodBuilder":
        """Preferred node affinity with a weight of 1..100."""
        before = self._node_affinity.preferred_during_scheduling_ignored_during_execution
        wish = PreferredSchedulingTerm(weight, _node_term(key, operator, values))
        return self._with_node_affinity(preferred_during_scheduling_ignored_during_execution=(*before, wish))

    # ----------------------------------------------------------------------------------------------- what pods it wants

    def near(self, labels: Labels | None = None, /, *, by: str = HOSTNAME, **more: str) -> "PodBuilder":
        """Required affinity: in the same domain (`by` is the node label) as a pod with these labels."""
        return self._required("pod_affinity", _pod_term(labels, by, more))

    def away_from(self, labels: Labels | None = None, /, *, by: str = HOSTNAME, **more: str) -> "PodBuilder":
        """Required anti-affinity: in no domain with a pod that has these labels."""
        return self._required("pod_anti_affinity", _pod_term(labels, by, more))

    def prefers_near(
        self, weight: int, labels: Labels | None = None, /, *, by: str = HOSTNAME, **more: str
    ) -> "PodBuilder":
        """Preferred affinity with a weight of 1..100."""
        return self._preferred("pod_affinity", WeightedPodAffinityTerm(weight, _pod_term(labels, by, more)))

    def prefers_away_from(
        self, weight: int, labels: Labels | None = None, /, *, by: str = HOSTNAME, **more: str
    ) -> "PodBuilder":
        """Preferred anti-affinity with a weight of 1..100."""
        return self._preferred("pod_anti_affinity", WeightedPodAffinityTerm(weight, _pod_term(labels, by, more)))

    def spread(
        self, labels: Labels | None = None, /, *, by: str = ZONE, max_skew: int = 1, hard: bool = True, **more: str
    ) -> "PodBuilder":
        """A topology spread constraint over the pods with these labels."""
        action = "DoNotSchedule" if hard else "ScheduleAnyway"
        constraint = TopologySpreadConstraint(max_skew, by, action, _selector(labels, more))
        return self.spec(topology_spread_constraints=(*self.pod.spec.topology_spread_constraints, constraint))

    # ---------------------------------------------------------------------------------------------------- anything else

    def metadata(self, **fields: Any) -> "PodBuilder":
        """Any field of metadata, under its name in moorage.objects."""
        return PodBuilder(replace(self.pod, metadata=replace(self.pod.metadata, **fields)))

    def spec(self, **fields: Any) -> "PodBuilder":
        """Any field of spec, under its name in moorage.objects."""
        return PodBuilder(replace(self.pod, spec=replace(self.pod.spec, **fields)))

    def status(self, **fields: Any) -> "PodBuilder":
        """Any field of status, under its name in moorage.objects."""
        return PodBuilder(replace(self.pod, status=replace(self.pod.status, **fields)))

    def _main(self, **fields: Any) -> "PodBuilder":
        first, *others = self.pod.spec.containers
        return self.spec(containers=(replace(first, **fields), *others))

    @property
    def _affinity(self) -> Affinity:
        return self.pod.spec.affinity or Affinity()

    @property
    def _node_affinity(self) -> NodeAffinity:
        return self._affinity.node_affinity or NodeAffinity()

    def _with_node_affinity(self, **fields: Any) -> "PodBuilder":
        return self.spec(affinity=replace(self._affinity, node_affinity=replace(self._node_affinity, **fields)))

    def _required(self, kind: str, term: PodAffinityTerm) -> "PodBuilder":
        before: PodAffinity = getattr(self._affinity, kind) or PodAffinity()
        terms = (*before.required_during_scheduling_ignored_during_execution, term)
        after = replace(before, required_during_scheduling_ignored_during_execution=terms)
        return self.spec(affinity=replace(self._affinity, **{kind: after}))

    def _preferred(self, kind: str, wish: WeightedPodAffinityTerm) -> "PodBuilder":
        before: PodAffinity = getattr(self._affinity, kind) or PodAffinity()
        wishes = (*before.preferred_during_scheduling_ignored_during_execution, wish)
        after = replace(before, preferred_during_scheduling_ignored_during_execution=wishes)
        return self.spec(affinity=replace(self._affinity, **{kind: after}))


def a_pod(name: str = "pod") -> PodBuilder:
    """A pod with one container that asks for nothing, in the namespace `default`.

    >>> a_pod("web").requests(cpu="1", memory="1Gi").labels(app="web").build().key
    'default/web'
    """
    return PodBuilder(Pod(metadata=ObjectMeta(name, "default"), spec=PodSpec(containers=(Container("main"),))))


def _container(name: str, image: str, requests: Amounts | None, restart_policy: str = "") -> Container:
    amounts: Quantities = dict(requests or {})
    return Container(name, image, ResourceRequirements(amounts), restart_policy=restart_policy)


def _node_term(key: str, operator: str, values: tuple[str, ...]) -> NodeSelectorTerm:
    requirement = (NodeSelectorRequirement(key, operator, values),)
    if key == "metadata.name":
        return NodeSelectorTerm(match_fields=requirement)
    return NodeSelectorTerm(match_expressions=requirement)


def _pod_term(labels: Labels | None, by: str, more: Labels) -> PodAffinityTerm:
    return PodAffinityTerm(_selector(labels, more), topology_key=by)


def _selector(labels: Labels | None, more: Labels) -> LabelSelector:
    return LabelSelector({**(labels or {}), **more})
