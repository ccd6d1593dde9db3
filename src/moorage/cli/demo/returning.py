"""The chapter of the pod that comes back to where it was."""

from typing import Any

import msgspec
from rich.console import Console

from moorage.cli.demo import asking, manifests
from moorage.kube.paths import resource_of
from moorage.kube.transport import MERGE_PATCH, Client
from moorage.objects import Pod, StickyJob

_PODS, _NODES, _JOBS = resource_of("Pod"), resource_of("Node"), resource_of(StickyJob)

NAME = "ledger"


class Returning:
    """A StickyJob whose pod is deleted, and deleted again while its node is cordoned."""

    def __init__(self, client: Client, console: Console) -> None:
        self._client = client
        self._console = console

    async def tell(self) -> None:
        """Create it, delete its pod, cordon its node, open it again."""
        await self._client.post(_JOBS.path("default"), msgspec.json.encode(_a_sticky_job()))
        pod = await self._running(but="")
        home = pod.spec.node_name
        self._console.print(f"{NAME} runs on [bold]{home}[/], and its status says so")
        await self._client.delete(_PODS.path("default", NAME))
        pod = await self._running(but=pod.metadata.uid)
        self._console.print(f"its pod was deleted: the next one runs on [bold green]{pod.spec.node_name}[/]")
        await self._cordon(home, is_closed=True)
        await self._client.delete(_PODS.path("default", NAME))
        message = await asking.wait_for("the pod to wait for its node", self._waiting)
        self._console.print(f"{home} was cordoned and the pod deleted: [yellow]{message}[/]")
        await self._cordon(home, is_closed=False)
        again = await self._running(but=pod.metadata.uid)
        self._console.print(f"{home} is open again: the pod runs on [bold green]{again.spec.node_name}[/]")
        await self._client.delete(_JOBS.path("default", NAME))

    async def _running(self, *, but: str) -> Pod:
        async def look() -> Pod | None:
            pod = await asking.pod(self._client, NAME)
            is_next = pod is not None and pod.metadata.uid != but and not pod.is_terminating
            if pod is None or not is_next or pod.status.phase != "Running":
                return None
            job = msgspec.json.decode(await self._client.get(_JOBS.path("default", NAME)), type=StickyJob)
            return pod if job.status.last_node == pod.spec.node_name else None

        return await asking.wait_for(f"{NAME} to run", look)

    async def _waiting(self) -> str | None:
        message = asking.refusal(await asking.pod(self._client, NAME))
        return message.partition(". ")[0] or None

    async def _cordon(self, node: str, *, is_closed: bool) -> None:
        patch = msgspec.json.encode({"spec": {"unschedulable": is_closed}})
        await self._client.patch(_NODES.path(name=node), patch, content_type=MERGE_PATCH)


def _a_sticky_job() -> dict[str, Any]:
    """One that will rather wait for its node than run elsewhere."""
    body = {"apiVersion": StickyJob.API_VERSION, "kind": StickyJob.KIND, "metadata": {"name": NAME}}
    return {**body, "spec": {"stickiness": "Required", "template": {"spec": manifests.pod_spec("250m", "256Mi")}}}
