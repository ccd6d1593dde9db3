"""Which pods count where: those the API server has on nodes, and those we have decided on (assumed)."""

from collections.abc import Iterator
from functools import partial

from moorage.cluster.boundlabels import BoundLabels
from moorage.columns import PodInfo, Snapshot, Tentative
from moorage.objects import Pod


class ClusterState:
    """The snapshot with its pods by uid. An assumed pod counts on its node until it is confirmed or forgotten.

    An assumption never expires: the API server either shows the pod with a node, or whoever assumed it forgets it.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._counted: dict[str, PodInfo] = {}
        self._assumed: dict[str, PodInfo] = {}
        self._pending: dict[str, PodInfo] = {}
        self._labels = BoundLabels()

    def tentative(self) -> Tentative:
        """A block in which pods may be placed and taken away for a while: `with state.tentative() as t: ...; t.keep()`.

        At its end everything is as before, unless it was kept. Blocks may stand inside each other. Whatever else
        follows the cluster can join: see moorage.columns.tentative.
        """
        return self.snapshot.tentative()

    def _changing(self, uid: str) -> None:
        """What we hold about the pod is about to change."""
        undo = self.snapshot.undo
        if undo is not None:
            undo.save_key(self._counted, uid)
            undo.save_key(self._pending, uid)
            undo.save(self._assumed)

    # Pods without a node, as the API server has them now.

    def pending(self, uid: str) -> PodInfo | None:
        """A pod of ours that has no node; None once it has one, or is gone."""
        return self._pending.get(uid)

    def set_pending(self, pod: PodInfo) -> None:
        """A pod without a node came or changed."""
        self._changing(pod.uid)
        self._pending[pod.uid] = pod
        self.snapshot.groups.came(pod)

    def remove_pending(self, uid: str) -> PodInfo | None:
        """The pod has a node now, or is gone. None if it was not known."""
        self._changing(uid)
        before = self._pending.pop(uid, None)
        if before is not None:
            self.snapshot.groups.went(before)
        return before

    # Pods with a node.

    def set_assigned(self, pod: Pod) -> PodInfo:
        """The API server has the pod on a node: confirms an assumption, wherever that placed it."""
        uid = pod.metadata.uid
        self._changing(uid)
        if self._assumed.pop(uid, None) is not None:
            self._labels.learn(pod, self.snapshot.nodes.get(pod.spec.node_name))
        before = self._counted.get(uid)
        if before is not None and _counts_alike(before, pod):
            now = before.renewed(pod)
            self.snapshot.nodes.renew_pod(now)
        else:
            now = self.snapshot.pods.info(pod, on_node=True)
            _check(now)
            if before is not None:
                self._uncount(before)
            self.snapshot.nodes.add_pod(now, pod.spec.node_name)
        self._counted[uid] = now
        self.snapshot.groups.placed(now)
        return now

    def remove_assigned(self, uid: str) -> PodInfo | None:
        """The pod is gone from its node. None if it was not known there."""
        self._changing(uid)
        self._assumed.pop(uid, None)
        before = self._counted.pop(uid, None)
        if before is not None:
            self._uncount(before)
            self.snapshot.groups.went(before)
        return before

    def counted(self, uid: str) -> PodInfo | None:
        """The pod as it counts on a node, assigned or assumed."""
        return self._counted.get(uid)

    # Pods we have decided on.

    def assume(self, pod: PodInfo, node_name: str) -> PodInfo:
        """Count the pod on the node from now on; returns it as it will be once bound."""
        bound = pod.bound_to(node_name)
        if self._labels.copies:
            labelled = self._labels.expected(bound.pod, self.snapshot.nodes.get(node_name))
            if labelled is not bound.pod:
                group = self.snapshot.pods.group_of(labelled)
                bound = PodInfo(labelled, pod.pod_class, group, pod.affinity_class, pod.request)
        uid, undo = pod.uid, self.snapshot.undo
        if undo is not None and uid not in self._counted and uid not in self._assumed:
            undo.record(partial(self._drop, uid))
        else:
            self._changing(uid)
        self.snapshot.nominations.forget(pod)
        self.snapshot.nodes.add_pod(bound, node_name)
        self._counted[uid] = self._assumed[uid] = bound
        self.snapshot.groups.placed(bound, assumed=True)
        return bound

    def _drop(self, uid: str) -> None:
        """Have the maps as they were before the pod was assumed: it is the last in them, or they are restored whole."""
        self._counted.pop(uid, None)
        self._assumed.pop(uid, None)

    def forget(self, uid: str) -> bool:
        """Undo an assumption. False where there is none: it was confirmed, or forgotten before."""
        self._changing(uid)
        assumed = self._assumed.pop(uid, None)
        if assumed is None:
            return False
        del self._counted[uid]
        self._uncount(assumed)
        self.snapshot.groups.unplaced(assumed)
        return True

    def is_assumed(self, uid: str) -> bool:
        """Whether we have decided on the pod and the API server has not confirmed it yet."""
        return uid in self._assumed

    def assumed(self) -> Iterator[PodInfo]:
        """The assumed pods."""
        return iter(list(self._assumed.values()))

    @property
    def sizes(self) -> dict[str, int]:
        """How much is held, named as the cache_size metric names it."""
        return {
            "assumed_pods": len(self._assumed),
            "pods": len(self._counted),
            "nodes": len(self.snapshot.nodes),
        }

    def _uncount(self, pod: PodInfo) -> None:
        self.snapshot.nodes.remove_pod(pod, pod.spec.node_name)


def _counts_alike(before: PodInfo, after: Pod) -> bool:
    """Whether a newer version of a pod changes nothing that is counted or indexed: most updates are of that kind."""
    old = before.pod
    return (
        old.metadata.labels == after.metadata.labels
        and old.metadata.deletion_timestamp == after.metadata.deletion_timestamp
        and old.spec == after.spec
        and _resources_of_status(old) == _resources_of_status(after)
    )


def _resources_of_status(pod: Pod) -> object:
    """What an in-place resize has brought about so far."""
    status = pod.status
    return status.resources, status.allocated_resources, status.container_statuses, status.init_container_statuses


def _check(pod: PodInfo) -> None:
    """Work out now what a malformed pod fails on: a half counted pod could never be taken off again."""
    _ = pod.request, pod.pod_class.ports
