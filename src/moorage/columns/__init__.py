"""The cluster as arrays: the node table, pods by what plugins ask, the other objects, and what changed when.

Holds state, decides nothing. Plugins read it, cluster/ writes it. A node is a row; a pod of equal scheduling-relevant
spec shares a PodClass; pods of equal namespace and labels share a LabelGroup.
"""

from moorage.columns.changes import ChangeLog, PodChange
from moorage.columns.groups import GroupInfo, PodGroups
from moorage.columns.nodes import NodeInfo
from moorage.columns.pods import LabelGroup, PodClass, PodInfo
from moorage.columns.snapshot import Snapshot
from moorage.columns.store import ObjectStore
from moorage.columns.table import NodeTable, Rows
from moorage.columns.tentative import Tentative, UndoLog

__all__ = [
    "ChangeLog",
    "GroupInfo",
    "LabelGroup",
    "NodeInfo",
    "NodeTable",
    "ObjectStore",
    "PodChange",
    "PodClass",
    "PodGroups",
    "PodInfo",
    "Rows",
    "Snapshot",
    "Tentative",
    "UndoLog",
]
