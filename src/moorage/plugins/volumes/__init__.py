"""The four plugins about volumes, and what they share.

    volume_restrictions   disks and claims that only one pod may use
    node_volume_limits    how many volumes of a driver a node can attach
    binding/              which volume each claim gets, and that the node can reach it
    volume_zone           zone labels of volumes bound long ago

Shared: `claims` (from a pod to its claims), `csi_migration` (in-tree volumes as their CSI drivers see them) and
`label_rows` (label conditions over many rows at once).
"""

from moorage.plugins.volumes.binding import VolumeBinding
from moorage.plugins.volumes.node_volume_limits import NodeVolumeLimits
from moorage.plugins.volumes.volume_restrictions import VolumeRestrictions
from moorage.plugins.volumes.volume_zone import VolumeZone

__all__ = ["NodeVolumeLimits", "VolumeBinding", "VolumeRestrictions", "VolumeZone"]
