"""Kinds of a user's own: which are followed, and whom their events wake."""

import re
from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar

import pytest

from moorage.cluster import ClusterState, ObjectEvents, PodEvents, needed_kinds, profile_hints
from moorage.columns import Snapshot
from moorage.config import parse_config
from moorage.engine import make_engine
from moorage.engine.engine import default_registry
from moorage.errors import InputError
from moorage.framework import (
    Action,
    EventHint,
    Hint,
    KubeObject,
    PodInfo,
    Resource,
    Status,
    custom_kind,
    on,
    unschedulable,
)
from moorage.framework.handle import Handle
from moorage.framework.registrations import kinds_awaited, kinds_read, kinds_written
from moorage.objects import CSINode, Node, Pod, PodGroup, PodGroupAlpha, StorageClass, convert
from moorage.plugins import PrioritySort
from moorage.queue import Place, ProfileHints, SchedulingQueue
from moorage.testing import a_pod

ConfigMap = custom_kind("v1", "ConfigMap")
Quota = custom_kind("quota.example.com/v1", "ElasticQuota")


class Tide(KubeObject, frozen=True):
    """A kind with a class of its own."""

    API_VERSION: ClassVar[str] = "sea.example.com/v1"
    KIND: ClassVar[str] = "Tide"
    PLURAL: ClassVar[str] = "tides"

    level: int = 0


class Harbor:
    """Keeps pods out by kinds of its own."""

    reads = (ConfigMap,)
    may_read = (Quota,)
    writes = (Tide,)

    def pre_enqueue(self, _pod: PodInfo) -> Status:
        """Never."""
        return unschedulable("ebb")

    def events_to_register(self) -> list[EventHint]:
        """High tide."""
        return [on(Tide, Action.UPDATE, lambda _pod, _old, new: Hint.QUEUE if new.level > 3 else Hint.SKIP)]


def test_the_same_kind_is_the_same_class() -> None:
    assert custom_kind("quota.example.com/v1", "ElasticQuota") is Quota
    assert (Quota.PLURAL, Quota.KIND, Quota.API_VERSION) == ("elasticquotas", "ElasticQuota", "quota.example.com/v1")
    assert custom_kind("a/v1", "Policy").PLURAL == "policies"
    assert custom_kind("a/v1", "Switch").PLURAL == "switches"
    assert custom_kind("a/v1", "Gateway").PLURAL == "gateways"


def test_an_object_without_a_class_keeps_what_it_says() -> None:
    tree = {"metadata": {"name": "a", "namespace": "b"}, "spec": {"min": {"cpu": 4}}, "data": {"k": "v"}}
    quota = convert(tree, Quota)
    assert (quota.key, quota.spec, quota.data) == ("b/a", {"min": {"cpu": 4}}, {"k": "v"})


def test_what_is_followed_awaited_and_written() -> None:
    assert set(kinds_read("Harbor", Harbor())) == {ConfigMap, Quota, Tide}
    assert set(kinds_awaited("Harbor", Harbor())) == {ConfigMap, Tide}
    assert kinds_written("Harbor", Harbor()) == {Tide: ("create", "delete", "patch", "patch/status", "update")}
    assert set(needed_kinds([("Harbor", Harbor())], {})) == {ConfigMap, Quota, Tide}


def test_pods_and_nodes_are_followed_anyway() -> None:
    class Own:
        reads = (Pod, Node, StorageClass)

    assert kinds_read("Own", Own()) == (StorageClass,)


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        ({"reads": ("ConfigMap",)}, "plugin Own: reads has 'ConfigMap': expected a kind of moorage.objects"),
        ({"reads": ConfigMap}, "plugin Own: reads is <class"),
        ({"may_read": (int,)}, "plugin Own: may_read has <class 'int'>"),
        ({"writes": {"x": ("patch",)}}, "plugin Own: writes has 'x'"),
    ],
)
def test_what_is_no_kind_is_refused_with_the_plugins_name(attributes: dict[str, Any], problem: str) -> None:
    plugin = type("Own", (), attributes)()
    checked = kinds_written if "writes" in attributes else kinds_read
    with pytest.raises(InputError, match=re.escape(problem)):
        checked("Own", plugin)


