"""Waiting until the volume controllers and provisioners have bound what we wrote."""

from moorage.columns import NodeInfo, Snapshot
from moorage.objects import KubeObject, PersistentVolume, PersistentVolumeClaim
from moorage.plugins.volumes.binding.affinity import Reachability
from moorage.plugins.volumes.binding.claims import SELECTED_NODE, is_fully_bound
from moorage.plugins.volumes.binding.reservation import Reservation
from moorage.plugins.volumes.claims import not_found


class BindingFailed(Exception):
    """The binding will not come about this time: the pod has to be scheduled again."""


class BindingCheck:
    """Looks at the cluster as it is now, whether the pod's volumes are bound."""

    def __init__(self, snapshot: Snapshot, reachability: Reachability) -> None:
        self._nodes = snapshot.nodes
        self._objects = snapshot.objects
        self._reachability = reachability

    def is_bound(self, reservation: Reservation, node_name: str) -> bool:
        """Whether everything is bound. Raises BindingFailed where it cannot become so."""
        node = self._nodes.get(node_name)
        if node is None:
            raise BindingFailed(f'failed to get node "{node_name}": {not_found("node", node_name)}')
        return all(self._is_volume_bound(volume, claim, node) for claim, volume in reservation.bindings) and all(
            self._is_provisioned(claim, node) for claim in reservation.claims
        )

    def _is_volume_bound(self, written: PersistentVolume, claim: PersistentVolumeClaim, node: NodeInfo) -> bool:
        name = written.metadata.name
        volume = self._objects.get(PersistentVolume, name)
        if volume is None:
            raise BindingFailed(f"failed to check binding: {not_found('persistentvolumes', name)}")
        current = self._objects.get(PersistentVolumeClaim, claim.key)
        if current is None:
            raise BindingFailed(f"failed to check binding: {not_found('persistentvolumeclaims', claim.key)}")
        if _is_older(volume, written):
            return False
        self._check_reached(volume, node)
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            raise BindingFailed(f'ClaimRef got reset for pv "{name}"')
        return is_fully_bound(current)

    def _is_provisioned(self, written: PersistentVolumeClaim, node: NodeInfo) -> bool:
        claim = self._objects.get(PersistentVolumeClaim, written.key)
        if claim is None:
            raise BindingFailed(f"failed to check provisioning pvc: {not_found('persistentvolumeclaims', written.key)}")
        if _is_older(claim, written):
            return False
        name = claim.metadata.name
        if not claim.metadata.annotations:
            raise BindingFailed(f'selectedNode annotation reset for PVC "{name}"')
        if claim.metadata.annotations.get(SELECTED_NODE) != node.name:
            # A provisioner takes the annotation away to have another node selected.
            raise BindingFailed(f'provisioning failed for PVC "{name}"')
        if claim.spec.volume_name:
            volume = self._objects.get(PersistentVolume, claim.spec.volume_name)
            if volume is None:
                return False
            self._check_reached(volume, node)
        return is_fully_bound(claim)

    def _check_reached(self, volume: PersistentVolume, node: NodeInfo) -> None:
        if not self._reachability.reaches(node, volume):
            raise BindingFailed(
                f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{node.name}":'
                " no matching NodeSelectorTerms"
            )


def _is_older(seen: KubeObject, written: KubeObject) -> bool:
    """Whether what we see dates from before what we wrote. Versions of etcd count up."""
    ours, theirs = written.metadata.resource_version, seen.metadata.resource_version
    return ours.isdigit() and theirs.isdigit() and int(theirs) < int(ours)
