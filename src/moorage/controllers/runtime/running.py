"""Controllers and a cluster put together, and run until cancelled."""

import asyncio
import time
from collections.abc import Callable, Sequence

from moorage.config.types import DEFAULT_SCHEDULER_NAME
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.informers import Informers
from moorage.controllers.runtime.writer import Writer
from moorage.kube.access import ClusterAccess
from moorage.kube.election import ElectionSettings, LeaderElector
from moorage.kube.lanes import Lanes
from moorage.kube.recorder import EventRecorder
from moorage.kube.transport import Client


async def run_controllers(
    client: Client,
    controllers: Sequence[type[Controller]],
    *,
    component: str = "moorage-controllers",
    clock: Callable[[], float] = time.time,
    scheduler_name: str = DEFAULT_SCHEDULER_NAME,
    on_ready: Callable[[], None] | None = None,
) -> None:
    """Run the controllers until cancelled, in the name of a component.

    `scheduler_name` is for pods whose template names none. `on_ready` is called once the cluster is known and work
    begins.
    """
    recorder = EventRecorder(Lanes(client), controller=component)
    cluster = ControllerContext(Informers(client), Writer(client), recorder, clock, scheduler_name)
    made = [make(cluster) for make in controllers]
    for controller in made:
        await controller.prepare()
    async with asyncio.TaskGroup() as group:

        def begin() -> None:
            for controller in made:
                group.create_task(controller.run(), name=controller.name)
            if on_ready is not None:
                on_ready()

        group.create_task(recorder.run(), name="controllers' events")
        group.create_task(cluster.informers.run(on_synced=begin), name="controllers' informers")


async def run_elected(
    access: ClusterAccess,
    controllers: Sequence[type[Controller]],
    election: ElectionSettings,
    *,
    component: str = "moorage-controllers",
) -> None:
    """Run the controllers while the lease is held, until cancelled. Raises LeadershipLost when it no longer is."""
    async with Client(access, user_agent=component) as client, Client(access, connections=2) as lease_client:
        elector = LeaderElector(lease_client, election)
        await elector.run(lambda: run_controllers(client, controllers, component=component))
