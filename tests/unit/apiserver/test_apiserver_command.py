"""`moorage apiserver` as a user runs it."""

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from moorage.cli.main import app

COMMAND = [sys.executable, "-m", "moorage", "apiserver"]


def run(*arguments: str) -> Result:
    """What it answers where it refuses."""
    return CliRunner().invoke(app, ["apiserver", *arguments])


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_serves_and_ends_cleanly(tmp_path: Path, end: signal.Signals) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    command = [*COMMAND, "--port", "0", "--kubeconfig-out", str(kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("serving on https://127.0.0.1:")
        assert str(kubeconfig) in process.stdout.readline()
        process.send_signal(end)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert stat.S_IMODE(kubeconfig.stat().st_mode) == 0o600


def test_bad_input_is_one_line_and_status_2(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = run("--port", "0", "--data-dir", str(tmp_path / "file"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.strip() == f"{tmp_path / 'file'}: cannot be used as data directory: File exists"
    done = run("--port", "0", "--bind-address", "192.0.2.1")
    assert done.exit_code == 2
    assert done.stderr.startswith("192.0.2.1:0: cannot listen: ")
    assert len(done.stderr.splitlines()) == 1
    done = run("--port", "0", "--kubeconfig-out", str(tmp_path / "nowhere" / "kubeconfig"))
    assert done.exit_code == 2
    assert "cannot write the kubeconfig: No such file or directory" in done.stderr


def test_ports_are_ports() -> None:
    assert run("--port", "70000").exit_code == 2
