"""Rules for events, under both of their names."""

from typing import Any

from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.metadata import qualified_name

Json = dict[str, Any]

_LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128}
_NOTE_LIMIT = 1024


def validate_core_event(event: Json, faults: Faults) -> None:
    """A core/v1 Event; one with an eventTime is held to more."""
    _validate(event, "involvedObject", "reportingComponent", "message", faults)


def validate_event(event: Json, faults: Faults) -> None:
    """An events.k8s.io/v1 Event."""
    _validate(event, "regarding", "reportingController", "note", faults)
    if not event.get("eventTime"):
        faults.required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        faults.invalid("type", "", f"has invalid value: {event.get('type', '')}")
    for name in ("deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount", "deprecatedSource"):
        if event.get(name):
            core = name.removeprefix("deprecated")
            faults.invalid(core[0].lower() + core[1:], "", "needs to be unset")


def _validate(event: Json, about: str, controller: str, note: str, faults: Faults) -> None:
    namespace = event["metadata"].get("namespace", "")
    involved = (event.get(about) or {}).get("namespace", "")
    if event.get("eventTime"):
        _validate_new(event, controller, note, faults)
        agrees = bool(involved) or namespace in ("default", "kube-system")
    else:
        agrees = involved == namespace if involved else namespace == "default"
    if not agrees:
        faults.invalid("involvedObject.namespace", involved, "does not match event.namespace")


def _validate_new(event: Json, controller: str, note: str, faults: Faults) -> None:
    if not event.get(controller):
        faults.required(controller)
    elif problem := qualified_name(event[controller]):
        faults.invalid(controller, event[controller], problem)
    for name, limit in _LIMITS.items():
        if not event.get(name):
            faults.required(name)
        elif len(event[name]) > limit:
            faults.invalid(name, "", f"can have at most {limit} characters")
    if len(event.get(note, "")) > _NOTE_LIMIT:
        faults.invalid("message", "", f"can have at most {_NOTE_LIMIT} characters")
