import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import pytest

from moorage.errors import ObjectError
from moorage.kube import watching
from moorage.kube.informer import Informer, run_informers
from moorage.kube.transport import Client
from moorage.objects import Node, Pod, StorageClass

if TYPE_CHECKING:
    from tests.unit.kube.conftest import FakeApi

PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
EXPIRED = {"type": "ERROR", "object": {"code": 410, "reason": "Expired"}}


def pod(name: str, version: int, *, uid: str = "", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "resourceVersion": str(version), "uid": uid or f"uid-{name}"}
    return {"metadata": metadata, "spec": spec}


def streamed(*items: dict[str, Any], version: int) -> list[dict[str, Any]]:
    """The lines of a streaming list."""
    end = {"resourceVersion": str(version), "annotations": {"k8s.io/initial-events-end": "true"}}
    lines = [{"type": "ADDED", "object": item} for item in items]
    return [*lines, {"type": "BOOKMARK", "object": {"metadata": end}}]


class Log:
    """A handler that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def added(self, new: Pod) -> None:
        if new.spec.node_name == "refused":
            raise ObjectError("cannot be", where=new.key)
        self.told.append(f"+{new.metadata.name}")

    def updated(self, old: Pod, new: Pod) -> None:
        self.told.append(f"~{new.metadata.name} {old.spec.node_name}>{new.spec.node_name}")

    def deleted(self, old: Pod) -> None:
        self.told.append(f"-{old.metadata.name}")

    def synced(self) -> None:
        self.told.append("synced")


@pytest.fixture(autouse=True)
def no_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "FIRST_DELAY", 0.001)
    monkeypatch.setattr(watching, "LONGEST_DELAY", 0.01)


@asynccontextmanager
async def running(informer: Informer[Any]) -> AsyncIterator[None]:
    task = asyncio.create_task(informer.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is waited for happens behind a socket
            await asyncio.sleep(0.005)


async def test_the_store_follows_and_handlers_hear(api: "FakeApi", client: Client) -> None:
    api.watch(
        PODS,
        *streamed(pod("a", 1), pod("b", 2), version=5),
        {"type": "MODIFIED", "object": pod("a", 6, nodeName="n1")},
        {"type": "DELETED", "object": pod("b", 7)},
        {"type": "DELETED", "object": pod("stranger", 8)},
        {"type": "ADDED", "object": pod("c", 9)},
    )
    informer, log = Informer(client, Pod), Log()
    informer.add_handler(log)
    async with running(informer):
        await until(lambda: "+c" in log.told)
    assert log.told == ["+a", "+b", "synced", "~a >n1", "-b", "+c"]
    assert sorted(item.metadata.name for item in informer) == ["a", "c"]
    found = informer.get("a", "default")
    assert found is not None
    assert found.spec.node_name == "n1"
    assert informer.get("b", "default") is None
    assert len(informer) == 2


async def test_what_a_second_list_lacks_was_deleted_and_what_is_unchanged_is_not_told(
    api: "FakeApi", client: Client
) -> None:
    api.watch(PODS, *streamed(pod("gone", 1), pod("same", 2), pod("other", 3), version=5), EXPIRED)
    api.watch(PODS, *streamed(pod("same", 2), pod("other", 8, nodeName="n1"), pod("new", 9), version=10))
    informer, log = Informer(client, Pod), Log()
    informer.add_handler(log)
    async with running(informer):
        await until(lambda: "-gone" in log.told)
    assert log.told == ["+gone", "+same", "+other", "synced", "~other >n1", "+new", "-gone"]


async def test_a_list_cut_half_way_deletes_nothing(api: "FakeApi", client: Client) -> None:
    api.watch(PODS, *streamed(pod("a", 1), pod("b", 2), version=5), EXPIRED)
    api.watch(PODS, {"type": "ADDED", "object": pod("a", 1)}, EXPIRED)
    api.watch(PODS, *streamed(pod("a", 1), pod("b", 2), pod("c", 8), version=9))
    informer, log = Informer(client, Pod), Log()
    informer.add_handler(log)
    async with running(informer):
        await until(lambda: "+c" in log.told)
    assert log.told == ["+a", "+b", "synced", "+c"]


async def test_an_object_made_again_under_its_name_is_deleted_and_added(api: "FakeApi", client: Client) -> None:
    api.watch(PODS, *streamed(pod("a", 1, uid="old"), version=5), EXPIRED)
    api.watch(PODS, *streamed(pod("a", 8, uid="new"), version=9))
    informer, log = Informer(client, Pod), Log()
    informer.add_handler(log)
    async with running(informer):
        await until(lambda: len(log.told) >= 4)
    assert log.told == ["+a", "synced", "-a", "+a"]


async def test_malformed_objects_are_reported_and_their_last_good_state_stays(api: "FakeApi", client: Client) -> None:
    bad = pod("a", 6, priority="high")
    api.watch(PODS, *streamed(pod("a", 1), version=5), {"type": "MODIFIED", "object": bad}, EXPIRED)
    api.watch(PODS, *streamed(bad, pod("b", 7), version=8), {"type": "DELETED", "object": bad})
    reports: list[ObjectError] = []
    informer, log = Informer(client, Pod, on_malformed=reports.append), Log()
    informer.add_handler(log)
    async with running(informer):
        await until(lambda: "-a" in log.told)
    assert log.told == ["+a", "synced", "+b", "-a"]
    assert [report.where for report in reports] == ["Pod default/a: spec.priority"] * 3


async def test_a_handler_may_refuse_an_object_as_malformed(api: "FakeApi", client: Client) -> None:
    api.watch(PODS, *streamed(pod("a", 1, nodeName="refused"), pod("b", 2), version=5))
    reports: list[ObjectError] = []
    informer, log = Informer(client, Pod, on_malformed=reports.append), Log()
    informer.add_handler(log)
    async with running(informer):
        await informer.synced.wait()
    assert log.told == ["+b", "synced"]
    assert [report.where for report in reports] == ["default/a"]


async def test_a_handler_that_breaks_ends_the_informer(api: "FakeApi", client: Client) -> None:
    class Broken(Log):
        def added(self, new: Pod) -> None:
            raise RuntimeError("a bug")

    api.watch(PODS, *streamed(pod("a", 1), version=5))
    informer = Informer(client, Pod)
    informer.add_handler(Broken())
    with pytest.raises(RuntimeError, match="a bug"):
        async with asyncio.timeout(10):
            await informer.run()


async def test_a_handler_that_comes_late_is_told_what_there_is(api: "FakeApi", client: Client) -> None:
    api.watch(PODS, *streamed(pod("a", 1), version=5))
    informer, log = Informer(client, Pod), Log()
    async with running(informer):
        await informer.synced.wait()
        informer.add_handler(log)
    assert log.told == ["+a", "synced"]


async def test_a_transform_sees_each_object_first(api: "FakeApi", client: Client) -> None:
    def on_node(item: Pod) -> Pod:
        return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, node_name="changed"))

    api.watch(PODS, *streamed(pod("a", 1), version=5))
    informer = Informer(client, Pod, transform=on_node)
    async with running(informer):
        await informer.synced.wait()
    assert [item.spec.node_name for item in informer] == ["changed"]


async def test_namespace_and_selectors_are_asked_for(api: "FakeApi", client: Client) -> None:
    path = "/api/v1/namespaces/team-a/pods"
    api.watch(path, *streamed(version=5))
    informer = Informer(client, Pod, namespace="team-a", label_selector="a=b", field_selector="spec.nodeName=")
    async with running(informer):
        await informer.synced.wait()
    query = api.seen[0].query
    assert (query["labelSelector"], query["fieldSelector"]) == ("a=b", "spec.nodeName=")


async def test_a_server_that_went_away_and_came_back_is_followed_again(api: "FakeApi", client: Client) -> None:
    api.watch(PODS, *streamed(pod("a", 1), pod("b", 2), version=5))
    informer, log = Informer(client, Pod), Log()
    informer.add_handler(log)
    async with running(informer):
        await informer.synced.wait()
        await api.stop()
        await asyncio.sleep(0.05)
        assert len(informer) == 2  # what was known stays known
        api.forget()
        api.watch(PODS, EXPIRED)
        api.watch(PODS, *streamed(pod("b", 2), pod("c", 8), version=9))
        await api.start()
        await until(lambda: "-a" in log.told)
    assert log.told == ["+a", "+b", "synced", "+c", "-a"]


async def test_several_informers_run_together_and_freeze_what_they_read(
    api: "FakeApi", client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen: list[bool] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(gc.isenabled()))
    api.watch(PODS, *streamed(pod("a", 1), version=5))
    api.watch(NODES, *streamed({"metadata": {"name": "n1", "resourceVersion": "1"}}, version=5))
    pods, nodes = Informer(client, Pod), Informer(client, Node)
    ready = asyncio.Event()
    task = asyncio.create_task(run_informers([pods, nodes], on_synced=ready.set))
    async with asyncio.timeout(10):
        await ready.wait()
    assert (len(pods), len(nodes)) == (1, 1)
    assert frozen == [False]
    assert gc.isenabled()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_the_collector_comes_back_when_the_cluster_cannot_be_read(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moorage.kube.informer.COLLECTION_LIMIT", 0.05)
    task = asyncio.create_task(run_informers([Informer(client, Pod)]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not gc.isenabled()
    await until(gc.isenabled)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class Widget(Pod, frozen=True):
    """A kind of one's own that looks like a pod."""

    API_VERSION: ClassVar[str] = "example.org/v1"
    KIND: ClassVar[str] = "Widget"
    PLURAL: ClassVar[str] = "widgets"


