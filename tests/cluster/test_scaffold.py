"""What `moorage new plugin` makes, installed: in `moorage up` as its README says, in the scheduler, as an extender."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.conftest import reach
from tests.cluster.scheduler_process import scheduler_process
from tests.cluster.scheduler_world import World
from tests.cluster.test_extender_examples import stock, webhook
from tools.control_plane.binaries import any_kubectl
from tools.control_plane.processes import Process
from tools.control_plane.running import kubectl

from moorage.cli.new.names import names
from moorage.cli.new.package import files

NAMES = names("prefer-green")
#: Heavy enough that no other plugin matters.
WEIGHT = 100

pytestmark = pytest.mark.cluster


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's folder; what its installation would leave is on Python's path."""
    folder = tmp_path / "prefer-green"
    for path, text in files(NAMES, ["filter", "score"]).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    installed = folder / "src" / "prefer_green-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: prefer-green\nVersion: 0.1.0\n")
    (installed / "entry_points.txt").write_text(f"[moorage.plugins]\n{NAMES.plugin} = {NAMES.entry}\n")
    monkeypatch.setenv("PYTHONPATH", str(folder / "src"))
    return folder


async def placed(world: World, nodes: dict[str, str]) -> None:
    """A pod that wants `only` and one that does not care, where the plugin wants them."""
    await world.pod("choosy", metadata={"labels": {NAMES.label: "only"}})
    await world.pod("easy")
    assert await world.bound("choosy") == nodes["always"]
    assert await world.bound("easy") == nodes["always"]


async def labelled(world: World) -> dict[str, str]:
    found = {}
    for value in ("plain", "never", "always"):
        found[value] = await world.node(value, labels={} if value == "plain" else {NAMES.label: value})
    return found


async def test_in_the_scheduler(world: World, package: Path, tmp_path: Path) -> None:
    nodes = await labelled(world)
    enabled = [{"name": NAMES.plugin, "weight": WEIGHT}]
    config = {"profiles": [{"schedulerName": world.name, "plugins": {"multiPoint": {"enabled": enabled}}}]}
    async with scheduler_process(world, tmp_path, config=config) as process:
        await process.ready()
        await placed(world, nodes)


async def test_as_an_extender(world: World, package: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    nodes = await labelled(world)
    async with webhook(world, tmp_path, ["moorage", "extender", "--plugin", NAMES.plugin]) as url:
        verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": WEIGHT}
        entry: dict[str, Any] = {"urlPrefix": url, **verbs, "nodeCacheCapable": True}
        is_real = os.environ.get("MOORAGE_TEST_CLUSTER") == "real"
        beside = (
            stock(request.getfixturevalue("control_plane"), world, entry)
            if is_real
            else world.scheduling(extenders=[entry])
        )
        async with beside:
            await placed(world, nodes)


@pytest.mark.skipif(bool(os.environ.get("MOORAGE_TEST_CLUSTER")), reason="brings its own cluster")
def test_in_a_cluster_in_one_process_as_its_readme_says(package: Path, tmp_path: Path) -> None:
    program = any_kubectl()
    if program is None:
        pytest.skip("needs kubectl (make control-plane)")
    kubeconfig = tmp_path / "kubeconfig"
    up = [sys.executable, "-m", "moorage", "up", "--reload", f"--config={package / 'scheduler.yaml'}"]
    with Process("moorage up", [*up, f"--kubeconfig-out={kubeconfig}"], tmp_path / "up.log") as process:
        process.wait_until(kubeconfig.exists)
        access = reach(kubeconfig, tmp_path)
        until = time.monotonic() + 30
        while "node-1" not in kubectl(program, access, "get", "nodes"):
            assert time.monotonic() < until
        kubectl(program, access, "label", "node", "node-1", f"{NAMES.label}=always")
        kubectl(program, access, "apply", "-f", str(package / "examples" / "pods.yaml"))
        while len(homes := _homes(kubectl(program, access, "get", "pods", "-o", "json"))) < 2:
            assert time.monotonic() < until, (tmp_path / "up.log").read_text()
        assert homes == {"first": "node-1", "second": "node-1"}


def _homes(listed: str) -> dict[str, str]:
    pods = json.loads(listed)["items"]
    return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods if "nodeName" in pod["spec"]}
