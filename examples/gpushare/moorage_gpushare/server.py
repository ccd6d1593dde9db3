"""The webhook: filter, bind, inspect and version under the paths of the gpushare scheduler extender."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from moorage.errors import MoorageError
from moorage.extender import wire
from moorage.kube.access import ClusterAccess
from moorage.kube.informer import Informer, run_informers
from moorage.kube.transport import Client
from moorage.objects import KubeObject, Node, Pod, decode
from moorage_gpushare.binding import Binder
from moorage_gpushare.cards import UNHEALTHY_NAMESPACE
from moorage_gpushare.ledger import ConfigMap, Ledger, Place

logger = logging.getLogger(__name__)

PREFIX: Final = "/gpushare-scheduler"
VERSION: Final = "0.1.0"

_PATIENCE: Final = 4.0
"""Seconds a request waits for the cluster to be read: less than kube-scheduler's 5."""
_BODY_LIMIT: Final = 256 << 20


class NotReady(MoorageError):
    """The cluster has not been read yet."""


class _Handler:
    """Brings what an informer tells to the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def added(self, new: KubeObject) -> None:
        match new:
            case Node():
                self._ledger.set_node(new)
            case Pod():
                self._ledger.set_pod(new)
            case ConfigMap():
                self._ledger.set_unhealthy(new)

    def updated(self, _old: KubeObject, new: KubeObject) -> None:
        self.added(new)

    def deleted(self, old: KubeObject) -> None:
        match old:
            case Node():
                self._ledger.remove_node(old.metadata.name)
            case Pod():
                self._ledger.remove_pod(old.metadata.uid)
            case ConfigMap():
                self._ledger.remove_unhealthy(old)

    def synced(self) -> None: ...


class GpuShareServer:
    """Answers schedulers. Inside `running` it follows the cluster."""

    def __init__(self, access: ClusterAccess) -> None:
        self.ledger = Ledger()
        self._client = Client(access, connections=32)
        self._synced = asyncio.Event()
        self._binder: Binder | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow the cluster until the block ends."""
        async with self._client:
            self._binder = Binder(self._client, self.ledger)
            handler = _Handler(self.ledger)
            informers: list[Informer[Any]] = [
                Informer(self._client, Node),
                Informer(self._client, Pod, field_selector="status.phase!=Succeeded,status.phase!=Failed"),
                Informer(self._client, ConfigMap, namespace=UNHEALTHY_NAMESPACE),
            ]
            for informer in informers:
                informer.add_handler(handler)
            following = asyncio.create_task(run_informers(informers, on_synced=self._synced.set))
            try:
                yield
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
                await self._binder.close()

    def application(self) -> web.Application:
        """The HTTP side; it runs the server while it is served."""

        async def run(_app: web.Application) -> AsyncIterator[None]:
            async with self.running():
                yield

        application = web.Application(client_max_size=_BODY_LIMIT)
        application.cleanup_ctx.append(run)
        application.add_routes(
            [
                web.post(f"{PREFIX}/filter", self._filter),
                web.post(f"{PREFIX}/bind", self._bind),
                web.get(f"{PREFIX}/inspect", self._inspect),
                web.get(f"{PREFIX}/inspect/{{node}}", self._inspect),
                web.get("/version", _version),
                web.get("/healthz", _healthy),
                web.get("/readyz", self._ready),
            ]
        )
        return application

    async def _filter(self, request: web.Request) -> web.Response:
        try:
            args = wire.read_args(await request.read())
            pod = decode(bytes(args.pod), Pod)
            await self._read_cluster()
            return _json(self.filter(pod, args))
        except MoorageError as problem:
            return _json(wire.FilterResult(None, [], {}, {}, str(problem)))

    def filter(self, pod: Pod, args: wire.Args) -> wire.FilterResult:
        """Which nodes have room on one card. Names win over whole nodes; of those, too, the name is what counts."""
        items = args.nodes.items or () if args.nodes is not None else ()
        sent = wire.names_of(items)
        names = list(dict.fromkeys(sent if args.node_names is None else args.node_names))
        failed = {name: refusal for name in names if (refusal := self.ledger.refusal(pod, name))}
        nodes = None
        if args.nodes is not None:
            passing = set(names) - set(failed)
            nodes = wire.NodeList(items=[raw for name, raw in zip(sent, items, strict=True) if name in passing])
        return wire.FilterResult(nodes, [name for name in names if name not in failed], failed, {})

    async def _bind(self, request: web.Request) -> web.Response:
        try:
            args = wire.read_binding_args(await request.read())
            await self._read_cluster()
            assert self._binder is not None, "it is there from the start of `running`"
            await self._binder.bind(args.pod_namespace, args.pod_name, args.pod_uid, args.node)
        except MoorageError as problem:
            return _json(wire.BindingResult(str(problem)))
        return _json(wire.BindingResult())

    async def _inspect(self, request: web.Request) -> web.Response:
        """200 with an `error`, as clients of the original expect, where there is no such node."""
        name = request.match_info.get("node", "")
        try:
            await self._read_cluster()
        except NotReady as problem:
            return _json({"nodes": [], "error": str(problem)})
        if not name:
            return _json({"nodes": [_as_data(each, place) for each, place in self.ledger.nodes()]})
        place = self.ledger.node(name)
        if place is None:
            return _json({"nodes": [], "error": f'node "{name}" not found'})
        return _json({"nodes": [_as_data(name, place)]})

    async def _ready(self, _request: web.Request) -> web.Response:
        ready = self._synced.is_set()
        return web.Response(status=200 if ready else 503, text="ok" if ready else "the cluster has not been read yet\n")

    async def _read_cluster(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._synced.wait()
        except TimeoutError:
            raise NotReady("the cluster has not been read yet: try again") from None


async def _version(_request: web.Request) -> web.Response:
    return web.Response(text=VERSION)


async def _healthy(_request: web.Request) -> web.Response:
    return web.Response(text="ok")


def _as_data(name: str, place: Place) -> dict[str, Any]:
    assert place.cards is not None, "only nodes that are there are shown"
    devs = [_card_data(index, place) for index in range(place.cards.count)]
    used = sum(dev["usedGPU"] for dev in devs)
    return {"name": name, "totalGPU": place.cards.total, "usedGPU": used, "devs": devs}


def _card_data(index: int, place: Place) -> dict[str, Any]:
    assert place.cards is not None
    holders = [holder for holder in place.holders.values() if holder.holding.card == index]
    pods = [
        {"name": holder.name, "namespace": holder.namespace, "usedGPU": holder.holding.amount}
        for holder in sorted(holders, key=lambda holder: (holder.namespace, holder.name))
    ]
    used = sum(holder.holding.amount for holder in holders)
    return {"id": index, "totalGPU": place.cards.size, "usedGPU": used, "pods": pods}


def _json(content: wire.Message | Mapping[str, Any] | Iterable[Any]) -> web.Response:
    return web.Response(body=msgspec.json.encode(content), content_type="application/json")
