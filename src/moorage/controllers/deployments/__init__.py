"""Deployments: one ReplicaSet for each template, and the way from one to the next.

templates    which ReplicaSet is of the present template; hashes that name them
revisions    annotations that tell which came when, what to roll back to
sizes        how many replicas each ReplicaSet should have: rolling, recreating, scaling in between
progress     status and conditions: how far it is, whether it is stuck
controller   all of it, for one Deployment at a time
"""

from moorage.controllers.deployments.controller import DeploymentController

__all__ = ["DeploymentController"]
