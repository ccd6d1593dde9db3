"""API events into columns and queue moves; pods assumed before the API server confirms them.

Pure: nothing here waits or reaches outside. A host feeds it what informers tell, in order, between scheduling cycles.

    state           which pods count where: assigned ones, and those we have decided on
    pods            what a pod that comes, changes or goes means
    nodes           the same for nodes
    others          the same for every other kind
    registrations   what the queue needs to know of a profile
    kinds           which kinds the enabled plugins need to see
    boundlabels     the labels a decided pod will have
    sharing         pods made small: equal parts are kept once
    invariants      whether all of this still agrees with what the API server has
"""

from moorage.cluster.invariants import find_faults
from moorage.cluster.nodes import NodeEvents
from moorage.cluster.others import ObjectEvents
from moorage.cluster.pods import PodEvents
from moorage.cluster.registrations import needed_kinds, profile_hints
from moorage.cluster.sharing import PodSharing
from moorage.cluster.state import ClusterState

__all__ = [
    "ClusterState",
    "NodeEvents",
    "ObjectEvents",
    "PodEvents",
    "PodSharing",
    "find_faults",
    "needed_kinds",
    "profile_hints",
]
