"""One program as a child process: started, waited for, ended. Nobody else's processes are touched."""

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

READY_SECONDS = 60.0
END_SECONDS = 10.0
TAIL_BYTES = 2000


class ProcessError(Exception):
    """A program ended early or did not become ready; the message holds the end of its log."""


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on, all different."""
    with contextlib.ExitStack() as sockets:
        held = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]


class Process:
    """A running program that logs to a file. As a context manager it ends with the block."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        *,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        with log.open("wb") as output:
            self._child = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=environment,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        return self._child.pid

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Return once `ready()` holds; raise ProcessError when the program ends first, or takes too long."""
        deadline = time.monotonic() + READY_SECONDS
        while not ready():
            if self._child.poll() is not None:
                raise ProcessError(f"{self.name} ended with status {self._child.returncode}:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise ProcessError(f"{self.name} is not ready after {READY_SECONDS:g} s:\n{self.log_tail()}")
            time.sleep(0.1)

    def log_tail(self) -> str:
        return self.log.read_bytes()[-TAIL_BYTES:].decode(errors="replace")

    def interrupt(self) -> int:
        """Ctrl-C, as in a terminal; the status it ends with."""
        self._child.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(END_SECONDS)
        self.end()
        return self._child.returncode

    def end(self) -> None:
        """Ask the program to end, and see that it does. Ending it twice is fine."""
        self._child.terminate()
        try:
            self._child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
