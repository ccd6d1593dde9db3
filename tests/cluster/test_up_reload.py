"""`moorage up --reload` as the author of a plugin uses it: broken at first, mended, changed; the cluster stays."""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.cluster.conftest import reach
from tools.control_plane.binaries import any_kubectl
from tools.control_plane.processes import Process
from tools.control_plane.running import kubectl

pytestmark = pytest.mark.skipif(bool(os.environ.get("MOORAGE_TEST_CLUSTER")), reason="brings its own cluster")

CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: Only}]}}}]
"""
PLUGIN = """\
from moorage.framework import unschedulable


class Only:
    def filter(self, state, pod, node):
        return None if node.name == "node-1" else unschedulable("not this one")
"""


def test_the_scheduler_begins_again_and_the_cluster_stays(tmp_path: Path) -> None:
    program = any_kubectl()
    if program is None:
        pytest.skip("needs kubectl (make control-plane)")
    kubeconfig, plugin, config = tmp_path / "kubeconfig", tmp_path / "only.py", tmp_path / "scheduler.yaml"
    config.write_text(CONFIG)
    plugin.write_text(PLUGIN.replace("return None", "retrun None"))
    up = [*(sys.executable, "-m", "moorage", "up", "--nodes=3", "--reload"), f"--kubeconfig-out={kubeconfig}"]
    up += [f"--config={config}", f"--plugin={plugin}:Only"]
    with Process("moorage up", up, tmp_path / "up.log") as process:
        process.wait_until(kubeconfig.exists)
        ask = partial(kubectl, program, reach(kubeconfig, tmp_path))
        _eventually(lambda: "no scheduler runs until that is mended" in (tmp_path / "up.log").read_text())
        assert "SyntaxError: invalid syntax (only.py, line 6)" in (tmp_path / "up.log").read_text()
        cluster = ask("get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}")
        ask("run", "first", "--image=app:1")

        plugin.write_text(PLUGIN)
        _eventually(lambda: _node_of("first", ask) == "node-1")
        plugin.write_text(PLUGIN.replace("node-1", "node-2"))
        _eventually(lambda: (tmp_path / "up.log").read_text().count("begins again") == 2)
        ask("run", "second", "--image=app:1")
        _eventually(lambda: _node_of("second", ask) == "node-2")
        assert _node_of("first", ask) == "node-1"
        assert ask("get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}") == cluster


def _node_of(pod: str, ask: Callable[..., str]) -> str:
    return ask("get", "pod", pod, "-o", "jsonpath={.spec.nodeName}")


def _eventually(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not true():
        assert time.monotonic() < ends, "it did not come true"
        time.sleep(0.1)
