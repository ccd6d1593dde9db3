"""Informers for the kinds that the enabled plugins need, feeding the cluster state and the queue."""

import gc
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

from moorage.cluster import NodeEvents, ObjectEvents, PodEvents, PodSharing
from moorage.columns import ObjectStore
from moorage.extender.keeping import KeptObjects
from moorage.kube.informer import Informer
from moorage.kube.transport import Client
from moorage.objects import KubeObject, Node, Pod
from moorage.queue import SchedulingQueue

#: Pods that ended hold nothing any more: the API server does not even send them.
LIVING_PODS: Final = "status.phase!=Succeeded,status.phase!=Failed"

#: After the first lists almost everything lives long: look for cycles seldom.
_COLLECTION_THRESHOLDS: Final = (50_000, 20, 50)


class Wakes:
    """An informer's handler that only says that something happened, whatever it was."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def added(self, _new: KubeObject) -> None:
        """Something appeared."""
        self._wake()

    def updated(self, _old: KubeObject, _new: KubeObject) -> None:
        """Something changed."""
        self._wake()

    def deleted(self, _old: KubeObject) -> None:
        """Something is gone."""
        self._wake()

    def synced(self) -> None:
        """Everything there is has been told."""
        self._wake()


class Informers:
    """What is followed: pods, nodes, and the kinds that plugins read; whole ones are `kept` for extenders."""

    def __init__(
        self,
        *,
        client: Client,
        objects: ObjectStore,
        queue: SchedulingQueue,
        pod_events: PodEvents,
        node_events: NodeEvents,
        kinds: Iterable[type[KubeObject]],
        wake: Callable[[], None],
        awaited: Collection[type[KubeObject]] = (),
        kept: KeptObjects | None = None,
    ) -> None:
        """Kinds that are `awaited` have to be served; others are left out until they are."""
        whole_pods = kept.pods if kept is not None else None
        whole_nodes = kept.nodes if kept is not None else None
        self.pods = Informer(
            client,
            Pod,
            field_selector=LIVING_PODS,
            transform=PodSharing(),
            keep=whole_pods.keep if whole_pods is not None else None,
        )
        self.nodes = Informer(client, Node, keep=whole_nodes.keep if whole_nodes is not None else None)
        self.pods.add_handler(pod_events)
        if whole_pods is not None:
            self.pods.add_handler(whole_pods)
        if whole_nodes is not None:
            self.nodes.add_handler(whole_nodes)
        self.nodes.add_handler(node_events)
        self.all: list[Informer[Any]] = [self.nodes, self.pods]
        for kind in kinds:
            informer: Informer[Any] = Informer(client, kind, may_be_missing=True, is_awaited=kind in awaited)
            informer.add_handler(ObjectEvents(kind, objects, queue))
            self.all.append(informer)
        for informer in self.all:
            informer.add_handler(Wakes(wake))

    @property
    def synced(self) -> bool:
        """Whether everything has been listed once."""
        return all(informer.synced.is_set() for informer in self.all)


def tune_collector() -> None:
    """Make the garbage collector walk seldom; call once the first lists are in (and frozen)."""
    gc.set_threshold(*_COLLECTION_THRESHOLDS)
