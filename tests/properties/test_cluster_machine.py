"""Whatever happens in whatever order: the cluster we hold is the one the API server has, plus what we decided."""

from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from moorage.cluster import ClusterState, NodeEvents, PodEvents, find_faults
from moorage.columns import Snapshot
from moorage.framework.handle import Handle
from moorage.objects import Node, Pod
from moorage.plugins import PrioritySort
from moorage.queue import ProfileHints, SchedulingQueue
from moorage.testing import a_node, a_pod

NODES, PODS = ("a", "b", "c"), ("p", "q", "r", "s")
ZONE = "topology.kubernetes.io/zone"


class ClusterMachine(RuleBasedStateMachine):
    """An API server in two dicts, and our view of it."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.made = 0
        snapshot = Snapshot()
        handle = Handle(snapshot, now=lambda: 0.0, random=Random(0))
        profiles = {"default-scheduler": ProfileHints({"Fit": None})}
        self.queue = SchedulingQueue(
            profiles=profiles, queue_sort=PrioritySort(None, handle), nominations=snapshot.nominations, now=lambda: 0.0
        )
        self.cluster = ClusterState(snapshot)
        self.pod_events = PodEvents(
            cluster=self.cluster, queue=self.queue, profiles={"default-scheduler"}, reject_waiting=lambda _uid: False
        )
        self.node_events = NodeEvents(snapshot=snapshot, queue=self.queue)

    @rule(name=st.sampled_from(NODES), cpu=st.integers(1, 4))
    def set_node(self, name: str, cpu: int) -> None:
        node = a_node(name).allocatable(cpu=str(cpu)).zone("north").build()
        old = self.nodes.get(name)
        self.nodes[name] = node
        if old is None:
            self.node_events.added(node)
        else:
            self.node_events.updated(old, node)

    @rule(name=st.sampled_from(NODES))
    def delete_node(self, name: str) -> None:
        node = self.nodes.pop(name, None)
        if node is not None:
            self.node_events.deleted(node)

    @rule(name=st.sampled_from(PODS), cpu=st.integers(0, 3), node=st.sampled_from(("", *NODES)))
    def make_pod(self, name: str, cpu: int, node: str) -> None:
        if name in self.pods:
            return
        self.made += 1
        pod = a_pod(name).requests(cpu=str(cpu)).on(node).metadata(uid=f"{name}-{self.made}").build()
        self.pods[name] = pod
        self.pod_events.added(pod)

    @rule(name=st.sampled_from(PODS), app=st.sampled_from(("web", "db")), phase=st.sampled_from(("Running", "Failed")))
    def change_pod(self, name: str, app: str, phase: str) -> None:
        old = self.pods.get(name)
        if old is None:
            return
        metadata = replace(old.metadata, labels={**old.metadata.labels, "app": app})
        phase = phase if old.spec.node_name else old.status.phase
        self._set_pod(old, replace(old, metadata=metadata, status=replace(old.status, phase=phase)))

    @rule(name=st.sampled_from(PODS), node=st.sampled_from(NODES), copies=st.booleans())
    def bind_pod(self, name: str, node: str, copies: bool) -> None:
        """The API server binds: as we decided, or as somebody else did."""
        old = self.pods.get(name)
        if old is None or old.spec.node_name:
            return
        labels = {**old.metadata.labels, **({ZONE: "north"} if copies else {})}
        metadata = replace(old.metadata, labels=labels)
        self._set_pod(old, replace(old, metadata=metadata, spec=replace(old.spec, node_name=node)))

    @rule(name=st.sampled_from(PODS))
    def delete_pod(self, name: str) -> None:
        pod = self.pods.pop(name, None)
        if pod is not None:
            self.pod_events.deleted(pod)

    @precondition(lambda self: self.queue.has_ready)
    @rule(node=st.sampled_from(NODES))
    def decide(self, node: str) -> None:
        queued = self.queue.pop()
        assert queued is not None
        if self.cluster.is_assumed(queued.pod.uid) or node not in self.nodes:
            self.queue.return_unschedulable(queued, ["Fit"])
        else:
            self.cluster.assume(queued.pod, node)
            self.queue.done(queued.pod.uid)

    @rule()
    def forget(self) -> None:
        """A binding failed: the pod is back in the queue."""
        for assumed in list(self.cluster.assumed())[:1]:
            self.cluster.forget(assumed.uid)
            pending = self.cluster.pending(assumed.uid)
            if pending is not None:
                self.queue.add(pending)

    @invariant()
    def the_cluster_agrees(self) -> None:
        assert find_faults(self.cluster, self.nodes.values(), self.pods.values()) == []

    @invariant()
    def no_pod_is_lost_or_in_two_places(self) -> None:
        queued = [one.pod.uid for _, one in self.queue.pods()]
        assert len(queued) == len(set(queued))
        for pod in self.pods.values():
            uid = pod.metadata.uid
            waits = uid in queued or self.cluster.is_assumed(uid)
            assert waits != bool(pod.spec.node_name)

    def _set_pod(self, old: Pod, new: Any) -> None:
        self.pods[new.metadata.name] = new
        self.pod_events.updated(old, new)


TestClusterMachine = ClusterMachine.TestCase
TestClusterMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
