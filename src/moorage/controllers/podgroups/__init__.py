"""PodGroups of scheduling.x-k8s.io: their phases and counts.

phases      from pods to a status
controller  the loop
"""

from moorage.controllers.podgroups.controller import PodGroupController

__all__ = ["PodGroupController"]
