"""Either version of the scheduler on whatever API server there is: what that does not serve is left out."""

import pytest
from tests.cluster.scheduler_world import World

from moorage.config import features_of
from moorage.config.gates import VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
async def test_either_version_schedules_here(world: World, version: str) -> None:
    await world.node("n1", cpu="2")
    await world.pod("fits", cpu="1")
    await world.pod("does-not", cpu="8")
    async with world.scheduling(features=features_of(version)):
        assert await world.bound("fits") == f"{world.name}-n1"
        assert "Insufficient cpu" in (await world.refused("does-not"))["message"]
