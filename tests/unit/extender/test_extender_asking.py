"""Questions of decisions, put to webhooks."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from tests.unit.extender.conftest import Webhook, serving

from moorage.columns import PodInfo, Snapshot
from moorage.config import Extender as ExtenderConfig
from moorage.engine.asking import (
    Broken,
    ChosenVictims,
    Extender,
    FilterAnswer,
    FilterQuestion,
    PreemptAnswer,
    PreemptQuestion,
    PrioritizeAnswer,
    PrioritizeQuestion,
)
from moorage.errors import ApiError, ExtenderError
from moorage.extender.asking import Extenders
from moorage.extender.client import ExtenderClient
from moorage.framework.points import Victims
from moorage.testing import a_pod


def info(name: str) -> PodInfo:
    return Snapshot().info(a_pod(name).build())


class Objects:
    """Whole objects by name; `gone` is not there."""

    async def pod(self, pod: PodInfo) -> msgspec.Raw:
        if pod.name == "gone":
            raise ApiError("pods gone not found", code=404)
        return msgspec.Raw(b'{"metadata":{"name":"%s"}}' % pod.name.encode())

    def node(self, name: str) -> msgspec.Raw | None:
        return None if name == "gone" else msgspec.Raw(b'{"metadata":{"name":"%s"},"x":1}' % name.encode())


def config_of(webhook: Webhook, *, names: bool = False) -> ExtenderConfig:
    return ExtenderConfig(
        webhook.url,
        filter_verb="filter",
        prioritize_verb="prioritize",
        preempt_verb="preempt",
        bind_verb="bind",
        weight=2,
        node_cache_capable=names,
    )


@asynccontextmanager
async def extenders_of(*configs: ExtenderConfig) -> AsyncIterator[tuple[Extenders, list[Extender]]]:
    async with Extenders([ExtenderClient(config) for config in configs], Objects()) as extenders:
        yield extenders, [Extender.of(config, place) for place, config in enumerate(configs)]


async def test_a_filter_question_by_name(webhook: Webhook) -> None:
    webhook.answer({"NodeNames": ["a"]})
    async with extenders_of(config_of(webhook, names=True)) as (extenders, (one,)):
        answer = await extenders.ask(FilterQuestion(info("p"), one, ("a", "gone")))
    assert answer == FilterAnswer(frozenset("a"))
    assert json.loads(webhook.bodies[0])["NodeNames"] == ["a", "gone"]


async def test_a_filter_question_by_whole_nodes_leaves_out_who_is_gone(webhook: Webhook) -> None:
    webhook.answer({"Nodes": {"items": [{"metadata": {"name": "a"}}]}})
    async with extenders_of(config_of(webhook)) as (extenders, (one,)):
        answer = await extenders.ask(FilterQuestion(info("p"), one, ("a", "gone")))
    assert answer == FilterAnswer(frozenset("a"))
    assert json.loads(webhook.bodies[0]) == {
        "Pod": {"metadata": {"name": "p"}},
        "Nodes": {"metadata": {}, "items": [{"metadata": {"name": "a"}, "x": 1}]},
        "NodeNames": None,
    }


async def test_what_goes_wrong_is_an_answer_too(webhook: Webhook) -> None:
    webhook.answer("junk")
    async with extenders_of(config_of(webhook)) as (extenders, (one,)):
        broken = await extenders.ask(FilterQuestion(info("p"), one, ("a",)))
        assert isinstance(broken, Broken)
        assert broken.message.startswith(f"extender {webhook.url}: filter: the answer is junk")
        assert await extenders.ask(FilterQuestion(info("gone"), one, ("a",))) == Broken("pods gone not found")


async def test_scores_of_several_each_in_its_own_form(webhook: Webhook) -> None:
    async with serving() as other, serving() as third:
        webhook.answer([{"Host": "a", "Score": 3}])
        other.answer([{"Host": "b", "Score": 4}])
        third.answer(b"oops", 500)
        configs = (config_of(webhook), config_of(other, names=True), config_of(third))
        async with extenders_of(*configs) as (extenders, known):
            answer = await extenders.ask(PrioritizeQuestion(info("p"), tuple(known), ("a", "b")))
        assert answer == PrioritizeAnswer({0: {"a": 3}, 1: {"b": 4}})
        assert json.loads(webhook.bodies[0])["NodeNames"] is None
        assert json.loads(other.bodies[0])["Nodes"] is None


async def test_victims_by_identifier_or_whole(webhook: Webhook) -> None:
    webhook.answer({"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "v"}]}}})
    victims = {"a": Victims((info("v"), info("w")), 1)}
    async with extenders_of(config_of(webhook, names=True), config_of(webhook)) as (extenders, (by_name, whole)):
        for extender in (by_name, whole):
            answer = await extenders.ask(PreemptQuestion(info("p"), extender, victims))
            assert answer == PreemptAnswer({"a": ChosenVictims(("v",))})
    first, second = map(json.loads, webhook.bodies)
    uids = [{"UID": victim.uid} for victim in victims["a"].pods]
    assert first["NodeNameToMetaVictims"] == {"a": {"Pods": uids, "NumPDBViolations": 1}}
    assert first["NodeNameToVictims"] is None
    assert second["NodeNameToMetaVictims"] is None
    pods = [{"metadata": {"name": "v"}}, {"metadata": {"name": "w"}}]
    assert second["NodeNameToVictims"] == {"a": {"Pods": pods, "NumPDBViolations": 1}}


async def test_binding_through_an_extender(webhook: Webhook) -> None:
    webhook.answer({"Error": ""})
    pod = info("p")
    async with extenders_of(config_of(webhook)) as (extenders, (one,)):
        await extenders.bind(one, pod, "a")
        webhook.answer({"Error": "node a is full"})
        with pytest.raises(ExtenderError, match="node a is full"):
            await extenders.bind(one, pod, "a")
    body = {"PodName": "p", "PodNamespace": "default", "PodUID": pod.uid, "Node": "a"}
    assert [json.loads(sent) for sent in webhook.bodies] == [body, body]
