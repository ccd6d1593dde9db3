"""The constraints of pods that state none: over the pods that the same services and the same controller select."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moorage.columns import LabelGroup, ObjectStore, PodInfo
from moorage.errors import InputError
from moorage.objects import (
    KubeObject,
    LabelSelector,
    ReplicaSet,
    ReplicationController,
    ReplicationControllerSpec,
    SelectorSpec,
    Service,
    StatefulSet,
    TopologySpreadConstraint,
)
from moorage.plugins.topology_spread.constraints import SOFT
from moorage.values.selector import Selector, compile_selector, from_labels

HOSTNAME = "kubernetes.io/hostname"

SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SOFT),
)

_Controller = type[ReplicationController] | type[ReplicaSet] | type[StatefulSet]
_CONTROLLERS: Mapping[tuple[str, str], _Controller] = {
    (kind.API_VERSION, kind.KIND): kind for kind in (ReplicationController, ReplicaSet, StatefulSet)
}
_MAX_KNOWN = 4096


@dataclass(frozen=True, eq=False, slots=True)
class DefaultSelector:
    """A selector known by its identity: the same object is handed out as long as nothing changed."""

    selector: Selector


class DefaultSelectors:
    """The one selector that stands in all default constraints of a pod."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._services_version = -1
        self._known: dict[tuple[LabelGroup, type[KubeObject] | None, str], tuple[Any, DefaultSelector]] = {}

    def of(self, pod: PodInfo) -> DefaultSelector:
        """What the services that select the pod and its controller ask for, together; empty where nothing does."""
        version = self._objects.version(Service)
        if self._services_version != version or len(self._known) > _MAX_KNOWN:
            self._services_version = version
            self._known.clear()
        kind, name = _owner_of(pod)
        controller = self._objects.get(kind, f"{pod.namespace}/{name}") if kind else None
        spec = controller.spec if controller else None
        key = (pod.label_group, kind, name)
        known = self._known.get(key)
        if known is None or known[0] != spec:
            known = self._known[key] = (spec, DefaultSelector(self._combine(pod.label_group, spec)))
        return known[1]

    def _combine(self, group: LabelGroup, spec: ReplicationControllerSpec | SelectorSpec | None) -> Selector:
        labels: dict[str, str] = {}
        for service in self._objects.by(Service, _namespace_of).get(group.namespace, ()):
            if service.spec.selector.items() <= group.labels.items():
                labels |= service.spec.selector
        if isinstance(spec, ReplicationControllerSpec):
            labels |= spec.selector
        further = _usable(spec.selector).requirements if isinstance(spec, SelectorSpec) else ()
        return Selector(from_labels(labels).requirements + further)


def _owner_of(pod: PodInfo) -> tuple[_Controller | None, str]:
    """The kind and name of the pod's controller; no kind where it has none, or none that counts here."""
    for owner in pod.pod.metadata.owner_references:
        if owner.controller:
            return _CONTROLLERS.get((owner.api_version, owner.kind)), owner.name
    return None, ""


def _usable(selector: LabelSelector | None) -> Selector:
    """The selector as far as it narrows anything: a malformed or absent one is overlooked, as in kube-scheduler."""
    try:
        compiled = compile_selector(selector)
    except InputError:
        return Selector()
    return Selector() if compiled.nothing else compiled


def _namespace_of(item: KubeObject) -> str:
    return item.metadata.namespace
