"""The demo, chapter by chapter."""

from typing import Any

import msgspec
from rich.console import Console

from moorage.cli.demo import asking, manifests, showing
from moorage.cli.demo.returning import Returning
from moorage.config import Config
from moorage.framework.registry import Registry
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client
from moorage.objects import Pod

_FIT = ("NodeResourcesFit", "NodeResourcesBalancedAllocation", "PodTopologySpread")


class Story:
    """Six chapters on one cluster. Each shows the engine's decision and what the scheduler then did."""

    def __init__(self, client: Client, console: Console, config: Config, registry: Registry) -> None:
        self._client = client
        self._console = console
        self._config = config
        self._registry = registry
        self._zones: dict[str, str] = {}

    async def tell(self) -> None:
        """All of it, in order."""
        await self._spreading()
        await self._no_place()
        await self._second_profile()
        await self._plugin()
        await self._returning()
        await self._preemption()

    async def _spreading(self) -> None:
        showing.chapter(
            self._console,
            1,
            "A Deployment spread over zones",
            "Seven replicas, at most one more in any zone than in another.",
        )
        await asking.create(self._client, manifests.a_deployment("web", 7, cpu="500m", spread=True))
        placed = await asking.wait_for("seven running pods", lambda: self._running("web", 7))
        await self._learn_zones()
        showing.placements(self._console, placed, self._zones)

    async def _no_place(self) -> None:
        showing.chapter(
            self._console,
            2,
            "A pod that fits nowhere, and why",
            "It asks for 6 CPUs. Only the GPU node has as many, and it is kept for others.",
        )
        pod = manifests.a_pod("big", cpu="6")
        await self._show_decision(pod, _FIT[:1])
        await asking.create(self._client, pod)
        message = await asking.wait_for("the pod's condition", lambda: self._refusal("big"))
        self._console.print(f"[dim]the pod's condition says:[/] {message}")
        await self._client.delete(resource_of("Pod").path("default", "big"))

    async def _second_profile(self) -> None:
        showing.chapter(
            self._console,
            3,
            "Two schedulers in one process, chosen by schedulerName",
            "The default spreads load over nodes; the profile `packer` fills them up (MostAllocated).",
        )
        for scheduler, name in (("", "roomy"), (manifests.PACKER, "packed")):
            pod = manifests.a_pod(name, cpu="250m", scheduler=scheduler)
            await self._show_decision(pod, _FIT[:1])
            await self._place(pod)

    async def _plugin(self) -> None:
        showing.chapter(
            self._console,
            4,
            "Ten lines of Python change a decision",
            "PreferGreenNodes (moorage/cli/demo/plugin.py) scores nodes by their power. The profile `green` has it.",
        )
        pod = manifests.a_pod("night-batch", cpu="1", scheduler=manifests.GREEN)
        await self._show_decision(pod, ("NodeResourcesFit", "PreferGreenNodes"))
        await self._place(pod)

    async def _returning(self) -> None:
        showing.chapter(
            self._console,
            5,
            "A pod that comes back to where it was",
            "A StickyJob remembers the node its pod ran on. This one would rather wait than run elsewhere.",
        )
        await Returning(self._client, self._console).tell()

    async def _preemption(self) -> None:
        showing.chapter(
            self._console,
            6,
            "Preemption",
            "The nodes are filled with pods of no importance. Then comes one that is important.",
        )
        await asking.create(self._client, manifests.a_priority_class("important", 1000))
        await asking.create(self._client, manifests.a_deployment("filler", 24, cpu="1"))
        await asking.wait_for("the nodes to fill up", lambda: self._is_full("filler", 24))
        pod = manifests.a_pod("vip", cpu="2", priority_class="important")
        await self._show_decision(pod, ())
        await self._place(pod)

    # ---------------------------------------------------------------------------------------------- what chapters do

    async def _show_decision(self, pod: dict[str, Any], plugins: tuple[str, ...]) -> None:
        made = await asking.try_out(self._client, pod)
        decided = await asking.decide(self._client, made, self._config, self._registry)
        showing.decision(self._console, decided, plugins=plugins)

    async def _place(self, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        await asking.create(self._client, pod)
        placed = await asking.wait_for(f"{name} to run", lambda: self._one_running(name))
        self._console.print(f"the scheduler bound [bold]{name}[/] to [bold green]{placed.spec.node_name}[/]")

    async def _running(self, app: str, count: int) -> list[Pod] | None:
        found = [pod for pod in await asking.pods(self._client, app) if pod.status.phase == "Running"]
        return found if len(found) == count else None

    async def _one_running(self, name: str) -> Pod | None:
        pod = await asking.pod(self._client, name)
        return pod if pod is not None and pod.status.phase == "Running" else None

    async def _refusal(self, name: str) -> str | None:
        return asking.refusal(await asking.pod(self._client, name)) or None

    async def _is_full(self, app: str, count: int) -> bool:
        found = await asking.pods(self._client, app)
        settled = [pod for pod in found if pod.status.phase == "Running" or pod.status.conditions]
        return len(settled) == count and any(not pod.spec.node_name for pod in found)

    async def _learn_zones(self) -> None:
        listed = msgspec.json.decode(await self._client.get(resource_of("Node").path()))
        for node in listed["items"]:
            meta = node["metadata"]
            self._zones[meta["name"]] = meta.get("labels", {}).get(manifests.ZONE, "")
