"""Pods with what scheduling derives from them, computed once and shared between equal pods."""

import math
from collections.abc import Mapping
from functools import cached_property
from weakref import WeakValueDictionary

import msgspec

from moorage.objects import Affinity, Container, Pod, PodSpec, PodStatus, Toleration
from moorage.values.nodeselector import RequiredNodeAffinity, required_node_affinity
from moorage.values.podaffinity import NO_TERMS, PodAffinityTerms, pod_affinity_terms
from moorage.values.ports import HostPort, host_ports
from moorage.values.requests import DEFAULT_RULES, Request, RequestRules, pod_request
from moorage.values.taint import without_comparisons
from moorage.values.time import parse_time

_encode = msgspec.msgpack.Encoder().encode


class PodClass:
    """Pods alike in every part of the spec that decides a node by itself, without looking at other nodes.

    Namespace, labels, volumes, inter-pod affinity and spreading are not part of it: what depends on those depends on
    the rest of the cluster too. Verdicts and scores of plugins that look at one node alone are kept per class.
    """

    def __init__(self, pod: Pod, rules: RequestRules = DEFAULT_RULES) -> None:
        #: The first pod seen of this class; only the parts that define the class may be read from it.
        self.example = pod
        self.rules = rules

    @cached_property
    def request(self) -> Request:
        """What a pod of this class asks of a node."""
        return pod_request(self.example, rules=self.rules)

    @cached_property
    def tolerations(self) -> tuple[Toleration, ...]:
        """The tolerations that count."""
        tolerations = self.example.spec.tolerations
        return tolerations if self.rules.compared_taints else without_comparisons(tolerations)

    @cached_property
    def ports(self) -> tuple[HostPort, ...]:
        """The host ports it wants."""
        return host_ports(self.example)

    @cached_property
    def node_affinity(self) -> RequiredNodeAffinity:
        """What it requires of a node's labels and name."""
        return required_node_affinity(self.example)


class LabelGroup:
    """Pods alike in namespace, labels and whether they are being deleted; selectors are matched per group."""

    def __init__(self, namespace: str, labels: Mapping[str, str], *, terminating: bool) -> None:
        self.namespace = namespace
        self.labels = labels
        self.terminating = terminating
        #: row -> how many pods of the group lie there.
        self.rows: dict[int, int] = {}
        #: The PodGroup that the labels name, "" for none; None before somebody has looked: see columns.groups.
        self.path: str | None = None


class AffinityClass:
    """Pods alike in namespace and inter-pod affinity; their terms are compiled once."""

    def __init__(self, pod: Pod) -> None:
        self._example = pod

    @cached_property
    def terms(self) -> PodAffinityTerms:
        """The compiled inter-pod affinity, as far as the spec compiles."""
        return pod_affinity_terms(self._example)


class PodInfo:
    """A pod and what is derived from it. Immutable: a changed pod gets a new PodInfo."""

    __slots__ = (
        "affinity_class",
        "label_group",
        "labels",
        "namespace",
        "pod",
        "pod_class",
        "priority",
        "request",
        "spec",
        "started",
        "uid",
    )

    def __init__(
        self,
        pod: Pod,
        pod_class: PodClass,
        label_group: LabelGroup,
        affinity_class: AffinityClass | None,
        request: Request | None = None,
    ) -> None:
        self.pod = pod
        self.pod_class = pod_class
        self.label_group = label_group
        #: None where the pod has no inter-pod affinity at all.
        self.affinity_class = affinity_class
        self.spec = pod.spec
        #: Pods in hand-written files have none: then their key tells them apart.
        self.uid = pod.metadata.uid or pod.key
        self.namespace = pod.metadata.namespace
        self.labels: Mapping[str, str] = pod.metadata.labels
        self.priority = pod.spec.priority or 0
        #: When the pod started, in seconds since the epoch; infinitely late if it has not.
        self.started = parse_time(pod.status.start_time) if pod.status.start_time else math.inf
        #: What the pod takes of the node it is on: its class' request, unless a resize in place is under way.
        if request is None:
            rules = pod_class.rules
            request = pod_request(pod, on_node=True, rules=rules) if _is_resized(pod) else pod_class.request
        self.request = request

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"

    @property
    def name(self) -> str:
        """metadata.name"""
        return self.pod.metadata.name

    @property
    def annotations(self) -> Mapping[str, str]:
        """metadata.annotations"""
        return self.pod.metadata.annotations

    @property
    def key(self) -> str:
        """`namespace/name`"""
        return self.pod.key

    def bound_to(self, node_name: str) -> "PodInfo":
        """The pod as it will be once bound, sharing everything derived from it."""
        pod = msgspec.structs.replace(self.pod, spec=msgspec.structs.replace(self.pod.spec, node_name=node_name))
        return PodInfo(pod, self.pod_class, self.label_group, self.affinity_class, self.request)

    def with_priority(self, priority: int) -> "PodInfo":
        """The pod as it would be with another priority."""
        pod = msgspec.structs.replace(self.pod, spec=msgspec.structs.replace(self.pod.spec, priority=priority))
        return PodInfo(pod, self.pod_class, self.label_group, self.affinity_class, self.request)

    def renewed(self, pod: Pod) -> "PodInfo":
        """A newer version of the pod in which nothing changed that is derived: all of that is shared."""
        return PodInfo(pod, self.pod_class, self.label_group, self.affinity_class, self.request)

    @property
    def terms(self) -> PodAffinityTerms:
        """The compiled inter-pod affinity. Raises InputError where the spec does not compile."""
        return NO_TERMS if self.affinity_class is None else self.affinity_class.terms.checked()


