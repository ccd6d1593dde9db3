"""NodeDeclaredFeatures: what the pod's spec needs of the kubelet, the node must have declared."""

from collections.abc import Sequence
from typing import Any

from moorage.columns import NodeInfo, NodeTable, PodInfo
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, nothing_of_pod, on, spec_of_pod
from moorage.framework.handle import Handle
from moorage.framework.points import Scope
from moorage.framework.status import SKIP, Status, unresolvable
from moorage.objects import Node, Pod, PodSpec

NOT_DECLARED = unresolvable("node(s) didn't match Pod's required features")

RESTART_ALL = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_WITH_HOST_NETWORK = "UserNamespacesHostNetworkSupport"

_STATE = "NodeDeclaredFeatures"


class NodeDeclaredFeatures:
    """Filter: status.declaredFeatures lists everything the spec needs."""

    filter_scope = Scope.NODE

    def __init__(self, _args: Any, _handle: Handle) -> None: ...

    def pre_filter(self, state: CycleState, pod: PodInfo, _nodes: NodeTable) -> Status | None:
        """Skip for pods that need nothing special."""
        required = required_features(pod.spec)
        state.write(_STATE, required)
        return None if required else SKIP

    def filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        """Refuse a node that lacks a feature."""
        required: frozenset[str] = state.read(_STATE)
        return None if required.issubset(node.node.status.declared_features) else NOT_DECLARED

    def events_to_register(self) -> Sequence[EventHint]:
        """A node added or with other features; the pod needing something else."""
        return (
            on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE, self._after_node, reads=nothing_of_pod),
            on(Resource.POD, Action.UPDATE, self._after_pod, reads=spec_of_pod),
        )

    def _after_node(self, _pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
        changed = new is not None and (old is None or old.status.declared_features != new.status.declared_features)
        return Hint.QUEUE if changed else Hint.SKIP

    def _after_pod(self, pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
        if old is None or new is None or new.metadata.uid != pod.uid:
            return Hint.SKIP
        return Hint.QUEUE if required_features(old.spec) != required_features(new.spec) else Hint.SKIP


def required_features(spec: PodSpec) -> frozenset[str]:
    """The kubelet features without which this spec cannot run."""
    features = set()
    containers = (*spec.init_containers, *spec.containers)
    if any(rule.action == "RestartAllContainers" for one in containers for rule in one.restart_policy_rules):
        features.add(RESTART_ALL)
    if spec.host_network and spec.host_users is False:
        features.add(USER_NAMESPACES_WITH_HOST_NETWORK)
    return frozenset(features)
