"""Scores nodes by how busy they are, as Prometheus last said: asked in the background, never while a pod waits."""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import aiohttp

from moorage.framework import (
    MAX_SCORE,
    SKIP,
    CycleState,
    Handle,
    InputError,
    NodeInfo,
    NodeTable,
    PodInfo,
    Rows,
    Status,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadAwareArgs:
    """Whom to ask, what, how often, and for how long an answer is worth anything."""

    url: str
    query: str = "1 - avg by (node) (rate(node_cpu_seconds_total{mode='idle'}[2m]))"
    every_seconds: float = 15.0
    stale_after_seconds: float = 60.0

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise InputError(f"expected an http or https URL, got {self.url!r}", where="url")
        if self.every_seconds <= 0:
            raise InputError("expected a number above 0", where="every_seconds")


class LoadAware:
    """Score: 100 for an idle node, 0 for a busy one. Without fresh figures it has nothing to say."""

    args_type: ClassVar = LoadAwareArgs
    default_weight: ClassVar = 5

    def __init__(self, args: LoadAwareArgs, handle: Handle) -> None:
        self.args = args
        self.handle = handle
        #: node -> how busy it is, from 0 to 1, and when that was said.
        self.load: Mapping[str, float] = {}
        self.said_at = float("-inf")

    async def start(self) -> None:
        """From now on, and as long as the process runs."""
        self.handle.spawn(self._watch())

    def pre_score(self, _state: CycleState, _pod: PodInfo, _nodes: NodeTable, _rows: Rows) -> Status | None:
        """Old figures are worse than none."""
        return None if self.handle.now() - self.said_at <= self.args.stale_after_seconds else SKIP

    def score(self, _state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """A node of which nothing is known counts as half busy."""
        return round(MAX_SCORE * (1 - self.load.get(node.name, 0.5)))

    def learn(self, answer: bytes) -> None:
        """Take over what Prometheus answered. Raises ValueError where that is no vector of figures by node."""
        tree: Any = json.loads(answer)
        try:
            found = {one["metric"]["node"]: float(one["value"][1]) for one in tree["data"]["result"]}
        except (KeyError, TypeError, IndexError) as problem:
            raise ValueError(f"expected a vector with the label node: {problem!r}") from None
        # NaN is what Prometheus says where it divided by nothing.
        self.load = {name: min(max(load, 0.0), 1.0) for name, load in found.items() if load == load}
        self.said_at = self.handle.now()

    async def _watch(self) -> None:
        timeout = aiohttp.ClientTimeout(total=self.args.every_seconds)
        url, asked = f"{self.args.url}/api/v1/query", {"query": self.args.query}
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                try:
                    async with session.get(url, params=asked) as answer:
                        answer.raise_for_status()
                        self.learn(await answer.read())
                except (aiohttp.ClientError, TimeoutError, ValueError) as problem:
                    logger.warning("nobody says how busy nodes are: %s", problem)
                await asyncio.sleep(self.args.every_seconds)
