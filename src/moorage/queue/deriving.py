"""What an update of a node or a pod means for scheduling: the events it stands for, in kube-scheduler's order."""

from dataclasses import dataclass

from moorage.columns import PodInfo
from moorage.config import Features
from moorage.config.gates import POD_EVENT_KINDS
from moorage.framework.events import Action, ClusterEvent, Resource
from moorage.objects import Node, Quantities
from moorage.values.quantity import parse_quantity


def node_events(old: Node, new: Node) -> list[ClusterEvent]:
    """The events of a node update. An update of anything else (heartbeats) is no event at all."""
    changes = [
        (old.spec.unschedulable and not new.spec.unschedulable, Action.UPDATE_NODE_TAINT),
        (_differ(old.status.allocatable, new.status.allocatable), Action.UPDATE_NODE_ALLOCATABLE),
        (old.metadata.labels != new.metadata.labels, Action.UPDATE_NODE_LABEL),
        (old.spec.taints != new.spec.taints, Action.UPDATE_NODE_TAINT),
        (_condition_statuses(old) != _condition_statuses(new), Action.UPDATE_NODE_CONDITION),
        (old.metadata.annotations != new.metadata.annotations, Action.UPDATE_NODE_ANNOTATION),
        (old.status.declared_features != new.status.declared_features, Action.UPDATE_NODE_DECLARED_FEATURE),
    ]
    return [ClusterEvent(Resource.NODE, action) for changed, action in changes if changed]


@dataclass(frozen=True)
class PodResources:
    """What events of pods without a node are about."""

    #: The pod that waits and is asked about.
    own: Resource
    #: Another one.
    other: Resource


def pod_resources(features: Features) -> PodResources:
    """Kubernetes 1.36 knows one kind of pod without a node, 1.37 two."""
    if POD_EVENT_KINDS in features:
        return PodResources(Resource.TARGET_POD, Resource.UNSCHEDULED_POD)
    return PodResources(Resource.UNSCHEDULABLE_POD, Resource.UNSCHEDULABLE_POD)


def pod_events(old: PodInfo, new: PodInfo, unassigned: Resource = Resource.UNSCHEDULABLE_POD) -> list[ClusterEvent]:
    """The events of a pod update; a single general one where nothing that scheduling knows of has changed.

    `unassigned` is what they are about if the pod has no node.
    """
    gates_eliminated = bool(old.spec.scheduling_gates) and not new.spec.scheduling_gates
    changes = [
        (old.labels != new.labels, Action.UPDATE_POD_LABEL),
        (_is_scaled_down(old, new), Action.UPDATE_POD_SCALE_DOWN),
        (gates_eliminated, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
        # Tolerations can only be added, so that their number tells.
        (len(old.spec.tolerations) != len(new.spec.tolerations), Action.UPDATE_POD_TOLERATION),
        (
            old.pod.status.resource_claim_statuses != new.pod.status.resource_claim_statuses,
            Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
        ),
    ]
    resource = Resource.ASSIGNED_POD if new.spec.node_name else unassigned
    actions = [action for changed, action in changes if changed] or [Action.UPDATE]
    return [ClusterEvent(resource, action) for action in actions]


def _is_scaled_down(old: PodInfo, new: PodInfo) -> bool:
    before, after = old.request, new.request
    if before is after:
        return False
    return any(name not in after.amounts or after.amounts[name] < amount for name, amount in before.amounts.items())


def _condition_statuses(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


def _differ(old: Quantities, new: Quantities) -> bool:
    """Whether two resource lists mean different amounts; "1" and "1000m" do not."""
    if old == new:
        return False
    return old.keys() != new.keys() or any(parse_quantity(old[name]) != parse_quantity(new[name]) for name in old)
