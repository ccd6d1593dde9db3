"""Build the programs of a control plane with Go, from the public module proxy, at the versions go.sum pins."""

import collections
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from tools.control_plane.binaries import MODULES, PACKAGES, missing, version

TAIL_LINES = 25

# With -v, Go names each package as it compiles it: one word a line. Whatever else it says is worth keeping.
_PACKAGE_LINE = re.compile(r"[\w.~-]+(/[\w.~-]+)*")


class BuildError(Exception):
    """The programs cannot be built here. `output` is the end of what Go said."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


def version_flags() -> str:
    """Linker flags that tell the programs their version: without them they call themselves v0.0.0."""
    major, minor, _ = version().removeprefix("v").split(".")
    values = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor}
    return " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items())


def build(target: Path, console: Console) -> None:
    """Build every program into `target`, which appears whole or not at all."""
    if shutil.which("go") is None:
        raise BuildError(
            "Go is not installed: install it from https://go.dev/dl, or set KUBEBUILDER_ASSETS to a folder of binaries"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        into = Path(scratch, target.name)
        into.mkdir()
        _build_all(into, console)
        _publish(into, target)


def _build_all(into: Path, console: Console) -> None:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:24}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[now]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        for name, package in PACKAGES.items():
            if not console.is_terminal:
                console.print(f"building {name} ...")
            task = progress.add_task(name, total=1, now="")
            _go_build(package, into / name, _reporter(progress, task))
            progress.update(task, completed=1, now="[green]built")


def _reporter(progress: Progress, task: TaskID) -> Callable[[str], None]:
    return lambda line: progress.update(task, now=f"[dim]{line[:60]}")


def _go_build(package: str, output: Path, report: Callable[[str], None]) -> None:
    command = ["go", "build", "-v", "-o", str(output), "-ldflags", version_flags(), package]
    environment = {**os.environ, "GOWORK": "off"}
    said: collections.deque[str] = collections.deque(maxlen=TAIL_LINES)
    with subprocess.Popen(
        command, cwd=MODULES / version(), env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            for line in process.stdout or ():
                report(line.strip())
                if not _PACKAGE_LINE.fullmatch(line.strip()):
                    said.append(line.rstrip())
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise BuildError(f"go build {package} failed with status {process.returncode}", "\n".join(said))


def _publish(built: Path, target: Path) -> None:
    """Move the finished folder into place. Somebody else may have built the same meanwhile: theirs is as good."""
    try:
        built.rename(target)
    except OSError:
        if missing(target):
            shutil.rmtree(target)
            built.rename(target)
