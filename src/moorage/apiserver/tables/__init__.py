"""What `kubectl get` shows: the columns of each kind."""

from moorage.apiserver.kinds import Kind
from moorage.apiserver.strategy import Table
from moorage.apiserver.tables.cluster import CLUSTER
from moorage.apiserver.tables.pods import PODS
from moorage.apiserver.tables.workloads import WORKLOADS

TABLES: dict[str, Table] = {"pods": PODS, **WORKLOADS, **CLUSTER}


def table_for(kind: Kind) -> Table | None:
    """The columns of a built-in kind; None for name and age alone."""
    return TABLES.get(kind.resource)
