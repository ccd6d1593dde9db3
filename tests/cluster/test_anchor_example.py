"""The example of docs/sticky.md as its reader runs it: a definition, a controller, a plugin, on `moorage up`."""

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.conftest import reach
from tools.control_plane.binaries import any_kubectl
from tools.control_plane.processes import Process
from tools.control_plane.running import kubectl

EXAMPLE = Path(__file__).parents[2] / "examples" / "sticky_job"

Kubectl = Callable[..., str]


@pytest.fixture
def shell() -> Iterator[Kubectl]:
    """kubectl on `moorage up` with the example's plugin, and the example's controller beside it."""
    program = any_kubectl()
    if program is None:
        pytest.skip("needs kubectl (make control-plane)")
    with tempfile.TemporaryDirectory() as home, contextlib.ExitStack() as stack:
        kubeconfig = Path(home, "kubeconfig")
        plugin = [f"--config={EXAMPLE / 'scheduler.yaml'}", f"--plugin={EXAMPLE / 'plugin.py'}:StickToLastNode"]
        up = [sys.executable, "-m", "moorage", "up", "--nodes=3", f"--kubeconfig-out={kubeconfig}", *plugin]
        process = stack.enter_context(Process("moorage up", up, Path(home, "up.log")))
        process.wait_until(kubeconfig.exists)
        access = reach(kubeconfig, Path(home))

        def ask(*words: str) -> str:
            return kubectl(program, access, *words)

        _eventually(lambda: len(json.loads(ask("get", "nodes", "-o", "json"))["items"]) == 3)
        ask("apply", "-f", str(EXAMPLE / "crd.yaml"))
        controller = [sys.executable, str(EXAMPLE / "controller.py"), str(kubeconfig)]
        stack.enter_context(Process("controller", controller, Path(home, "controller.log")))
        yield ask


def _eventually(look: Callable[[], Any]) -> Any:
    ends = time.monotonic() + 60
    while not (seen := look()):
        assert time.monotonic() < ends, "it did not come true"
        time.sleep(0.2)
    return seen


def test_a_definition_a_controller_and_a_plugin_bring_a_pod_back(shell: Kubectl) -> None:
    shell("apply", "-f", str(EXAMPLE / "anchor.yaml"))

    def home(but: str = "") -> tuple[str, str] | None:
        found = shell("get", "pod", "db", "--ignore-not-found", "-o", "json")
        pod = json.loads(found) if found else {}
        last = shell("get", "anchor", "db", "-o", "jsonpath={.status.lastNode}")
        uid, node = pod.get("metadata", {}).get("uid", but), pod.get("spec", {}).get("nodeName")
        return (node, uid) if uid != but and node and node == last else None

    node, uid = _eventually(home)
    for _ in range(3):
        shell("delete", "pod", "db", "--wait=false")
        again, uid = _eventually(partial(home, uid))
        assert again == node
    shell("delete", "anchor", "db")
    _eventually(lambda: not shell("get", "pod", "db", "--ignore-not-found", "-o", "name"))
