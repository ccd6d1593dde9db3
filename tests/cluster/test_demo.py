"""The demo as a user runs it: it ends by itself, with status 0, and every chapter shows what it promises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHAPTERS = (
    "1. A Deployment spread over zones",
    "2. A pod that fits nowhere, and why",
    "3. Two schedulers in one process",
    "4. Ten lines of Python change a decision",
    "5. A pod that comes back to where it was",
    "6. Preemption",
)

#: The demo with a plugin that breaks in the profile of the first chapter, told to be impatient.
BROKEN = """
from moorage.cli.demo import asking, manifests, plugin
from moorage.cli.main import app

def score(self, state, pod, node):
    return 1 // 0

asking._PATIENCE_SECONDS = 3.0
plugin.PreferGreenNodes.score = score
manifests.CONFIGURATION["profiles"][0]["plugins"]["multiPoint"]["enabled"].append({"name": "PreferGreenNodes"})
app(["demo"])
"""

pytestmark = pytest.mark.skipif(bool(os.environ.get("MOORAGE_TEST_CLUSTER")), reason="the demo brings its own cluster")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "COLUMNS": "160", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_demo_tells_its_story(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "moorage", "demo")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for chapter in CHAPTERS:
        assert chapter in done.stdout
    assert "0/8 nodes are available: 1 node(s) had untolerated taint(s), 7 Insufficient cpu." in done.stdout
    assert "the scheduler bound night-batch to solar-0" in done.stdout
    assert "waiting for sticky node" in done.stdout
    assert "is open again: the pod runs on" in done.stdout
    assert "the scheduler bound vip to" in done.stdout
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_a_wait_in_vain_ends_with_what_the_pods_and_the_scheduler_say(tmp_path: Path) -> None:
    done = run(tmp_path, "-c", BROKEN)
    assert done.returncode == 1, done.stderr
    told = done.stderr[done.stderr.index("waited 3 s in vain for seven running pods") :].splitlines()
    broke = 'running Score plugin "PreferGreenNodes": ZeroDivisionError: integer division or modulo by zero (at '
    assert len(told) == 1 + 7 + 1
    assert all(line.startswith("pod default/web-") and broke in line for line in told[1:-1]), told
    assert told[-1].startswith(f"the scheduler's last error: {broke}")
