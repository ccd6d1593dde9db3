"""VolumeBinding: every claim of a pod must be bound, or be bindable, to a volume its node can reach.

claims         a pod's claims: bound, to be bound now, or to be bound once the pod has a node
affinity       from which nodes a volume can be reached
matching       existing volumes for claims that wait for a node
provisioning   volumes that can be made where the pod goes
finding        the three together, for one node and for many
reservation    what a decision takes, so that the next one sees it taken
writing        the same, written to the API server
waiting        until the volume controllers have done their part
scoring        nodes by how well their storage is used (gate StorageCapacityScoring)
hints          which events may help a rejected pod
plugin         the extension points
"""

from moorage.plugins.volumes.binding.plugin import VolumeBinding

__all__ = ["VolumeBinding"]
