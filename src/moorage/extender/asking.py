"""Questions of decisions (moorage.engine.asking) put to the extenders that are configured."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from moorage.columns import PodInfo
from moorage.config import Extender as ExtenderConfig
from moorage.engine.asking import (
    Answer,
    Broken,
    Extender,
    FilterQuestion,
    PreemptQuestion,
    PrioritizeAnswer,
    PrioritizeQuestion,
    Question,
)
from moorage.errors import ApiError, ExtenderError
from moorage.extender import wire
from moorage.extender.client import DEFAULT_BREAKER, ExtenderClient, NodesInQuestion, Observe, unobserved


class WholeObjects(Protocol):
    """Where objects can be had as the API server holds them, without kind and apiVersion."""

    async def pod(self, pod: PodInfo) -> wire.RawObject:
        """A pod, without managedFields. Raises ApiError where it cannot be had any more."""

    def node(self, name: str) -> wire.RawObject | None:
        """A node; None where it is gone."""


class Extenders:
    """The clients of all configured extenders, by their place. Use it as an async context manager."""

    def __init__(self, clients: Sequence[ExtenderClient], objects: WholeObjects) -> None:
        self._clients = clients
        self._objects = objects

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close what is kept open to them."""
        for client in self._clients:
            await client.close()

    async def ask(self, question: Question) -> Answer:
        """The answer, or Broken with what went wrong. Cancelled when nobody needs it any more."""
        try:
            match question:
                case FilterQuestion():
                    return await self._filter(question)
                case PrioritizeQuestion():
                    return await self._prioritize(question)
                case PreemptQuestion():
                    return await self._preempt(question)
        except (ExtenderError, ApiError) as error:
            return Broken(str(error))

    async def bind(self, extender: Extender, pod: PodInfo, node_name: str) -> None:
        """Have the extender bind the pod. Raises ExtenderError, which does not say that the pod is not bound."""
        client = self._clients[extender.place]
        await client.bind(namespace=pod.namespace, name=pod.name, uid=pod.uid, node_name=node_name)

    async def _filter(self, question: FilterQuestion) -> Answer:
        pod = await self._objects.pod(question.pod)
        nodes = self._nodes(question.nodes, whole=not question.extender.node_cache_capable)
        return await self._clients[question.extender.place].filter(pod, nodes)

    async def _prioritize(self, question: PrioritizeQuestion) -> PrioritizeAnswer:
        """All at once; whoever breaks gives no scores, and harms nobody else."""
        pod = await self._objects.pod(question.pod)
        by_name = self._nodes(question.nodes, whole=False)
        whole = all(extender.node_cache_capable for extender in question.extenders)
        objects = by_name if whole else self._nodes(question.nodes, whole=True)
        asked: dict[int, Awaitable[Mapping[str, int]]] = {
            extender.place: self._clients[extender.place].prioritize(
                pod, by_name if extender.node_cache_capable else objects
            )
            for extender in question.extenders
        }
        answers = await asyncio.gather(*asked.values(), return_exceptions=True)
        scores = {}
        for place, answer in zip(asked, answers, strict=True):
            if isinstance(answer, Mapping):
                scores[place] = answer
            elif not isinstance(answer, ExtenderError):
                raise answer
        return PrioritizeAnswer(scores)

    async def _preempt(self, question: PreemptQuestion) -> Answer:
        pod = await self._objects.pod(question.pod)
        if question.extender.node_cache_capable:
            args = wire.PreemptionArgs(
                pod,
                meta_victims={
                    node: wire.MetaVictims([wire.MetaPod(victim.uid) for victim in victims.pods], victims.violations)
                    for node, victims in question.victims.items()
                },
            )
        else:
            args = wire.PreemptionArgs(pod, await self._whole_victims(question))
        return await self._clients[question.extender.place].preempt(args)

    async def _whole_victims(self, question: PreemptQuestion) -> dict[str, wire.Victims]:
        """Read when they are asked for: a victim is on several candidates' lists only if it is on several nodes."""
        return {
            node: wire.Victims(
                await asyncio.gather(*(self._objects.pod(victim) for victim in victims.pods)), victims.violations
            )
            for node, victims in question.victims.items()
        }

    def _nodes(self, names: Sequence[str], *, whole: bool) -> NodesInQuestion:
        """Nodes to send. One that is gone by now is not asked about."""
        if not whole:
            return NodesInQuestion(names)
        found = [(name, raw) for name in names if (raw := self._objects.node(name)) is not None]
        return NodesInQuestion([name for name, _ in found], [raw for _, raw in found])


def make_clients(
    configs: Sequence[ExtenderConfig],
    *,
    breaker: int = DEFAULT_BREAKER,
    observe: Observe = unobserved,
    source: str = "",
) -> list[ExtenderClient]:
    """A client for each configured extender. Raises InputError, which names `source` and the field."""
    prefix = f"{source}: " if source else ""
    return [
        ExtenderClient(config, breaker=breaker, observe=observe, where=f"{prefix}extenders[{place}]")
        for place, config in enumerate(configs)
    ]
