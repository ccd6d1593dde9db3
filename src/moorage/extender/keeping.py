"""Whole objects for extenders, which may read any field: those that a question is likely to send are kept as they came.

Nodes stand in every question to an extender that keeps none of its own, pending pods in every question. Victims are
seldom sent: they are read when they are.
"""

from collections.abc import Container
from typing import Final

import msgspec

from moorage.columns import PodInfo
from moorage.errors import ApiError
from moorage.extender.wire import RawObject
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client
from moorage.objects import Node, Pod

_PODS: Final = resource_of("Pod")


class KeptPods:
    """The text of pending pods; an informer's `keep` and one of its handlers."""

    def __init__(self, schedulers: Container[str]) -> None:
        self._schedulers = schedulers
        self._kept: dict[str, RawObject] = {}

    def keep(self, pod: Pod, raw: msgspec.Raw) -> None:
        """Keep the pod while it is ours and has no node."""
        if pod.spec.node_name or pod.is_terminal or pod.spec.scheduler_name not in self._schedulers:
            self._kept.pop(pod.metadata.uid, None)
        else:
            self._kept[pod.metadata.uid] = sent_form(raw, managed_fields=False)

    def get(self, uid: str) -> RawObject | None:
        """The pod's text as a question sends it."""
        return self._kept.get(uid)

    def added(self, new: Pod) -> None:
        """Seen by `keep` already."""

    def updated(self, old: Pod, new: Pod) -> None:
        """Seen by `keep` already."""

    def deleted(self, old: Pod) -> None:
        """The pod is gone."""
        self._kept.pop(old.metadata.uid, None)

    def synced(self) -> None:
        """All pods there are have been told."""


class KeptNodes:
    """The text of all nodes; an informer's `keep` and one of its handlers."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, RawObject]] = {}

    def keep(self, node: Node, raw: msgspec.Raw) -> None:
        """Keep the node as it now is."""
        self._kept[node.metadata.name] = node.metadata.uid, sent_form(raw, managed_fields=True)

    def get(self, name: str) -> RawObject | None:
        """The node's text as a question sends it."""
        kept = self._kept.get(name)
        return kept[1] if kept is not None else None

    def added(self, new: Node) -> None:
        """Seen by `keep` already."""

    def updated(self, old: Node, new: Node) -> None:
        """Seen by `keep` already."""

    def deleted(self, old: Node) -> None:
        """The node is gone; one that took its name meanwhile stays."""
        kept = self._kept.get(old.metadata.name)
        if kept is not None and kept[0] == old.metadata.uid:
            del self._kept[old.metadata.name]

    def synced(self) -> None:
        """All nodes there are have been told."""


class KeptObjects:
    """Pods and nodes as questions send them: `asking.WholeObjects`. `pods` and `nodes` are for informers to keep up.

    Pods are kept that ask for one of `schedulers`; nodes only where an extender keeps none of its own (`with_nodes`).
    """

    def __init__(self, client: Client, schedulers: Container[str], *, with_nodes: bool) -> None:
        self._client = client
        self.pods = KeptPods(schedulers)
        self.nodes = KeptNodes() if with_nodes else None

    async def pod(self, pod: PodInfo) -> RawObject:
        """A pod, read where it is not kept. Raises ApiError where it is gone."""
        kept = self.pods.get(pod.uid)
        if kept is not None:
            return kept
        raw = await self._client.get(_PODS.path(pod.namespace, pod.name))
        if msgspec.json.decode(raw, type=Pod).metadata.uid != pod.uid:
            raise ApiError(f"pod {pod.key} is another one now")
        return sent_form(msgspec.Raw(raw), managed_fields=False)

    def node(self, name: str) -> RawObject | None:
        """A node; None where it is gone."""
        return self.nodes.get(name) if self.nodes is not None else None


def sent_form(raw: msgspec.Raw, *, managed_fields: bool) -> RawObject:
    """The object as kube-scheduler sends it: without kind and apiVersion, with or without managedFields."""
    members = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    members.pop("kind", None)
    members.pop("apiVersion", None)
    if not managed_fields and "metadata" in members:
        metadata = msgspec.json.decode(members["metadata"], type=dict[str, msgspec.Raw])
        if metadata.pop("managedFields", None) is not None:
            members["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.Raw(msgspec.json.encode(members))