def raising() -> Any:
    raise KeyError("tide")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (raising, "KeyError: 'tide' (at "),
        (lambda: 7, "answered 7; expected a list of on(...)"),
        (lambda: [on(Resource.NODE), "Node"], "answered 'Node'; expected a list of on(...)"),
        (lambda: [on("Nod")], "'Nod' is nothing that happens: expected a Resource or the class of a kind"),  # type: ignore[arg-type]
        (lambda: [EventHint(on(Resource.NODE).event, "now")], "expected a list of on(...)"),  # type: ignore[arg-type]
    ],
)
def test_wrong_registrations_are_refused_at_start(answer: Any, problem: str) -> None:
    class Wrong:
        def filter(self, _state: Any, _pod: Any, _node: Any) -> None: ...

        def events_to_register(self) -> Any:
            return answer()

    registry = default_registry()
    registry.register(Wrong)
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Wrong"}]}}}
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config = parse_config({**header, "profiles": [profile]}, known=registry.known)
    with pytest.raises(InputError) as refusal:
        profile_hints(make_engine(Snapshot(), config, registry=registry).runners["default-scheduler"].profile)
    assert str(refusal.value).startswith("plugin Wrong: events_to_register: ")
    assert problem in str(refusal.value)
    assert "test_cluster_own_kinds.py:" in str(refusal.value)


def queue_of(plugin: Any, hints: Sequence[EventHint] | None) -> SchedulingQueue:
    handle = Handle(Snapshot(), now=lambda: 0.0, random=Random(0))
    profile = ProfileHints({"Harbor": hints}, [("Harbor", plugin.pre_enqueue)])
    return SchedulingQueue(
        profiles={"default-scheduler": profile},
        queue_sort=PrioritySort(None, handle),
        nominations=handle.snapshot.nominations,
        now=lambda: 0.0,
    )


def test_an_event_of_an_own_kind_wakes_whom_its_hint_means() -> None:
    harbor, low, high = Harbor(), Tide(), Tide(level=5)
    queue = queue_of(harbor, harbor.events_to_register())
    queue.add(Snapshot().info(a_pod("boat").build()))
    events = ObjectEvents(Tide, Snapshot().objects, queue)
    assert [place for place, _ in queue.pods()] == [Place.GATED]
    events.added(low)
    events.updated(low, low)
    assert [place for place, _ in queue.pods()] == [Place.GATED]
    harbor.pre_enqueue = lambda _pod: None  # type: ignore[method-assign,assignment,return-value]
    queue = queue_of(harbor, harbor.events_to_register())
    queue.add(Snapshot().info(a_pod("boat").build()))
    assert queue.has_ready
    queued = queue.pop()
    assert queued is not None
    queue.return_unschedulable(queued, frozenset(("Harbor",)), frozenset())
    events = ObjectEvents(Tide, Snapshot().objects, queue)
    events.updated(low, low)
    assert [place for place, _ in queue.pods()] == [Place.UNSCHEDULABLE]
    events.updated(low, high)
    assert [place for place, _ in queue.pods()] != [Place.UNSCHEDULABLE]
    assert queue.registered_actions()[Resource.of(Tide)] == Action.UPDATE


def test_a_plugin_that_names_no_events_hears_of_the_kinds_it_reads() -> None:
    class Silent:
        reads = (Quota,)

        def filter(self, _state: Any, _pod: Any, _node: Any) -> None: ...

    registry = default_registry()
    registry.register(Silent)
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Silent"}]}}}
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config = parse_config({**header, "profiles": [profile]}, known=registry.known)
    hints = profile_hints(make_engine(Snapshot(), config, registry=registry).runners["default-scheduler"].profile)
    registered = hints.registrations["Silent"]
    assert registered is not None
    assert on(Quota, Action.ALL).event in [one.event for one in registered]
    assert on(Resource.NODE, Action.ALL).event in [one.event for one in registered]


def test_a_pod_that_comes_wakes_its_siblings() -> None:
    class Gang:
        def pre_enqueue(self, _pod: PodInfo) -> None: ...

    queue = queue_of(Gang(), [on(Resource.UNSCHEDULABLE_POD, Action.ADD)])
    pods = PodEvents(
        cluster=ClusterState(Snapshot()), queue=queue, profiles={"default-scheduler"}, reject_waiting=lambda _uid: False
    )
    pods.added(a_pod("one").build())
    queued = queue.pop()
    assert queued is not None
    queue.return_unschedulable(queued, frozenset(("Harbor",)), frozenset())
    assert [place for place, _ in queue.pods()] == [Place.UNSCHEDULABLE]
    pods.added(a_pod("two").build())
    places = {queued.pod.name: place for place, queued in queue.pods()}
    assert places["one"] is not Place.UNSCHEDULABLE


def test_of_two_versions_of_a_kind_the_one_that_is_read_is_followed() -> None:
    class Gangs:
        reads = (PodGroup,)

    registered = {Resource.POD_GROUP: Action.ADD, Resource.CSI_NODE: Action.ADD}
    assert set(needed_kinds([("Gangs", Gangs())], registered)) == {PodGroup, CSINode}
    assert set(needed_kinds([], registered)) == {PodGroup, PodGroupAlpha, CSINode}
