"""What a reader of a page does: type its commands, one after the other, in a folder with the examples in it.

Servers (`moorage up` and its like) go on beside, as in a terminal of their own, until one like them is started or the
page ends; then comes Ctrl-C. Where a command wants a cluster and the page has not started one, there is one with three
nodes. Ports that the page names stand for free ones, so that pages can be read beside each other.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from tests.docs.pages import ROOT, Block, Page
from tools.control_plane.binaries import any_kubectl
from tools.control_plane.processes import Process, free_ports

PATIENCE: Final = 20.0
"""Seconds for a cluster to show what a page says it will."""

_SERVERS: Final = re.compile(
    r"^(moorage (up|scheduler|extender|apiserver|controllers)|python (controller\.py|-m moorage_gpushare --port))\b"
)
#: What lets them end at once.
_AT_ONCE: Final = re.compile(r"--(help|print-config|write-config-to)\b")
#: By what they say that they serve; the others are not waited for.
_READY: Final[Mapping[str, str]] = {
    "up": "Ctrl-C stops it",
    "apiserver": "serving on",
    "scheduler": "scheduling for",
    "extender": "serving ",
    "controllers": "leading as",
}
#: The ports that commands take by themselves: option and number.
_PORTS: Final[Mapping[str, tuple[str, str]]] = {"scheduler": ("--secure-port", "10259"), "extender": ("--port", "8888")}
_NAMED_PORTS: Final = re.compile(r"\b(10259|8888|6443|39999)\b")
_WANTS_CLUSTER: Final = re.compile(r"\bkubectl\b|\.kube/config|^moorage (scheduler|extender|controllers)\b")
_READING: Final = re.compile(r"^(kubectl (get|describe|logs|events)|curl|grep)\b")


#: What is not Python's, and may be missing.
_PROGRAMS: Final = ("kubectl", "curl")


class Failed(AssertionError):
    """A command did not do what the page says."""


class Session:
    """One reader at one page."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page = page
        #: The commands that could not be run here.
        self.left_out: list[str] = []
        self._home = folder / "home"
        self._log = folder / "logs"
        self._bin = folder / "bin"
        for made in (self._home / ".kube", self._log, self._bin):
            made.mkdir(parents=True)
        for name in _PROGRAMS:
            program = any_kubectl() if name == "kubectl" else shutil.which(name)
            if program is not None:
                (self._bin / name).symlink_to(program)
        self._servers: list[tuple[str, Process]] = []
        self._has_cluster = False
        self._ports: dict[str, str] = {}
        self.cwd = self._checkout(folder / "checkout")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        self.stop(check=failed is None)

    def take(self, block: Block) -> None:
        """Do what a block asks for. Raises Failed."""
        if block.file:
            file = self.cwd / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        elif block.language == "sh":
            for command in commands(block.text):
                self._type(command, None, block)
        elif block.language == "console":
            for command, printed in exchanges(block.text):
                self._type(command, printed, block)

    def stop(self, kind: str = "", *, check: bool = True) -> None:
        """Ctrl-C for the servers of a kind, or for all of them, the youngest first. Each has to end well."""
        failures: list[str] = []
        for command, server in reversed([one for one in self._servers if one[0].startswith(kind)]):
            self._servers.remove((command, server))
            status = server.interrupt()
            if command.startswith("moorage") and status:
                failures.append(f"{self.page.name}: {command} ended with status {status}:\n{server.log_tail()}")
        if check and failures:
            raise Failed("\n".join(failures))

    def _type(self, command: str, printed: str | None, block: Block) -> None:
        where = f"{self.page.name}:{block.line}: {command}"
        if self._lacks(command):
            self.left_out.append(command)
            return
        if re.match(r"moorage up\b", command):
            self.stop()
            self._has_cluster = True
        elif _WANTS_CLUSTER.search(command) and not self._has_cluster:
            self._serve("moorage up --nodes 3 --kubeconfig-out ~/.kube/config", where)
        command = self._told(command)
        if _SERVERS.match(command) and not _AT_ONCE.search(command):
            self._serve(command.removesuffix("&").strip(), where)
        else:
            try:
                self._run(command, printed, where)
            except Failed:
                # It may be about what a command would have made that was left out.
                if not self.left_out:
                    raise
                self.left_out.append(command)

    def _lacks(self, command: str) -> bool:
        """Whether a program is missing here, or what it would have shown."""
        lacking = [name for name in _PROGRAMS if not (self._bin / name).exists()]
        return any(re.search(rf"\b{name}\b", command) for name in lacking) or (
            bool(self.left_out) and _READING.match(command) is not None
        )

    def _run(self, command: str, printed: str | None, where: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            place = self._log / "cwd"
            script = f"set -eo pipefail\ntrap 'pwd > {place}' EXIT\n{command}\n"
            done = subprocess.run(
                ["bash", "-c", script], cwd=self.cwd, env=self._environment(), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
            )  # fmt: skip
            fits = done.returncode == 0 if not _says_much(printed) else shows(done.stdout, self._told(printed or ""))
            if fits:
                self.cwd = Path(place.read_text().rstrip("\n"))
                return
            if not _READING.match(command) or time.monotonic() > deadline:
                wanted = "" if printed is None else f"\n--- the page says\n{printed}"
                logs = "".join(f"\n--- {one}\n{server.log_tail()}" for one, server in self._servers)
                raise Failed(f"{where}\n--- status {done.returncode}, printed\n{done.stdout}{wanted}{logs}")
            time.sleep(0.2)

    def _serve(self, command: str, where: str) -> None:
        words = command.split()
        kind = words[1]
        self.stop(" ".join(words[:2]))
        started = command
        if kind in _PORTS:
            option, number = _PORTS[kind]
            if option not in words:
                started += f" {option} {self._port(number)}"
        # By itself it serves every interface, and nobody else is to come in here.
        if kind == "scheduler" and "--bind-address" not in words:
            started += " --bind-address 127.0.0.1"
        log = self._log / f"{len(list(self._log.iterdir()))}-{kind}.log"
        server = Process(where, ["bash", "-c", f"exec {started}"], log, cwd=self.cwd, environment=self._environment())
        self._servers.append((command, server))
        ready = _READY.get(kind, "")
        server.wait_until(lambda: ready in log.read_text())
        if kind == "up":
            self._has_cluster = True
            _link(self._home / ".kube" / "config", self.cwd / "kubeconfig")

    def _environment(self) -> dict[str, str]:
        path = [self._bin, Path(sys.executable).parent, Path(os.environ["PATH"])]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "MOORAGE_TEST"))}
        return {
            **kept,
            "HOME": str(self._home),
            "KUBECONFIG": str(self._home / ".kube" / "config"),
            "PATH": ":".join(map(str, path)),
            "COLUMNS": "120",
            "NO_COLOR": "1",
        }

    def _port(self, number: str) -> str:
        if number not in self._ports:
            self._ports[number] = str(free_ports(1)[0])
        return self._ports[number]

    def _told(self, printed: str) -> str:
        """A text with the ports that are really used."""
        return _NAMED_PORTS.sub(lambda number: self._port(number[0]), printed)

    def _checkout(self, folder: Path) -> Path:
        """The repository as a reader has it, but that examples are a copy; their own pages are read in their folder."""
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        for file in folder.glob("examples/*/*.yaml"):
            file.write_text(self._told(file.read_text()))
        for name in ("src", "deploy", "tests", "docs", "bench", "tools", "pyproject.toml"):
            (folder / name).symlink_to(ROOT / name)
        return folder / Path(self.page.name).parent if self.page.name.startswith("examples/") else folder