async def test_a_kind_that_is_not_served_yet_counts_as_empty_and_is_waited_for(
    api: "FakeApi", client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MISSING_DELAY", 0.001)
    widgets = "/apis/example.org/v1/widgets"
    informer = Informer(client, Widget)
    async with running(informer):
        await until(lambda: informer.synced.is_set())
        assert len(informer) == 0
        api.watch(widgets, *streamed(pod("first", 5), version=5))
        await until(lambda: informer.get("first", "default") is not None)


async def test_what_only_other_versions_of_the_server_have_is_left_out_with_one_line(
    api: "FakeApi", client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watching, "MISSING_DELAY", 0.001)
    caplog.set_level("INFO", logger="moorage")
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    informer = Informer(client, StorageClass, may_be_missing=True)
    async with running(informer):
        await until(lambda: informer.synced.is_set())
        await until(lambda: len(api.asked("WATCH", classes)) > 5)
        assert [record.getMessage() for record in caplog.records] == [
            f"{classes}: not served here: left out until it is"
        ]
        api.watch(classes, *streamed(pod("first", 5), version=5))
        await until(lambda: len(informer) == 1)
    assert f"{classes}: served now" in [record.getMessage() for record in caplog.records]


async def test_what_is_awaited_is_not_synced_before_it_is_served(
    api: "FakeApi", client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watching, "MISSING_DELAY", 0.001)
    widgets = "/apis/example.org/v1/widgets"
    informer = Informer(client, Widget, is_awaited=True)
    async with running(informer):
        await until(lambda: len(api.asked("WATCH", widgets)) > 5)
        assert not informer.synced.is_set()
        assert caplog.messages == [f"{widgets}: not served here: nothing is scheduled until it is"]
        api.watch(widgets, *streamed(pod("first", 5), version=5))
        await until(lambda: informer.synced.is_set())
    assert len(informer) == 1


async def test_objects_go_with_the_definition_of_their_kind(
    api: "FakeApi", client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MISSING_DELAY", 0.001)
    widgets = "/apis/example.org/v1/widgets"
    api.watch(widgets, *streamed(pod("first", 5), version=5), stay=False)
    api.answer("WATCH", widgets, {"kind": "Status", "code": 404, "reason": "NotFound"}, status=404)
    informer, log = Informer(client, Widget), Log()
    informer.add_handler(log)
    async with running(informer):
        await until(lambda: "-first" in log.told)
    assert log.told == ["+first", "synced", "-first"]
