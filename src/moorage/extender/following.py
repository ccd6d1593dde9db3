"""The cluster as an extender knows it: informers of its own, which tell it of nodes, pods and what its plugins read."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from moorage.cluster import ClusterState
from moorage.columns import ObjectStore, PodInfo, Snapshot
from moorage.errors import InputError, ObjectError
from moorage.kube.informer import Informer
from moorage.kube.transport import Client
from moorage.objects import KubeObject, Node, Pod
from moorage.values.requests import allocatable_amounts

INACTIVITY: Final = 180.0

#: Pods that ended hold nothing any more.
_LIVING: Final = "status.phase!=Succeeded,status.phase!=Failed"


class Pods:
    """Counts pods where they are. `on_settled` hears of pods that are bound or gone."""

    def __init__(self, cluster: ClusterState, on_settled: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._on_settled = on_settled

    def added(self, new: Pod) -> None:
        """A pod appeared."""
        uid = new.metadata.uid
        if new.is_terminal:
            self._forget(uid)
            return
        try:
            if new.spec.node_name:
                self._cluster.remove_pending(uid)
                self._cluster.set_assigned(new)
                self._on_settled(uid)
            else:
                pending = self._cluster.snapshot.info(new)
                _ = pending.request
                self._cluster.set_pending(pending)
        except ObjectError:
            raise
        except InputError as error:
            raise ObjectError(error.problem, where=f"Pod {new.key}: {error.where}".rstrip(": ")) from error

    def updated(self, _old: Pod, new: Pod) -> None:
        """A pod changed."""
        self.added(new)

    def deleted(self, old: Pod) -> None:
        """A pod is gone."""
        self._forget(old.metadata.uid)

    def synced(self) -> None:
        """All pods there are have been told."""

    def _forget(self, uid: str) -> None:
        self._cluster.remove_pending(uid)
        self._cluster.remove_assigned(uid)
        self._on_settled(uid)


class Nodes:
    """Keeps the node table."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._nodes = snapshot.nodes

    def added(self, new: Node) -> None:
        """A node appeared."""
        try:
            allocatable_amounts(new.status.allocatable)
        except InputError as error:
            raise ObjectError(error.problem, where=f"Node {new.key}: status.allocatable") from error
        self._nodes.set_node(new)

    def updated(self, old: Node, new: Node) -> None:
        """A node changed."""
        if (old.spec, old.status, old.metadata.labels) != (new.spec, new.status, new.metadata.labels):
            self.added(new)

    def deleted(self, old: Node) -> None:
        """A node is gone."""
        self._nodes.remove_node(old.metadata.name)

    def synced(self) -> None:
        """All nodes there are have been told."""


class Objects:
    """Keeps what plugins read besides nodes and pods."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def added(self, new: KubeObject) -> None:
        """An object appeared."""
        self._objects.set(new)

    def updated(self, _old: KubeObject, new: KubeObject) -> None:
        """An object changed."""
        self._objects.set(new)

    def deleted(self, old: KubeObject) -> None:
        """An object is gone."""
        self._objects.remove(old)

    def synced(self) -> None:
        """All objects there are have been told."""


def make_informers(
    client: Client, cluster: ClusterState, kinds: Iterable[type[KubeObject]], on_settled: Callable[[str], None]
) -> list[Informer[Any]]:
    """Informers for nodes, pods and these kinds, feeding the cluster."""
    nodes = Informer(client, Node, inactivity=INACTIVITY)
    nodes.add_handler(Nodes(cluster.snapshot))
    pods = Informer(client, Pod, field_selector=_LIVING, inactivity=INACTIVITY)
    pods.add_handler(Pods(cluster, on_settled))
    informers: list[Informer[Any]] = [nodes, pods]
    for kind in kinds:
        informer: Informer[Any] = Informer(client, kind, inactivity=INACTIVITY)
        informer.add_handler(Objects(cluster.snapshot.objects))
        informers.append(informer)
    return informers


def pods_by_uid(cluster: ClusterState, node_name: str, uids: Iterable[str]) -> list[PodInfo] | None:
    """The pods of these uids; None unless all of them are on the node."""
    pods = [cluster.counted(uid) for uid in uids]
    if any(pod is None or pod.spec.node_name != node_name for pod in pods):
        return None
    return [pod for pod in pods if pod is not None]