def commands(text: str) -> list[str]:
    """The commands of a block: its lines, with those that go on (a backslash, a document, a quote) put together."""
    found: list[str] = []
    pending = ""
    for line in text.splitlines():
        pending = f"{pending}\n{line}" if pending else line
        if not _is_whole(pending):
            continue
        if pending.strip() and not pending.lstrip().startswith("#"):
            found.append(_without_comment(pending))
        pending = ""
    return [*found, pending] if pending.strip() else found


def exchanges(text: str) -> list[tuple[str, str]]:
    """The commands of a console, each with what is printed below it."""
    found: list[tuple[str, str]] = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        size = next(size for size in range(1, len(lines) + 1) if _is_whole("\n".join(lines[:size])))
        found.append((_without_comment("\n".join(lines[:size])), "\n".join(lines[size:])))
    return found


def shows(printed: str, expected: str) -> bool:
    """Whether this was printed, whatever the width of its columns; `...` stands for anything."""

    def folded(text: str) -> str:
        return "\n".join(" ".join(line.split()) for line in text.strip().splitlines() if line.strip())

    pattern = ".*".join(map(re.escape, folded(expected).split("...")))
    return re.fullmatch(pattern, folded(printed), re.DOTALL) is not None


def _says_much(printed: str | None) -> bool:
    """Whether a page says what is printed, so that this tells of success; else the status has to."""
    return printed is not None and printed.strip() not in ("", "...")


def _is_whole(command: str) -> bool:
    """Whether a shell would run it rather than wait for more."""
    first = command.partition("\n")[0]
    document = re.search(r"<<-?\s*'?(\w+)'?", first)
    if document:
        return command.rstrip("\n").endswith(f"\n{document[1]}")
    if command.endswith("\\"):
        return False
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return not re.match(r"^(for|while|until)\b", first) or command.rstrip().endswith("done")


def _link(link: Path, file: Path) -> None:
    """Have the link lead to a file, where there is one."""
    if file.exists():
        link.unlink(missing_ok=True)
        link.symlink_to(file)


def _without_comment(command: str) -> str:
    return re.sub(r"\s+# .*$", "", command.strip())
