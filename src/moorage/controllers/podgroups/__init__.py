"""PodGroups: phases and counts of those of scheduling.x-k8s.io, protection of those of scheduling.k8s.io.

phases      from pods to a status
controller  the loop that writes it
protection  groups with pods in them do not go
"""

from moorage.controllers.podgroups.controller import PodGroupController
from moorage.controllers.podgroups.protection import PodGroupProtection

__all__ = ["PodGroupController", "PodGroupProtection"]
