"""The world of a live process: jobs, cancellations, and what the API server's answers are called."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moorage.attempt.scripted import Measured
from moorage.attempt.world import SelfCancelled, World
from moorage.columns import PodInfo, Snapshot
from moorage.engine.asking import Broken, Extender, FilterAnswer, FilterQuestion
from moorage.errors import ApiError, ExtenderError
from moorage.framework.writes import Bound, BoundElsewhere, Conflict, Done, Gone, Refused, Unknown
from moorage.kube import errors
from moorage.kube.access import ClusterAccess
from moorage.kube.lanes import Fenced, Lanes
from moorage.kube.transport import JSON, Client, Query
from moorage.live.reporting import Reporter
from moorage.live.world import LiveWorld
from moorage.objects import Condition, Node
from moorage.testing import a_node, a_pod

pytestmark = pytest.mark.looptime

POD = "/api/v1/namespaces/default/pods/web"


class Server(Client):
    """Answers as it is told, by method and ending of the path; keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(ClusterAccess("http://nowhere"))
        self.sent: list[tuple[str, str, Any]] = []
        self.answers: dict[str, list[Any]] = {}

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        query: Query | None = None,
        content_type: str = JSON,
        deadline: float | None = None,
    ) -> bytes:
        await asyncio.sleep(0.01)
        self.sent.append((method, path, json.loads(body) if body else None))
        answers = self.answers.get(f"{method} {path.rpartition('/')[2]}", [])
        answer = answers.pop(0) if answers else {}
        if isinstance(answer, Exception):
            raise answer
        return json.dumps(answer).encode()


class FakeExtenders:
    """Extenders that answer what they are told to."""

    def __init__(self) -> None:
        self.problem: ExtenderError | None = None
        self.bound: list[tuple[str, str]] = []

    async def ask(self, _question: Any) -> FilterAnswer:
        return FilterAnswer(frozenset("a"))

    async def bind(self, _extender: Extender, pod: PodInfo, node_name: str) -> None:
        self.bound.append((pod.name, node_name))
        if self.problem is not None:
            raise self.problem


class Rig:
    """A world over a server."""

    def __init__(self, extenders: Any = None) -> None:
        self.server = Server()
        self.may_act = True
        lanes = Lanes(self.server, qps=0, may_act=lambda: self.may_act)
        reporter = Reporter(lanes, ["default-scheduler"])
        self.live = LiveWorld(
            client=self.server,
            lanes=lanes,
            reporter=reporter,
            observer=Measured(),
            now=asyncio.get_running_loop().time,
            extenders=extenders,
        )
        self.world: World = self.live
        self.web = Snapshot().info(a_pod("web").metadata(uid="u").build())

    @property
    def methods(self) -> list[str]:
        return [f"{method} {path.rpartition('/')[2]}" for method, path, _ in self.server.sent]


def pod_on(node_name: str, uid: str = "u") -> dict[str, Any]:
    return {"metadata": {"uid": uid}, "spec": {"nodeName": node_name}}


CONFLICT = errors.Conflict("already assigned", code=409, reason="Conflict")


# Jobs.


async def test_a_job_cancelled_before_it_began_begins_and_is_told() -> None:
    rig, seen = Rig(), list[str]()

    async def work() -> None:
        seen.append("began")
        try:
            await rig.world.sleep(10)
        except rig.world.cancellation:
            seen.append("told")
            raise

    job = rig.world.spawn(work())
    job.cancel()
    job.cancel()
    assert await rig.world.ended([job])
    assert seen == ["began", "told"]


async def test_waiting_has_an_end() -> None:
    rig = Rig()
    job = rig.world.spawn(rig.world.sleep(10))
    assert not await rig.world.ended([job], at_most=1)
    assert rig.world.now() == pytest.approx(1)
    assert await rig.world.ended([job], at_most=20)
    assert await rig.world.ended([])


async def test_a_job_that_breaks_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()

    async def break_down() -> None:
        raise ZeroDivisionError

    await rig.world.ended([rig.world.spawn(break_down())])
    assert "ZeroDivisionError" in caplog.text


