"""`run_controllers`: the controllers of a small cluster, on any API server, until cancelled."""

import time
from collections.abc import Callable, Collection

from moorage.config.types import DEFAULT_SCHEDULER_NAME
from moorage.controllers import runtime
from moorage.controllers.budgets import DisruptionController
from moorage.controllers.claims import ClaimMaker, ClaimReleaser, DeviceTaintEviction
from moorage.controllers.deployments import DeploymentController
from moorage.controllers.garbage import GarbageCollector
from moorage.controllers.jobs import JobController
from moorage.controllers.namespaces import NamespaceController
from moorage.controllers.nodes import NodeLifecycle, TaintEviction
from moorage.controllers.podgc import PodGarbageCollector
from moorage.controllers.podgroups import PodGroupController, PodGroupProtection
from moorage.controllers.replicasets import ReplicaSetController
from moorage.controllers.runtime import Controller
from moorage.controllers.stickyjobs import StickyJobController
from moorage.controllers.volumes import (
    ClaimProtection,
    EphemeralVolumeController,
    VolumeBinder,
    VolumeProtection,
    VolumeProvisioner,
)
from moorage.errors import InputError, did_you_mean
from moorage.kube.transport import Client

CONTROLLERS: tuple[type[Controller], ...] = (
    DeploymentController,
    ReplicaSetController,
    JobController,
    GarbageCollector,
    PodGarbageCollector,
    NodeLifecycle,
    TaintEviction,
    NamespaceController,
    DisruptionController,
    VolumeBinder,
    VolumeProvisioner,
    ClaimProtection,
    VolumeProtection,
    EphemeralVolumeController,
    ClaimMaker,
    ClaimReleaser,
    DeviceTaintEviction,
    StickyJobController,
    PodGroupController,
    PodGroupProtection,
)
"""All there are. Each works without the others, so that any may be left to somebody else."""

OF_OUR_OWN: tuple[type[Controller], ...] = (StickyJobController, PodGroupController)
"""Those that no other controller manager has."""


async def run_controllers(
    client: Client,
    *,
    only: Collection[str] = (),
    clock: Callable[[], float] = time.time,
    scheduler_name: str = DEFAULT_SCHEDULER_NAME,
    on_ready: Callable[[], None] | None = None,
) -> None:
    """Run the controllers (those named in `only`, or all) until cancelled.

    `scheduler_name` is given to pods of StickyJobs whose template names none. `on_ready` is called once the cluster is
    known and work begins. Raises InputError for a name that is none.
    """
    await runtime.run_controllers(
        client, chosen_controllers(only), clock=clock, scheduler_name=scheduler_name, on_ready=on_ready
    )


def chosen_controllers(only: Collection[str]) -> list[type[Controller]]:
    """The controllers of these names, or all. Raises InputError for a name that is none."""
    names = [each.name for each in CONTROLLERS]
    for name in only:
        if name not in names:
            hint = did_you_mean(name, names) or f": expected one of {', '.join(names)}"
            raise InputError(f"no controller is called {name!r}{hint}")
    return [each for each in CONTROLLERS if not only or each.name in only]
