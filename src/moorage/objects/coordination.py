"""Leases and events: what schedulers write beside bindings."""

from typing import ClassVar

from moorage.objects.meta import KubeObject, ObjectReference, Struct


class LeaseSpec(Struct, frozen=True):
    """Who holds the lease, since when, and for how long."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(KubeObject, frozen=True):
    """A lock with an expiry, for leader election and node heartbeats."""

    API_VERSION: ClassVar[str] = "coordination.k8s.io/v1"
    KIND: ClassVar[str] = "Lease"

    spec: LeaseSpec = LeaseSpec()


class EventSeries(Struct, frozen=True):
    """How often an event was seen, and when last."""

    count: int = 0
    last_observed_time: str = ""


class Event(KubeObject, frozen=True):
    """Something that happened to an object."""

    API_VERSION: ClassVar[str] = "events.k8s.io/v1"
    KIND: ClassVar[str] = "Event"

    event_time: str | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    note: str = ""
    type: str = ""
