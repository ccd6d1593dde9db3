"""What the server sets on devices: when they were tainted."""

from typing import Any

from moorage.apiserver.registry import Operation

Json = dict[str, Any]


def date_taints(operation: Operation, obj: Json, _old: Json | None = None) -> None:
    """A taint of a slice's device without a date is of now."""
    for device in (obj.get("spec") or {}).get("devices") or ():
        for taint in device.get("taints") or ():
            _date(operation, taint)


def date_rule(operation: Operation, obj: Json, old: Json | None = None) -> None:
    """The same for a rule. One that has another effect from now on, and an old date, is of now, too."""
    taint = (obj.get("spec") or {}).get("taint")
    if taint is None:
        return
    before = ((old or {}).get("spec") or {}).get("taint") or taint
    if taint.get("effect") != before.get("effect") and taint.get("timeAdded") == before.get("timeAdded"):
        taint.pop("timeAdded", None)
    _date(operation, taint)


def _date(operation: Operation, taint: Json) -> None:
    if not taint.get("timeAdded"):
        taint["timeAdded"] = operation.registry.clock.stamp()
