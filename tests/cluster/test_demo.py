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


@pytest.mark.skipif(bool(os.environ.get("MOORAGE_TEST_CLUSTER")), reason="the demo brings its own cluster")
def test_the_demo_tells_its_story(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "moorage", "demo"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "160", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
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
