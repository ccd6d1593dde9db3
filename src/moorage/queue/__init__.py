"""The scheduling queue: active, backing off, unschedulable, gated; nominated pods; hints.

Synchronous and deterministic: time is handed in, hosts do the waiting. A pod is in exactly one place. Events reach
the pods they may help through an index, never by a walk over the queue.
"""

from moorage.queue.asking import Stop, never
from moorage.queue.deriving import node_events, pod_events
from moorage.queue.groups import Group
from moorage.queue.hints import ALL_EVENTS, EXTENDER, HintObserver, PreEnqueueFunction, ProfileHints
from moorage.queue.moves import QueueCounts, event_label
from moorage.queue.queue import SchedulingQueue
from moorage.queue.record import Place, QueuedEntity, QueuedGroup, QueuedPod

__all__ = [
    "ALL_EVENTS",
    "EXTENDER",
    "Group",
    "HintObserver",
    "Place",
    "PreEnqueueFunction",
    "ProfileHints",
    "QueueCounts",
    "QueuedEntity",
    "QueuedGroup",
    "QueuedPod",
    "SchedulingQueue",
    "Stop",
    "event_label",
    "never",
    "node_events",
    "pod_events",
]
