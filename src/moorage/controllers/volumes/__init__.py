"""Persistent volumes: claims get them, pods keep them, a simulated provisioner makes them.

names         annotations and phases
matching      which existing volume is the best for a claim
binder        claims to volumes and volumes to claims, and what they are told of each other
provisioner   volumes made for claims, and taken away after them
protection    what is in use does not go
ephemeral     claims for volumes that live with their pod
"""

from moorage.controllers.volumes.binder import VolumeBinder
from moorage.controllers.volumes.ephemeral import EphemeralVolumeController
from moorage.controllers.volumes.protection import ClaimProtection, VolumeProtection
from moorage.controllers.volumes.provisioner import VolumeProvisioner

__all__ = ["ClaimProtection", "EphemeralVolumeController", "VolumeBinder", "VolumeProtection", "VolumeProvisioner"]
