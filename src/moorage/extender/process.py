"""The life of an extender's process: serve until told to stop; with a lease, answer only while it is held."""

import asyncio
import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from moorage.config import Config
from moorage.extender.configuring import degradations
from moorage.extender.guarding import Guard, Limits, server_context
from moorage.extender.mounting import aiohttp_app, serving
from moorage.extender.service import ExtenderService
from moorage.framework.registry import Registry
from moorage.kube import process
from moorage.kube.access import ClusterAccess
from moorage.kube.election import ElectionSettings, LeaderElector
from moorage.kube.process import together
from moorage.kube.transport import Client

logger = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8888


@dataclass(frozen=True)
class Settings:
    """Everything the process needs to know. `access` is None for an extender that is sent whole nodes."""

    config: Config
    registry: Registry
    access: ClusterAccess | None
    address: str = LOOPBACK
    port: int = DEFAULT_PORT
    tls_cert: Path | None = None
    tls_key: Path | None = None
    client_ca: Path | None = None
    token_file: Path | None = None
    election: ElectionSettings | None = None
    limits: Limits = field(default_factory=Limits)


def run(settings: Settings) -> int:
    """Run until told to stop (0) or until leadership is lost (1). Returns the exit status."""
    return process.run(partial(run_until, settings))


async def run_until(
    settings: Settings, stopping: asyncio.Event, *, started: "asyncio.Future[int] | None" = None
) -> None:
    """Serve until `stopping` is set; `started` is given the port. Raises LeadershipLost, or InputError at first."""
    tls = None
    if settings.tls_cert is not None and settings.tls_key is not None:
        tls = server_context(settings.tls_cert, settings.tls_key, settings.client_ca)
    guard = Guard(certificates=settings.client_ca is not None, token_file=settings.token_file)
    async with AsyncExitStack() as stack:
        elector = None
        if settings.election is not None and settings.access is not None:
            lease_client = await stack.enter_async_context(Client(settings.access, connections=2))
            elector = LeaderElector(lease_client, settings.election, on_new_leader=_log_leader)
        service = ExtenderService(
            settings.config,
            settings.registry,
            settings.access,
            may_act=elector.is_leader if elector else lambda: True,
        )
        _tell(settings, service)
        application = aiohttp_app(service, guard=guard, limits=settings.limits)
        port = await stack.enter_async_context(
            serving(application, settings.address, settings.port, tls=tls, limits=settings.limits)
        )
        logger.info(
            "serving %s on %s://%s:%d", ", ".join(service.verbs), "https" if tls else "http", settings.address, port
        )
        if started is not None:
            started.set_result(port)
        await together(stopping.wait(), elector.run(_forever) if elector else None)


def _tell(settings: Settings, service: ExtenderService) -> None:
    """What a user should know before the first pod comes."""
    for sentence in degradations(settings.config, binds="bind" in service.verbs, follows=settings.access is not None):
        logger.info("%s", sentence)
    if settings.election is None and settings.access is not None:
        logger.info("bookings are this process's own: run one replica, or several with --leader-elect")
    open_to_all = settings.client_ca is None and settings.token_file is None
    if open_to_all and settings.address not in (LOOPBACK, "localhost", "::1"):
        logger.warning(
            "everybody who reaches %s may ask: --client-ca or --token-file lets in callers", settings.address
        )


async def _forever() -> None:
    await asyncio.Event().wait()


def _log_leader(identity: str) -> None:
    logger.info("the leader is %s", identity)
