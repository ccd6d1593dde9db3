"""The example plugins as readers run them: in `moorage up`, and in `moorage scheduler` on the cluster under test."""

import contextlib
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.cluster.conftest import EMBEDDED, choice, reach
from tests.cluster.example_scenarios import PLUGINS, Example, Tree
from tests.cluster.scheduler_process import scheduler_process
from tests.cluster.scheduler_world import World, make_world
from tools.control_plane.processes import Process
from tools.control_plane.running import Access

from moorage.kube.errors import AlreadyExists


@contextlib.asynccontextmanager
async def beside(example: Example) -> AsyncIterator[Tree]:
    """What has to run beside the plugin; the arguments that lead there."""
    if example.service is None:
        yield {}
        return
    async with example.service() as args:
        yield args


async def define(world: World, example: Example) -> None:
    """Have the custom resources of the example served."""
    for definition in example.definitions:
        with contextlib.suppress(AlreadyExists):
            await world.client.post(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.dumps(definition).encode()
            )
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]

        async def served(path: str = f"/apis/{group}/v1/{plural}") -> bool:
            with contextlib.suppress(Exception):
                return bool(await world.client.get(path))
            return False

        await world.eventually(served)


@pytest.mark.skipif(choice() != EMBEDDED, reason="moorage up brings its own API server")
@pytest.mark.parametrize("example", PLUGINS, ids=lambda one: one.folder)
async def test_in_moorage_up(example: Example, tmp_path: Path) -> None:
    name = re.sub("[^a-z]+", "-", example.folder)
    async with beside(example) as args:
        config, kubeconfig = tmp_path / "scheduler.json", tmp_path / "kubeconfig"
        config.write_text(json.dumps(example.configuration(name, args)))
        command = [sys.executable, "-m", "moorage", "up", "--v=0", "--nodes=0", f"--kubeconfig-out={kubeconfig}"]
        command += [f"--config={config}", f"--plugin={example.reference}"]
        log = tmp_path / "up.log"
        with Process("moorage up", command, log) as process:
            process.wait_until(lambda: "Ctrl-C stops it" in log.read_text())
            async with make_world(reach(kubeconfig, tmp_path), name) as world:
                await define(world, example)
                if example.definitions:
                    process.wait_until(lambda: "served now" in log.read_text())
                await example.scenario(world)
            assert process.interrupt() == 0, log.read_text()
        assert "Traceback" not in log.read_text()


@pytest.mark.parametrize("example", PLUGINS, ids=lambda one: one.folder)
async def test_in_moorage_scheduler(example: Example, cluster: Access, world: World, tmp_path: Path) -> None:
    await define(world, example)
    async with beside(example) as args:
        config = example.configuration(world.name, args)
        async with scheduler_process(world, tmp_path, f"--plugin={example.reference}", config=config) as process:
            await process.ready()
            await example.scenario(world)
        assert "Traceback" not in process.log.read_text()