class PodIndex:
    """Makes PodInfos, sharing classes and label groups between pods that are alike."""

    def __init__(self, rules: RequestRules = DEFAULT_RULES) -> None:
        self.rules = rules
        self._classes: WeakValueDictionary[bytes, PodClass] = WeakValueDictionary()
        self._groups: WeakValueDictionary[object, LabelGroup] = WeakValueDictionary()
        self._affinities: WeakValueDictionary[bytes, AffinityClass] = WeakValueDictionary()

    def info(self, pod: Pod, *, on_node: bool = False) -> PodInfo:
        """The pod with everything derived from it.

        A pod that runs is of the same class wherever it runs; one that is to be scheduled may name its node.
        """
        return PodInfo(pod, self._class_of(pod, on_node=on_node), self.group_of(pod), self._affinity_of(pod))

    def _class_of(self, pod: Pod, *, on_node: bool) -> PodClass:
        key = _class_key(pod.spec, "" if on_node else pod.spec.node_name)
        if not on_node and _is_resized(pod):
            key += _resize_key(pod.status)
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = PodClass(pod, self.rules)
        return known

    def group_of(self, pod: Pod) -> LabelGroup:
        """The pods that are selected alike."""
        meta = pod.metadata
        key = (meta.namespace, frozenset(meta.labels.items()), bool(meta.deletion_timestamp))
        known = self._groups.get(key)
        if known is None:
            known = self._groups[key] = LabelGroup(meta.namespace, meta.labels, terminating=pod.is_terminating)
        return known

    def _affinity_of(self, pod: Pod) -> AffinityClass | None:
        affinity = pod.spec.affinity
        if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
            return None
        key = _encode((pod.metadata.namespace, affinity.pod_affinity, affinity.pod_anti_affinity))
        known = self._affinities.get(key)
        if known is None:
            known = self._affinities[key] = AffinityClass(pod)
        return known


def _class_key(spec: PodSpec, node_name: str) -> bytes:
    affinity: Affinity | None = spec.affinity
    return _encode(
        (
            [_container_key(c) for c in spec.containers],
            [_container_key(c) for c in spec.init_containers],
            [v.image.reference for v in spec.volumes if v.image is not None],
            node_name,
            spec.node_selector,
            affinity.node_affinity if affinity else None,
            spec.tolerations,
            spec.overhead,
            spec.resources,
            spec.host_network,
            spec.host_users,
        )
    )


def _resize_key(status: PodStatus) -> bytes:
    """What a resize in place says of the pod's requests: scores depend on it, too."""
    told = [
        (one.name, one.resources, one.allocated_resources)
        for one in (*status.init_container_statuses, *status.container_statuses)
    ]
    return _encode((told, status.resources, status.allocated_resources, status.conditions))


def _is_resized(pod: Pod) -> bool:
    status = pod.status
    if status.resources is not None or status.allocated_resources:
        return True
    statuses = status.container_statuses + status.init_container_statuses
    return bool(statuses) and any(one.resources is not None or one.allocated_resources for one in statuses)


def _container_key(container: Container) -> tuple[object, ...]:
    return (
        container.image,
        container.resources.requests,
        [port for port in container.ports if port.host_port],
        container.restart_policy,
        container.restart_policy_rules,
    )
