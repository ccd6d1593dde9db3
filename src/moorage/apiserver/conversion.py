"""Between API versions of the same object. Events have two: the core one is stored, the newer one has other names."""

from typing import Any

from moorage.apiserver.selectors import SELECTABLE

Json = dict[str, Any]

#: events.k8s.io/v1 name -> core/v1 name, where they differ.
_EVENT_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_NAMES = {core: new for new, core in _EVENT_NAMES.items()}


def event_to_core(obj: Json) -> Json:
    """An events.k8s.io/v1 Event as core/v1."""
    renamed = {_EVENT_NAMES.get(key, key): value for key, value in obj.items()}
    return {**renamed, "apiVersion": "v1"}


def event_from_core(obj: Json) -> Json:
    """A core/v1 Event as events.k8s.io/v1."""
    renamed = {_CORE_NAMES.get(key, key): value for key, value in obj.items()}
    return {**renamed, "apiVersion": "events.k8s.io/v1"}


#: Selectable fields of events by their newer names, in the order of the stored ones.
_EVENT_FIELDS = tuple(
    name.replace("involvedObject", "regarding").replace("reportingComponent", "reportingController")
    for name in SELECTABLE["events"]
)
CONVERSIONS = {"events.events.k8s.io": (event_from_core, event_to_core, _EVENT_FIELDS)}
