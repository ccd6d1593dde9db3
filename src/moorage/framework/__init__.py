"""The contract between plugins and the scheduler: extension points, statuses, events, the handle, the registry.

Knows no plugin by name. What a plugin's author needs is importable from here; `points` states every contract.
"""

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.errors import ApiError, InputError
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NodeStatuses
from moorage.framework.events import Action, EventHint, Hint, Resource, nothing_of_pod, on, spec_of_pod
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
from moorage.objects import KubeObject, Node, ObjectMeta, Pod, Struct, Untyped, custom_kind
from moorage.values.requests import amount

__all__ = [
    "INDIFFERENT",
    "MAX_SCORE",
    "MIN_SCORE",
    "SKIP",
    "Action",
    "ApiError",
    "Code",
    "CycleState",
    "EventHint",
    "Handle",
    "Hint",
    "Host",
    "InputError",
    "KubeObject",
    "Node",
    "NodeInfo",
    "NodeNames",
    "NodeStatuses",
    "NodeTable",
    "Nomination",
    "NormalizeByMax",
    "ObjectMeta",
    "PendingPod",
    "PermitAnswer",
    "PluginCounter",
    "Pod",
    "PodInfo",
    "PostFilterAnswer",
    "Resource",
    "Rows",
    "Scope",
    "Scores",
    "Status",
    "Struct",
    "Untyped",
    "Verdicts",
    "WaitingPod",
    "amount",
    "custom_kind",
    "error",
    "nothing_of_pod",
    "on",
    "pending",
    "spec_of_pod",
    "unresolvable",
    "unschedulable",
    "wait",
]