async def test_whose_cancellation_it_is() -> None:
    rig, seen = Rig(), list[str]()

    async def cancels_itself() -> None:
        raise asyncio.CancelledError

    with pytest.raises(SelfCancelled):
        await rig.world.run(cancels_itself())

    async def work() -> None:
        try:
            await rig.world.run(asyncio.sleep(10))
        except SelfCancelled:
            seen.append("its own")
        except rig.world.cancellation:
            seen.append("ours")
            raise

    job = rig.world.spawn(work())
    await asyncio.sleep(1)
    job.cancel()
    await rig.world.ended([job])
    assert seen == ["ours"]


async def test_a_promise_is_kept_by_a_timer() -> None:
    rig = Rig()
    promise: Any = rig.world.promise()
    rig.world.call_later(3, lambda: promise.set_result("kept"))
    assert await rig.world.kept(promise) == "kept"
    assert rig.world.now() == pytest.approx(3)


# Binds.


@pytest.mark.parametrize(
    ("bind", "looked", "uncertain", "expected"),
    [
        ([], [], False, Bound()),
        ([CONFLICT], [pod_on("b")], False, BoundElsewhere("already assigned", 409, "Conflict", node_name="b")),
        ([CONFLICT], [pod_on("a")], False, BoundElsewhere("already assigned", 409, "Conflict", node_name="a")),
        ([], [pod_on("a")], True, Bound()),
        ([CONFLICT], [pod_on("")], False, Refused("already assigned", 409, "Conflict")),
        ([CONFLICT], [pod_on("a", uid="other")], False, Gone('pods "web" is now another pod', 404, "NotFound")),
        ([CONFLICT], [errors.NotFound("gone", code=404)], False, Gone("gone", 404)),
        ([CONFLICT], [errors.Unreachable("no way")], False, Unknown("no way")),
        ([errors.NotFound("gone", code=404)], [], False, Gone("gone", 404)),
        ([errors.Forbidden("no", code=403)], [], False, Refused("no", 403)),
        ([errors.Unreachable("no way")] * 4, [], False, Unknown("no way", may_be_done=False)),
    ],
)
async def test_what_becomes_of_a_bind(bind: Any, looked: Any, uncertain: bool, expected: Any) -> None:
    rig = Rig()
    rig.server.answers = {"POST binding": list(bind), "GET web": list(looked)}
    assert await rig.world.bind(rig.web, "a", uncertain=uncertain) == expected


async def test_a_bind_without_the_lease_is_refused_and_not_sent() -> None:
    rig = Rig()
    rig.may_act = False
    answer = await rig.world.bind(rig.web, "a", uncertain=False)
    assert isinstance(answer, Refused)
    assert rig.server.sent == []


# Other writes.


async def test_a_victim_is_told_why_before_it_is_deleted() -> None:
    rig = Rig()
    condition = Condition("DisruptionTarget", "True", "PreemptionByScheduler")
    assert await rig.world.evict(rig.web, condition) == Done()
    (_, _, patch), (_, _, options) = rig.server.sent
    assert rig.methods == ["PATCH status", "DELETE web"]
    assert patch["metadata"] == {"uid": "u"}
    assert patch["status"]["conditions"][0]["type"] == "DisruptionTarget"
    assert options["preconditions"] == {"uid": "u"}


async def test_a_status_is_patched_for_that_very_pod() -> None:
    rig = Rig()
    assert await rig.world.patch_status(rig.web, {"nominatedNodeName": None}) == Done()
    assert rig.server.sent == [
        ("PATCH", f"{POD}/status", {"metadata": {"uid": "u"}, "status": {"nominatedNodeName": None}})
    ]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (errors.NotFound("gone", code=404, reason="NotFound"), Gone("gone", 404, "NotFound")),
        (CONFLICT, Conflict("already assigned", 409, "Conflict")),
        (errors.Unreachable("no way"), Unknown("no way", may_be_done=False)),
        (errors.AnswerLost("cut"), Unknown("cut")),
        (errors.Invalid("no such field", code=422), Refused("no such field", 422)),
        (ApiError("something"), Refused("something")),
    ],
)
async def test_failures_have_names_of_ours(error: ApiError, expected: Any) -> None:
    rig = Rig()
    node = a_node("a").metadata(uid="n").build()
    ways: dict[str, Callable[[], Awaitable[Any]]] = {
        "PATCH status": lambda: rig.world.patch_status(rig.web, {}),
        "DELETE web": lambda: rig.world.evict(rig.web, Condition()),
        "GET a": lambda: rig.world.read(Node, "a", ""),
        "POST nodes": lambda: rig.world.create(node),
        "PATCH a": lambda: rig.world.patch(Node, "a", "", {}, ""),
        "DELETE a": lambda: rig.world.delete(node),
    }
    for request, way in ways.items():
        rig.server.answers = {request: [error] * 5}
        answer = await way()
        if request.startswith("DELETE") and isinstance(error, errors.Unreachable | errors.AnswerLost):
            assert isinstance(answer, Unknown)
        else:
            assert answer == expected, request


