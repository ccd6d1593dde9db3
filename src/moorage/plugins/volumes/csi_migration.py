"""In-tree volumes as the CSI drivers that took them over see them: driver, handle and topology.

Kubernetes knows seven in-tree plugins that have a CSI successor. For five of them the scheduler counts the migration
as done; volumes of the other two are recognised, but never translated.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from msgspec.structs import replace

from moorage.errors import InputError
from moorage.objects import (
    AzureDisk,
    CSINode,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    VolumeNodeAffinity,
    VolumeSources,
)

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
#: Between the zones of a volume label that names several.
ZONE_SEPARATOR = "__"

_EBS_VOLUME = re.compile(r"vol-[^/]*")
_UNSPECIFIED = "UNSPECIFIED"


@dataclass(frozen=True, slots=True)
class InTreePlugin:
    """An in-tree plugin and its CSI driver. `topology_key` is the driver's label for a node's zone, if it has one."""

    name: str
    driver: str
    topology_key: str = ""
    is_migrated: bool = True


AWS_EBS = InTreePlugin("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone")
GCE_PD = InTreePlugin("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone")
CINDER = InTreePlugin("kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone")
AZURE_DISK = InTreePlugin("kubernetes.io/azure-disk", "disk.csi.azure.com")
PORTWORX = InTreePlugin("kubernetes.io/portworx-volume", "pxd.portworx.com")
AZURE_FILE = InTreePlugin("kubernetes.io/azure-file", "file.csi.azure.com", is_migrated=False)
VSPHERE = InTreePlugin("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", is_migrated=False)

#: In-tree plugins by the name storage classes use as provisioner.
IN_TREE_PLUGINS = {
    plugin.name: plugin for plugin in (AWS_EBS, GCE_PD, CINDER, AZURE_DISK, PORTWORX, AZURE_FILE, VSPHERE)
}


def in_tree_plugin(source: VolumeSources) -> InTreePlugin | None:
    """The in-tree plugin with a CSI successor that serves this volume, None for any other volume."""
    if source.aws_elastic_block_store is not None:
        return AWS_EBS
    if source.gce_persistent_disk is not None:
        return GCE_PD
    if source.cinder is not None:
        return CINDER
    if source.azure_disk is not None:
        return AZURE_DISK
    if source.portworx_volume is not None:
        return PORTWORX
    if source.azure_file is not None:
        return AZURE_FILE
    return VSPHERE if source.vsphere_volume is not None else None


def is_migrated_on(plugin: InTreePlugin, csi_node: CSINode | None) -> bool:
    """Whether the node says that it has handed the plugin's volumes over to the CSI driver."""
    if csi_node is None:
        return False
    return plugin.name in csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


def inline_handle(source: VolumeSources) -> str:
    """The CSI handle of a volume written straight into a pod. Raises InputError where it cannot be translated."""
    return _handle(source, zones=())


def volume_handle(volume: PersistentVolume) -> str:
    """The CSI handle of an in-tree persistent volume. Raises InputError where it cannot be translated."""
    labels = volume.metadata.labels
    zones = labels.get(BETA_ZONE) or labels.get(ZONE) or ""
    return _handle(volume.spec, zones=zones.split(ZONE_SEPARATOR) if zones else ())


def csi_affinity(volume: PersistentVolume) -> VolumeNodeAffinity | None:
    """A migrated volume's node affinity in its driver's labels. Raises InputError where it cannot be translated.

    Zones come from the affinity or, where it names none, from the volume's labels.
    """
    plugin = in_tree_plugin(volume.spec)
    affinity = volume.spec.node_affinity
    if plugin is None:
        return affinity
    volume_handle(volume)  # Only asked for the error: what the driver cannot name, it cannot reach either.
    if not plugin.topology_key:
        return affinity
    required = affinity.required if affinity is not None else None
    terms = required.node_selector_terms if required is not None else ()
    zone_key, region_key = _topology_keys(terms, volume.metadata.labels)
    if _has_values(terms, zone_key):
        terms = _with_key_replaced(terms, zone_key, plugin.topology_key)
    else:
        terms = _with_zones_added(terms, plugin.topology_key, volume.metadata.labels.get(zone_key, ""))
    if region_key == BETA_REGION and _has_values(terms, BETA_REGION):
        terms = _with_key_replaced(terms, BETA_REGION, REGION)
    if not terms:
        return affinity
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))


def _handle(source: VolumeSources, zones: Iterable[str]) -> str:
    if source.aws_elastic_block_store is not None:
        return _ebs_handle(source.aws_elastic_block_store.volume_id)
    if source.gce_persistent_disk is not None:
        return _gce_handle(source.gce_persistent_disk.pd_name, tuple(zones))
    if source.cinder is not None:
        return source.cinder.volume_id
    if source.azure_disk is not None:
        return _azure_handle(source.azure_disk)
    if source.portworx_volume is not None:
        return source.portworx_volume.volume_id
    raise InputError("the volume is of no migrated in-tree plugin")


def _ebs_handle(volume_id: str) -> str:
    """The bare id of `aws://zone/id`, `aws:///id` or `id`."""
    if not volume_id.startswith("aws://"):
        return volume_id
    bare = urlsplit(volume_id).path.strip("/")
    if not _EBS_VOLUME.fullmatch(bare):
        raise InputError(f"Invalid format for AWS volume ({volume_id})")
    return bare


def _gce_handle(disk: str, zones: tuple[str, ...]) -> str:
    if len(zones) > 1:
        return f"projects/{_UNSPECIFIED}/regions/{_gce_region(zones)}/disks/{disk}"
    zone = zones[0] if zones and zones[0] else _UNSPECIFIED
    return f"projects/{_UNSPECIFIED}/zones/{zone}/disks/{disk}"


def _gce_region(zones: tuple[str, ...]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise InputError(
                "failed to get region from zones: zone in unexpected format,"
                f" expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        raise InputError(f"failed to get region from zones: {', '.join(sorted(regions))} are several")
    return regions.pop()


def _azure_handle(disk: AzureDisk) -> str:
    if disk.kind is not None and disk.kind.lower() != "managed":
        raise InputError(f"kind({disk.kind}) is not supported in csi migration")
    return disk.disk_uri


def _topology_keys(terms: tuple[NodeSelectorTerm, ...], labels: dict[str, str]) -> tuple[str, str]:
    """Whether the volume speaks of zone and region in today's labels or in the beta ones."""
    keys = {item.key for term in terms for item in term.match_expressions}
    for known in (keys, labels):
        if ZONE in known:
            return ZONE, REGION
        if BETA_ZONE in known:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _has_values(terms: tuple[NodeSelectorTerm, ...], key: str) -> bool:
    return any(item.key == key and item.values for term in terms for item in term.match_expressions)


def _with_key_replaced(terms: tuple[NodeSelectorTerm, ...], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        replace(
            term,
            match_expressions=tuple(
                replace(item, key=new) if item.key == old else item for item in term.match_expressions
            ),
        )
        for term in terms
    )


def _with_zones_added(terms: tuple[NodeSelectorTerm, ...], key: str, label: str) -> tuple[NodeSelectorTerm, ...]:
    zones = sorted({zone.strip() for zone in label.split(ZONE_SEPARATOR)} - {""})
    if not zones:
        return terms
    wanted = NodeSelectorRequirement(key=key, operator="In", values=tuple(zones))
    return tuple(
        replace(term, match_expressions=(*term.match_expressions, wanted)) for term in terms or (NodeSelectorTerm(),)
    )
