"""The contract between plugins and the scheduler: extension points, statuses, registry, the runner.

Knows no plugin by name. What a plugin's author needs is importable from here; `points` states every contract.
"""

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.framework.handle import Handle
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
from moorage.framework.status import SKIP, Code, Status, error, unresolvable, unschedulable, wait

__all__ = [
    "MAX_SCORE",
    "MIN_SCORE",
    "SKIP",
    "Action",
    "Code",
    "CycleState",
    "EventHint",
    "Handle",
    "Hint",
    "NodeInfo",
    "NodeNames",
    "NodeTable",
    "Nomination",
    "NormalizeByMax",
    "PermitAnswer",
    "PodInfo",
    "PostFilterAnswer",
    "Resource",
    "Rows",
    "Scope",
    "Scores",
    "Status",
    "Verdicts",
    "error",
    "on",
    "unresolvable",
    "unschedulable",
    "wait",
]
