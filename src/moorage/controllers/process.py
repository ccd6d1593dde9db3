"""The life of a process that runs controllers: wait for the lease, work, stop."""

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial

from moorage import __version__
from moorage.config.types import DEFAULT_SCHEDULER_NAME
from moorage.controllers.running import OF_OUR_OWN, chosen_controllers, run_controllers
from moorage.kube import process
from moorage.kube.access import ClusterAccess
from moorage.kube.election import ElectionSettings, LeaderElector
from moorage.kube.transport import Client

logger = logging.getLogger(__name__)

USER_AGENT = f"moorage-controllers/{__version__}"


@dataclass(frozen=True)
class ControllerOptions:
    """Which controllers run, where, and by which lease. Raises InputError for names that are none."""

    access: ClusterAccess
    names: tuple[str, ...] = ()
    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    election: ElectionSettings | None = field(default_factory=lambda: ElectionSettings("moorage-controllers"))

    def __post_init__(self) -> None:
        chosen_controllers(self.names)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The controllers to run: those named, or those that no other controller manager has."""
        return self.names or tuple(each.name for each in OF_OUR_OWN)


def run(options: ControllerOptions) -> int:
    """Run until told to stop (0) or until leadership is lost (1). Returns the exit status."""
    return process.run(partial(run_until, options))


async def run_until(options: ControllerOptions, stopping: asyncio.Event) -> None:
    """Run the controllers until `stopping` is set. Raises LeadershipLost when somebody else may be leading."""
    # Renewing the lease must not queue behind the work it protects: it has a client of its own.
    async with (
        Client(options.access, user_agent=USER_AGENT) as client,
        Client(options.access, user_agent=f"{USER_AGENT} leader-election", connections=2) as lease_client,
    ):

        async def work() -> None:
            logger.info("running %s", ", ".join(options.chosen))
            await run_controllers(client, only=options.chosen, scheduler_name=options.scheduler_name)

        settings = options.election
        leading = work() if settings is None else LeaderElector(lease_client, settings).run(work)
        running = asyncio.create_task(leading)
        told = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait([running, told], return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()
            running.cancel()
            await asyncio.wait([running])
        if not running.cancelled():
            running.result()
