"""`python -m tools.record`, with a stand-in for Go: the program it builds answers with what it is given."""

import gzip
import os
from pathlib import Path

import pytest
from tools.control_plane import binaries
from tools.record.__main__ import main

GO = """#!/bin/sh
test -f record.go -a -f go.mod -a -f go.sum || exit 1
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\ncase "$1" in -gates) echo gates;; *) tr a-z A-Z;; esac\\n' > "$2" && chmod +x "$2"
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a Go that builds something else."""
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", os.pathsep.join((str(go.parent), "/usr/bin", "/bin")))
    monkeypatch.setenv(binaries.VERSION_VARIABLE, "")
    return tmp_path


def test_cases_go_through_the_program_of_the_version(home: Path) -> None:
    cases, out = home / "cases.jsonl.gz", home / "out.jsonl.gz"
    cases.write_bytes(gzip.compress(b"one\n"))
    assert main(["--version", "1.36", "decide", str(cases), "-o", str(out)]) == 0
    assert gzip.decompress(out.read_bytes()) == b"ONE\n"
    assert [path.name for path in binaries.cache_folder().parent.iterdir()] == ["record-v1.36.4"]


def test_gates_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["gates"]) == 0
    assert capfd.readouterr().out == "gates\n"


def test_a_version_that_nobody_pinned_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version", "1.99", "gates"]) == 2
    assert "there is no such version" in capsys.readouterr().err
