from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

from moorage.kube.errors import BadAnswer, Forbidden
from moorage.kube.reviews import ANSWER_LIFETIME, Reviewer, UserInfo

if TYPE_CHECKING:
    from tests.unit.kube.conftest import ScriptedClient

Script = Callable[..., Callable[[str, str, Any], Awaitable[Any]]]
Scripted = type["ScriptedClient"]
JANE = UserInfo("jane", "u1", ("admins",), {"scopes": ("a",)})


async def test_a_token_the_cluster_knows(scripted: Scripted, script: Script) -> None:
    user = {"username": "jane", "uid": "u1", "groups": ["admins"], "extra": {"scopes": ["a"]}}
    client = scripted(script({"status": {"authenticated": True, "user": user}}))
    assert await Reviewer(client).authenticate("t0ken") == JANE
    [(method, path, review)] = client.sent
    assert (method, path) == ("POST", "/apis/authentication.k8s.io/v1/tokenreviews")
    assert review["spec"] == {"token": "t0ken"}


async def test_a_token_nobody_knows(scripted: Scripted, script: Script) -> None:
    client = scripted(script({"status": {"error": "invalid", "authenticated": False}}, {"status": {}}))
    assert await Reviewer(client).authenticate("x") is None
    assert await Reviewer(client).authenticate("x") is None


async def test_what_a_user_may_do(scripted: Scripted, script: Script) -> None:
    client = scripted(script({"status": {"allowed": True}}))
    assert await Reviewer(client).authorize(JANE, verb="get", path="/metrics")
    [(_, path, review)] = client.sent
    assert path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert review["spec"] == {
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        "user": "jane",
        "groups": ["admins"],
        "uid": "u1",
        "extra": {"scopes": ["a"]},
    }


async def test_what_a_user_may_not_do(scripted: Scripted, script: Script) -> None:
    client = scripted(script({"status": {"allowed": False}}, {"status": {"allowed": True, "denied": True}}))
    reviewer = Reviewer(client)
    assert not await reviewer.authorize(JANE, verb="get", path="/metrics")
    assert not await reviewer.authorize(JANE, verb="get", path="/configz")


async def test_answers_are_kept_for_a_while_refusals_too(scripted: Scripted, script: Script) -> None:
    now = 0.0
    client = scripted(script({"status": {}}, {"status": {"authenticated": True, "user": {"username": "jane"}}}))
    reviewer = Reviewer(client, clock=lambda: now)
    assert await reviewer.authenticate("t") is None
    assert await reviewer.authenticate("t") is None
    assert len(client.sent) == 1
    now = ANSWER_LIFETIME
    assert await reviewer.authenticate("t") == UserInfo("jane")
    assert len(client.sent) == 2


async def test_a_cluster_that_cannot_say_is_an_error_and_not_kept(scripted: Scripted, script: Script) -> None:
    client = scripted(script(Forbidden("not you", code=403), "nonsense", {"status": {"allowed": True}}))
    reviewer = Reviewer(client)
    with pytest.raises(Forbidden):
        await reviewer.authorize(JANE, verb="get", path="/metrics")
    with pytest.raises(BadAnswer):
        await reviewer.authorize(JANE, verb="get", path="/metrics")
    assert await reviewer.authorize(JANE, verb="get", path="/metrics")
