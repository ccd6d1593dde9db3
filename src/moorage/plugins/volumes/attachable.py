"""Which CSI volumes a pod attaches to its node, under names that tell equal volumes from different ones."""

from collections import Counter
from typing import NamedTuple

from moorage.columns import NodeInfo, ObjectStore, PodInfo
from moorage.errors import InputError
from moorage.framework.status import Status, error, unresolvable
from moorage.objects import PersistentVolume, PersistentVolumeClaim, StorageClass, Volume, VolumeAttachment
from moorage.plugins.volumes.claims import ClaimUse, claim_use, class_of_claim, not_found, ownership_problem
from moorage.plugins.volumes.csi_migration import IN_TREE_PLUGINS, in_tree_plugin, inline_handle, volume_handle

#: Unique name of a volume (`driver/handle`) -> its CSI driver.
Attachable = dict[str, str]

#: Stands for the handle of a volume yet to be provisioned; no real handle starts like this.
_UNPROVISIONED = "\0unprovisioned"


class NodeVolumes(NamedTuple):
    """What a node has attached: the volumes its pods use, and how many of each driver with or without a pod."""

    in_use: Attachable
    attached: Counter[str]

    def count_new(self, wanted: Attachable) -> Counter[str]:
        """How many volumes of each driver a pod adds. One that a pod here uses is free; one merely attached is not."""
        return Counter(driver for name, driver in wanted.items() if name not in self.in_use)


def may_attach(volume: Volume) -> bool:
    """Whether a pod's volume could be a CSI volume that the node attaches."""
    return (
        volume.persistent_volume_claim is not None or volume.ephemeral is not None or in_tree_plugin(volume) is not None
    )


class AttachableVolumes:
    """Looks volumes up. In-tree volumes count as CSI volumes only on nodes that have a CSINode (`migrated`)."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def wanted_by(self, pod: PodInfo, *, migrated: bool) -> Attachable | Status:
        """What a pod to be placed needs attached. All its claims must exist."""
        return self._collect(pod, migrated=migrated, is_new=True)

    def on_node(self, node: NodeInfo) -> NodeVolumes | Status:
        """What a node with a CSINode has attached. Claims that are gone count for nothing."""
        in_use: Attachable = {}
        for pod in node.pods.values():
            if pod.spec.volumes:
                held = self._collect(pod, migrated=True, is_new=False)
                if isinstance(held, Status):
                    return held
                in_use |= held
        return NodeVolumes(in_use, Counter((self._attached_to(node.name) | in_use).values()))

    def _attached_to(self, node_name: str) -> Attachable:
        """What the VolumeAttachments say is attached to a node."""
        attached: Attachable = {}
        for attachment in self._objects.by(VolumeAttachment, node_of).get(node_name, ()):
            driver = attachment.spec.attacher
            volume_name = attachment.spec.source.persistent_volume_name
            if not driver or volume_name is None:
                continue
            volume = self._objects.get(PersistentVolume, volume_name)
            if volume is not None and volume.spec.csi is not None:
                attached[f"{driver}/{volume.spec.csi.volume_handle}"] = driver
        return attached

    def _collect(self, pod: PodInfo, *, migrated: bool, is_new: bool) -> Attachable | Status:
        found: Attachable = {}
        for volume in pod.spec.volumes:
            use = claim_use(pod.name, volume)
            if use is None:
                problem = _add_inline(volume, found) if migrated else None
            else:
                problem = self._add_claimed(pod, use, found, migrated=migrated, is_new=is_new)
            if problem is not None:
                return problem
        return found

    def _add_claimed(
        self, pod: PodInfo, use: ClaimUse, found: Attachable, *, migrated: bool, is_new: bool
    ) -> Status | None:
        if not use.claim_name:
            return error("PersistentVolumeClaim had no name")
        key = f"{pod.namespace}/{use.claim_name}"
        claim = self._objects.get(PersistentVolumeClaim, key)
        if claim is None:
            missing = not_found("persistentvolumeclaim", use.claim_name)
            return unresolvable(f"looking up PVC {key}: {missing}") if is_new else None
        problem = ownership_problem(pod, claim) if use.is_ephemeral else None
        if problem is not None:
            return error(problem)
        driver, handle = self._driver_and_handle(claim, migrated=migrated)
        if driver and handle:
            found[f"{driver}/{handle}"] = driver
        return None

    def _driver_and_handle(self, claim: PersistentVolumeClaim, *, migrated: bool) -> tuple[str, str]:
        """The CSI driver and handle behind a claim, empty where it is not to be counted."""
        volume = self._objects.get(PersistentVolume, claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is None:
            return self._to_be_provisioned(claim, migrated=migrated)
        if volume.spec.csi is not None:
            return volume.spec.csi.driver, volume.spec.csi.volume_handle
        plugin = in_tree_plugin(volume.spec)
        if plugin is None or not plugin.is_migrated or not migrated:
            return "", ""
        try:
            return plugin.driver, volume_handle(volume)
        except InputError:
            # The driver could not attach it either; kube-scheduler leaves it uncounted, too.
            return "", ""

    def _to_be_provisioned(self, claim: PersistentVolumeClaim, *, migrated: bool) -> tuple[str, str]:
        """Without a volume, the claim's class tells the driver; without a class, it is bound before it matters."""
        name = class_of_claim(claim)
        storage_class = self._objects.get(StorageClass, name) if name else None
        if storage_class is None:
            return "", ""
        driver = storage_class.provisioner
        plugin = IN_TREE_PLUGINS.get(driver)
        if plugin is not None:
            if not plugin.is_migrated or not migrated:
                return "", ""
            driver = plugin.driver
        return driver, f"{_UNPROVISIONED}-{claim.key}"


def node_of(attachment: VolumeAttachment) -> str:
    """The node a VolumeAttachment is about."""
    return attachment.spec.node_name


def _add_inline(volume: Volume, found: Attachable) -> Status | None:
    plugin = in_tree_plugin(volume)
    if plugin is None or not plugin.is_migrated:
        return None
    try:
        handle = inline_handle(volume)
    except InputError as problem:
        return error(f"converting volume({volume.name}) from inline to csi: {problem}")
    found[f"{plugin.driver}/{handle}"] = plugin.driver
    return None
