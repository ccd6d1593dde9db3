"""`python -m tools.record`: record decisions of kube-scheduler, or print the feature gates of a version.

decide CASES.jsonl[.gz] -o OUT.jsonl[.gz]   each line with what kube-scheduler decides in `expect`
gates                                       name | stage and default | what it needs, for config/gatetable.py
"""

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.control_plane import binaries
from tools.control_plane.build import version_flags

SOURCES = tuple(Path(__file__).parent.glob("*.go"))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.record", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--version", help=f"of kube-scheduler: {', '.join(binaries.versions())}")
    commands = parser.add_subparsers(dest="command", required=True)
    decide = commands.add_parser("decide", help="record what is decided of cases with `schedule`")
    decide.add_argument("cases", type=Path)
    decide.add_argument("-o", "--output", type=Path, required=True)
    commands.add_parser("gates", help="print the gates of the version")
    options = parser.parse_args(arguments)
    if options.version:
        os.environ[binaries.VERSION_VARIABLE] = options.version
    try:
        program = build()
        if options.command == "gates":
            return subprocess.run([program, "-gates"], check=False).returncode
        return record(program, options.cases, options.output)
    except (binaries.UnknownVersionError, OSError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"record: {error}\n")
        return 2


def build() -> Path:
    """The program for the version in use, built with Go from what the control plane's module pins.

    Built anew each time: what has not changed comes from Go's own cache.
    """
    program = binaries.cache_folder().with_name(f"record-{binaries.version()}")
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="moorage-record-") as folder:
        for name in ("go.mod", "go.sum"):
            shutil.copy(binaries.MODULES / binaries.version() / name, folder)
        for source in SOURCES:
            shutil.copy(source, folder)
        command = ["go", "build", "-o", str(program), "-ldflags", version_flags(), "."]
        subprocess.run(command, cwd=folder, env={**os.environ, "GOWORK": "off"}, check=True)
    return program


def record(program: Path, cases: Path, output: Path) -> int:
    """Run the program over the cases; the exit status."""
    said = subprocess.run([program], input=_read(cases), stdout=subprocess.PIPE, check=False)
    if said.returncode == 0:
        output.write_bytes(gzip.compress(said.stdout) if output.suffix == ".gz" else said.stdout)
    return said.returncode


def _read(path: Path) -> bytes:
    raw = path.read_bytes()
    return gzip.decompress(raw) if path.suffix == ".gz" else raw


if __name__ == "__main__":
    sys.exit(main())
