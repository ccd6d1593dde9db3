"""What `kubectl get` shows: the columns of each kind."""

from moorage.apiserver.conversion import event_to_core
from moorage.apiserver.kinds import Kind
from moorage.apiserver.registry import Table
from moorage.apiserver.tables.cluster import CLUSTER
from moorage.apiserver.tables.groups import GROUPS
from moorage.apiserver.tables.pods import PODS
from moorage.apiserver.tables.workloads import WORKLOADS

_EVENTS = CLUSTER["events"]
TABLES: dict[str, Table] = {
    "pods": PODS,
    **WORKLOADS,
    **CLUSTER,
    **GROUPS,
    "events.events.k8s.io": Table(_EVENTS.columns, lambda obj, now: _EVENTS.cells(event_to_core(obj), now)),
}


def table_for(kind: Kind) -> Table | None:
    """The columns of a built-in kind; None for name and age alone."""
    return TABLES.get(kind.resource)
