import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

from moorage.kube.errors import (
    AlreadyExists,
    AnswerLost,
    Conflict,
    DeadlineExceeded,
    Forbidden,
    NotFound,
    ServerError,
    StatusError,
    TooManyRequests,
    Unreachable,
)
from moorage.kube.lanes import Fenced, Lanes, RetryPolicy
from moorage.kube.paths import resource_of

if TYPE_CHECKING:
    from tests.unit.kube.conftest import ScriptedClient

pytestmark = pytest.mark.looptime

Script = Callable[..., Callable[[str, str, Any], Awaitable[Any]]]
Scripted = type["ScriptedClient"]
PODS = resource_of("Pod")
BINDING = "/api/v1/namespaces/default/pods/web/binding"
POD = "/api/v1/namespaces/default/pods/web"


def refusal(kind: type[StatusError], code: int, retry_after: float | None = None) -> StatusError:
    return kind("no", code=code, retry_after=retry_after)


def pod(node_name: str | None, uid: str = "u1") -> dict[str, Any]:
    return {"metadata": {"name": "web", "uid": uid}, "spec": {"nodeName": node_name} if node_name else {}}


async def bind(lanes: Lanes, **settings: Any) -> None:
    await lanes.bind(namespace="default", name="web", uid="u1", node_name="n1", **settings)


def verbs(client: "ScriptedClient") -> list[str]:
    return [method for method, _, _ in client.sent]


async def test_a_bind_names_pod_uid_and_node(scripted: Scripted, script: Script) -> None:
    client = scripted(script({}))
    await bind(Lanes(client))
    assert client.sent == [
        (
            "POST",
            BINDING,
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "web", "namespace": "default", "uid": "u1"},
                "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
            },
        )
    ]


@pytest.mark.parametrize("lost", [AnswerLost("cut"), DeadlineExceeded("slow"), refusal(ServerError, 504)])
async def test_a_bind_without_an_answer_that_worked_is_not_repeated(
    scripted: Scripted, script: Script, lost: Exception
) -> None:
    client = scripted(script(lost, pod("n1")))
    await bind(Lanes(client))
    assert [(method, path) for method, path, _ in client.sent] == [("POST", BINDING), ("GET", POD)]


async def test_a_bind_without_an_answer_that_did_not_work_is_repeated(scripted: Scripted, script: Script) -> None:
    client = scripted(script(AnswerLost("cut"), pod(None), {}))
    await bind(Lanes(client))
    assert verbs(client) == ["POST", "GET", "POST"]


async def test_a_bind_that_arrives_after_we_looked_counts(scripted: Scripted, script: Script) -> None:
    client = scripted(script(AnswerLost("cut"), pod(None), refusal(Conflict, 409), pod("n1")))
    await bind(Lanes(client))
    assert verbs(client) == ["POST", "GET", "POST", "GET"]


async def test_a_pod_that_somebody_else_bound_meanwhile_is_a_conflict(scripted: Scripted, script: Script) -> None:
    client = scripted(script(AnswerLost("cut"), pod("n2")))
    with pytest.raises(Conflict, match="already assigned to node 'n2'"):
        await bind(Lanes(client))


async def test_a_pod_made_again_under_its_name_is_not_found(scripted: Scripted, script: Script) -> None:
    client = scripted(script(AnswerLost("cut"), pod("n1", uid="u2")))
    with pytest.raises(NotFound):
        await bind(Lanes(client))


async def test_a_conflict_on_the_first_try_is_final(scripted: Scripted, script: Script) -> None:
    client = scripted(script(refusal(Conflict, 409)))
    with pytest.raises(Conflict):
        await bind(Lanes(client))
    assert verbs(client) == ["POST"]


async def test_a_refusal_is_final(scripted: Scripted, script: Script) -> None:
    client = scripted(script(refusal(Forbidden, 403)))
    with pytest.raises(Forbidden):
        await bind(Lanes(client))
    assert verbs(client) == ["POST"]


async def test_what_was_never_sent_needs_no_look(scripted: Scripted, script: Script) -> None:
    client = scripted(script(Unreachable("down"), {}))
    await bind(Lanes(client))
    assert verbs(client) == ["POST", "POST"]


