"""Which node a pod wants back."""

import math
from dataclasses import dataclass

from moorage.columns import NodeInfo, NodeTable, ObjectStore, PodInfo
from moorage.objects import LAST_NODE, LAST_NODE_UID, REQUIRED, STATUS_VERSION, Pod, StickyJob
from moorage.values.time import parse_time

UNKNOWN_SECONDS = 30.0
"""How long a pod that has run waits for its node while its job is not known here."""


@dataclass(frozen=True, slots=True)
class Home:
    """The node a pod's job last ran on. Without a uid the name alone counts."""

    node_name: str
    node_uid: str
    #: Until when the pod waits for the node to be usable again; infinite where it waits without end.
    deadline: float

    def among(self, nodes: NodeTable) -> NodeInfo | None:
        """The node, unless it is gone: then none of its name is there, or another."""
        node = nodes.get(self.node_name)
        if node is None or (self.node_uid and node.node.metadata.uid != self.node_uid):
            return None
        return node


def job_uid(pod: Pod) -> str:
    """The uid of the StickyJob that made the pod; empty for the pods of others."""
    for owner in pod.metadata.owner_references:
        if owner.controller and owner.kind == StickyJob.KIND and owner.api_version == StickyJob.API_VERSION:
            return owner.uid
    return ""


def home_of(pod: PodInfo, objects: ObjectStore) -> Home | None:
    """The node the pod wants back; None for pods of no StickyJob, and for those that never ran."""
    if not pod.pod.metadata.owner_references or not (uid := job_uid(pod.pod)):
        return None
    job = objects.get(StickyJob, pod.key)
    stamp = pod.pod.metadata.creation_timestamp
    created = parse_time(stamp) if stamp else 0.0
    if job is None:
        # Served since a moment ago, or gone: as long as nobody knows the pod goes by what it carries.
        carried = pod.annotations.get(LAST_NODE, "")
        return Home(carried, pod.annotations.get(LAST_NODE_UID, ""), created + UNKNOWN_SECONDS) if carried else None
    if job.metadata.uid != uid:
        return None
    node_name, node_uid = _last_node(pod, job)
    if not node_name:
        return None
    unsaid = math.inf if job.spec.stickiness == REQUIRED else 0
    wait = unsaid if job.spec.wait_seconds is None else job.spec.wait_seconds
    return Home(node_name, node_uid, created + wait)


def _last_node(pod: PodInfo, job: StickyJob) -> tuple[str, str]:
    """Where the job ran last. The pod may have come before its job's status: it carries what that says."""
    annotations, seen = pod.annotations, job.metadata.resource_version
    version = annotations.get(STATUS_VERSION, "")
    if version.isdigit() and seen.isdigit() and int(version) > int(seen):
        return annotations.get(LAST_NODE, ""), annotations.get(LAST_NODE_UID, "")
    return job.status.last_node, job.status.last_node_uid
