"""The contract between plugins and the scheduler: extension points, statuses, events, the handle, the registry.

Knows no plugin by name. What a plugin's author needs is importable from here; `points` states every contract.
"""

from moorage.columns import GroupInfo, NodeInfo, NodeTable, ObjectStore, PodInfo, Rows, Snapshot
from moorage.columns.groups import Members
from moorage.errors import ApiError, InputError
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NodeStatuses
from moorage.framework.events import Action, EventHint, Hint, Resource, nothing_of_pod, on, spec_of_pod
from moorage.framework.grouping import Progress
from moorage.framework.handle import Handle, Host, PendingPod, WaitingPod
from moorage.framework.measuring import PluginCounter
from moorage.framework.normalizing import NormalizeByMax
from moorage.framework.points import (
    MAX_SCORE,
    MIN_SCORE,
    NodeNames,
    Nomination,
    PermitAnswer,
    PostFilterAnswer,
    Scope,
    Scores,
    Verdicts,
)
from moorage.framework.status import INDIFFERENT, SKIP, Code, Status, error, pending, unresolvable, unschedulable, wait
from moorage.objects import KubeObject, Node, ObjectMeta, Pod, PriorityClass, Struct, Taint, Untyped, custom_kind
from moorage.values.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, allocatable_amounts, amount, pod_request
from moorage.values.taint import NO_SCHEDULE, first_untolerated, tolerated
from moorage.values.taint import UNSCHEDULABLE as UNSCHEDULABLE_TAINT
from moorage.values.time import parse_time

__all__ = [
    "CPU",
    "EPHEMERAL_STORAGE",
    "INDIFFERENT",
    "MAX_SCORE",
    "MEMORY",
    "MIN_SCORE",
    "NO_SCHEDULE",
    "PODS",
    "SKIP",
    "UNSCHEDULABLE_TAINT",
    "Action",
    "ApiError",
    "Code",
    "CycleState",
    "EventHint",
    "GroupInfo",
    "Handle",
    "Hint",
    "Host",
    "InputError",
    "KubeObject",
    "Members",
    "Node",
    "NodeInfo",
    "NodeNames",
    "NodeStatuses",
    "NodeTable",
    "Nomination",
    "NormalizeByMax",
    "ObjectMeta",
    "ObjectStore",
    "PendingPod",
    "PermitAnswer",
    "PluginCounter",
    "Pod",
    "PodInfo",
    "PostFilterAnswer",
    "PriorityClass",
    "Progress",
    "Resource",
    "Rows",
    "Scope",
    "Scores",
    "Snapshot",
    "Status",
    "Struct",
    "Taint",
    "Untyped",
    "Verdicts",
    "WaitingPod",
    "allocatable_amounts",
    "amount",
    "custom_kind",
    "error",
    "first_untolerated",
    "nothing_of_pod",
    "on",
    "parse_time",
    "pending",
    "pod_request",
    "spec_of_pod",
    "tolerated",
    "unresolvable",
    "unschedulable",
    "wait",
]
