"""Extenders asked by who has no event loop: a question at a time, about objects that are given, not followed."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from moorage.columns import PodInfo
from moorage.config import Extender
from moorage.engine.asking import Answer, Question
from moorage.errors import ApiError
from moorage.extender.asking import Extenders, make_clients
from moorage.extender.keeping import sent_form
from moorage.extender.wire import RawObject


class WaitingExtenders:
    """Configured extenders, and `objects` (manifests) as questions send them. `source` is where those stand."""

    def __init__(self, extenders: Sequence[Extender], objects: Sequence[Any], *, source: str = "") -> None:
        self._configs = extenders
        self._objects = _GivenObjects(objects)
        self._source = source

    def ask(self, question: Question) -> Answer:
        """Put the question, and wait."""

        async def ask() -> Answer:
            async with Extenders(make_clients(self._configs, source=self._source), self._objects) as extenders:
                return await extenders.ask(question)

        return asyncio.run(ask())


class _GivenObjects:
    """Pods and nodes by name: `asking.WholeObjects`."""

    def __init__(self, objects: Sequence[Any]) -> None:
        self._kept = {}
        for tree in objects:
            meta = tree["metadata"]
            raw = msgspec.Raw(msgspec.json.encode(tree))
            managed_fields = tree["kind"] != "Pod"
            key = tree["kind"], meta.get("namespace", ""), meta["name"]
            self._kept[key] = sent_form(raw, managed_fields=managed_fields)

    async def pod(self, pod: PodInfo) -> RawObject:
        kept = self._kept.get(("Pod", pod.namespace, pod.name))
        if kept is None:
            raise ApiError(f"pod {pod.key} is not among the objects")
        return kept

    def node(self, name: str) -> RawObject | None:
        return self._kept.get(("Node", "", name))
