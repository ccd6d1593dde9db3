"""Between API versions of the same object.

Events have two: the core one is stored, the newer one has other names. Groups of pods have two that differ in nothing
but the version.
"""

from typing import Any

from moorage.apiserver.kinds import Kind
from moorage.apiserver.registry import Conversion, Convert
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


def _renamed(api_version: str) -> Convert:
    return lambda obj: {**obj, "apiVersion": api_version}


_GROUPS = "scheduling.k8s.io"
_AS_GROUPS_ARE_STORED: Conversion = (_renamed(f"{_GROUPS}/v1alpha3"), _renamed(f"{_GROUPS}/v1beta1"), None)
_CONVERSIONS: dict[tuple[str, str], Conversion] = {
    ("events.events.k8s.io", "v1"): (event_from_core, event_to_core, _EVENT_FIELDS),
    (f"podgroups.{_GROUPS}", "v1alpha3"): _AS_GROUPS_ARE_STORED,
    (f"workloads.{_GROUPS}", "v1alpha3"): _AS_GROUPS_ARE_STORED,
}


def conversion_of(kind: Kind) -> Conversion | None:
    """How objects of a kind are stored, where that is in another version."""
    return _CONVERSIONS.get((kind.resource, kind.version))