async def test_objects_are_written_whole_and_read_as_types() -> None:
    rig = Rig()
    node = a_node("a").labels(disk="ssd").build()
    kept = {"metadata": {"name": "a", "labels": {"disk": "hdd"}}}
    rig.server.answers = {"POST nodes": [kept], "PATCH status": [kept], "GET a": [kept]}
    made = await rig.world.create(node)
    patched = await rig.world.patch(Node, "a", "", {"metadata": {"labels": {"disk": "hdd"}}}, "status")
    read = await rig.world.read(Node, "a", "")
    for one in (made, patched, read):
        assert isinstance(one, Node)
        assert one.metadata.labels == {"disk": "hdd"}
    _, path, body = rig.server.sent[0]
    assert path == "/api/v1/nodes"
    assert (body["apiVersion"], body["kind"], body["metadata"]["labels"]["disk"]) == ("v1", "Node", "ssd")


# The client plugins are given.


async def test_plugins_read_freely_and_write_only_with_the_lease() -> None:
    rig = Rig()
    client = rig.live.client
    await client.get("/api/v1/nodes/a")
    await client.patch("/api/v1/nodes/a", b"{}")
    await client.post("/api/v1/nodes", b"{}", {"dryRun": "All"})
    assert rig.methods == ["GET a", "PATCH a", "POST nodes"]
    rig.may_act = False
    await client.get("/api/v1/nodes/a")
    for write in (client.put("/api/v1/nodes/a", b"{}"), client.delete("/api/v1/nodes/a")):
        with pytest.raises(Fenced):
            await write
    assert rig.methods == ["GET a", "PATCH a", "POST nodes", "GET a"]


# Extenders.

EXTENDER = Extender("http://one", binds=True)


async def test_where_nobody_can_ask_the_answer_is_broken() -> None:
    rig = Rig()
    assert isinstance(await rig.world.ask(FilterQuestion(rig.web, EXTENDER, ("a",))), Broken)
    assert isinstance(await rig.world.bind_through(EXTENDER, rig.web, "a"), Refused)


async def test_extenders_are_asked() -> None:
    rig = Rig(FakeExtenders())
    assert await rig.world.ask(FilterQuestion(rig.web, EXTENDER, ("a",))) == FilterAnswer(frozenset("a"))
    assert await rig.world.bind_through(EXTENDER, rig.web, "a") == Bound()
    assert rig.server.sent == []


@pytest.mark.parametrize(
    ("looked", "expected"),
    [
        ([pod_on("a")], Bound()),
        ([pod_on("b")], BoundElsewhere("extender http://one: timeout", node_name="b")),
        ([pod_on("")], Refused("extender http://one: timeout")),
        ([errors.NotFound("gone", code=404)], Refused("extender http://one: timeout")),
        ([errors.Unreachable("no way"), errors.AnswerLost("cut"), pod_on("a")], Bound()),
    ],
)
async def test_an_extender_that_failed_may_have_bound_the_pod(looked: Any, expected: Any) -> None:
    extenders = FakeExtenders()
    extenders.problem = ExtenderError("http://one", "timeout")
    rig = Rig(extenders)
    rig.server.answers = {"GET web": list(looked)}
    assert await rig.world.bind_through(EXTENDER, rig.web, "a") == expected


async def test_no_extender_is_asked_to_bind_without_the_lease() -> None:
    extenders = FakeExtenders()
    rig = Rig(extenders)
    rig.may_act = False
    assert isinstance(await rig.world.bind_through(EXTENDER, rig.web, "a"), Refused)
    assert extenders.bound == []
