"""Flags as Go programs take them, so that a command line written for kube-scheduler works unchanged.

A boolean is written bare or with `=`: `--leader-elect`, `--leader-elect=false`. A short flag may have `=`, too: `-v=2`.
"""

from typing import Any, ClassVar

import typer
from typer.core import TyperCommand

from moorage.errors import InputError
from moorage.values.duration import Duration


class GoFlagsCommand(TyperCommand):
    """A command whose boolean options (those named in `booleans`) may stand without a value."""

    booleans: ClassVar[frozenset[str]] = frozenset()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put Go's ways of writing flags into Typer's."""
        return super().parse_args(ctx, [self._rewritten(arg) for arg in args])

    def _rewritten(self, arg: str) -> str:
        if arg in self.booleans:
            return f"{arg}=true"
        if arg.startswith("-v="):
            return f"-v{arg[3:]}"
        return arg


def boolean(text: str) -> bool:
    """What Go's flag package takes for a boolean."""
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise typer.BadParameter(f'"{text}" is neither true nor false')


def duration(text: str) -> Duration:
    """A span of time in Go's notation."""
    try:
        return Duration.parse(text)
    except InputError as error:
        raise typer.BadParameter(error.problem) from None