async def test_the_server_says_how_long_to_wait(scripted: Scripted, script: Script) -> None:
    client = scripted(script(refusal(TooManyRequests, 429, retry_after=30.0), {}))
    loop = asyncio.get_running_loop()
    start = loop.time()
    await bind(Lanes(client))
    assert loop.time() - start == pytest.approx(30.0, abs=0.01)


async def test_even_the_last_lost_answer_is_looked_up(scripted: Scripted, script: Script) -> None:
    client = scripted(script(AnswerLost("cut"), pod("n1")))
    await bind(Lanes(client), retry=RetryPolicy(attempts=1))
    client = scripted(script(AnswerLost("cut"), Unreachable("down")))
    with pytest.raises(AnswerLost, match="cut"):
        await bind(Lanes(client), retry=RetryPolicy(attempts=1))
    client = scripted(script(AnswerLost("cut"), pod(None)))
    with pytest.raises(AnswerLost, match="cut"):
        await bind(Lanes(client), retry=RetryPolicy(attempts=1))


async def test_attempts_are_counted(scripted: Scripted, script: Script) -> None:
    client = scripted(script(*[Unreachable("down")] * 10))
    with pytest.raises(Unreachable):
        await bind(Lanes(client, retry=RetryPolicy(attempts=3)))
    assert verbs(client) == ["POST"] * 3


async def test_nothing_is_sent_by_one_who_may_not_act(scripted: Scripted, script: Script) -> None:
    allowed = True
    client = scripted(script(Unreachable("down")))
    lanes = Lanes(client, may_act=lambda: allowed)
    binding = asyncio.create_task(bind(lanes))
    await asyncio.sleep(0.01)
    allowed = False
    with pytest.raises(Fenced):
        await binding
    assert verbs(client) == ["POST"]


async def test_a_delete_has_preconditions_and_is_done_when_the_object_is_gone(
    scripted: Scripted, script: Script
) -> None:
    client = scripted(script(AnswerLost("cut"), refusal(NotFound, 404)))
    await Lanes(client).delete(PODS, namespace="default", name="web", uid="u1", grace_period_seconds=0)
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u1"},
        "gracePeriodSeconds": 0,
    }
    assert client.sent == [("DELETE", POD, options)] * 2
    client = scripted(script(refusal(NotFound, 404)))
    with pytest.raises(NotFound):
        await Lanes(client).delete(PODS, namespace="default", name="web")


async def test_a_status_patch_is_repeated(scripted: Scripted, script: Script) -> None:
    client = scripted(script(AnswerLost("cut"), {"done": True}))
    answer = await Lanes(client).patch(PODS, b'{"status": {}}', namespace="default", name="web")
    assert answer == b'{"done":true}'
    assert client.sent == [("PATCH", POD + "/status", {"status": {}})] * 2


async def test_an_event_that_exists_after_a_lost_answer_was_written(scripted: Scripted, script: Script) -> None:
    client = scripted(script(AnswerLost("cut"), refusal(AlreadyExists, 409)))
    await Lanes(client).create_event("default", b"{}")
    client = scripted(script(refusal(AlreadyExists, 409)))
    with pytest.raises(AlreadyExists):
        await Lanes(client).create_event("default", b"{}")


async def test_waiting_status_patches_do_not_hold_up_binds(scripted: Scripted) -> None:
    order: list[str] = []

    async def slow(method: str, _path: str, _body: Any) -> Any:
        order.append(method)
        await asyncio.sleep(1)
        return {}

    client = scripted(slow)
    lanes = Lanes(client, qps=1, burst=1)
    patches = [
        asyncio.create_task(lanes.patch(PODS, b"{}", namespace="default", name=f"p{number}")) for number in range(5)
    ]
    await asyncio.sleep(1.5)
    binding = asyncio.create_task(bind(lanes))
    await asyncio.gather(binding, *patches)
    assert order == ["PATCH", "PATCH", "POST", "PATCH", "PATCH", "PATCH"]
