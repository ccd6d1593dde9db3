"""Tables of groups of pods."""

from typing import Any

from moorage.apiserver.registry import Table
from moorage.apiserver.tables.rows import NONE, cells_of, columns

Json = dict[str, Any]

#: The condition's name, and what it was called before v1beta1.
_SCHEDULED = ("PodGroupInitiallyScheduled", "PodGroupScheduled")


def _policy(obj: Json) -> str:
    return "Gang" if "gang" in ((obj.get("spec") or {}).get("schedulingPolicy") or {}) else "Basic"


def _workload(obj: Json) -> str:
    spec = obj.get("spec") or {}
    reference = spec.get("workloadRef") or (spec.get("podGroupTemplateRef") or {}).get("workload") or {}
    name: str = reference.get("workloadName", NONE)
    return name


def _status(obj: Json) -> str:
    shown = "Pending"
    for condition in (obj.get("status") or {}).get("conditions", ()):
        if condition["type"] == "DisruptionTarget":
            return str(condition.get("reason", ""))
        if condition["type"] in _SCHEDULED:
            shown = "Scheduled" if condition["status"] == "True" else "Unschedulable"
    return shown


GROUPS: dict[str, Table] = {
    "podgroups.scheduling.k8s.io": Table(
        columns("Policy", "Workload", "Status"), cells_of(_policy, _workload, _status)
    ),
    "compositepodgroups.scheduling.k8s.io": Table(columns("Policy", "Workload"), cells_of(_policy, _workload)),
}
