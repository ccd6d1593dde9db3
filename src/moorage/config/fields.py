"""Faults in a configuration: where, and what is wrong in Kubernetes' form for field errors."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from moorage.errors import InputError
from moorage.values.duration import Duration

#: Where a file is refused: its form, its values, or what its plugins add up to.
Stage = Literal["decode", "validate", "build"]


class Fault(msgspec.Struct, frozen=True):
    """One thing wrong: a field path ("" for the whole file) and the problem, without the path."""

    path: str
    problem: str
    stage: Stage = "validate"

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}" if self.path else self.problem


class ConfigErrors(InputError):
    """A refused file, with every fault found. `str()` has one line for each."""

    def __init__(self, faults: Sequence[Fault], *, source: str = "") -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(str, faults)), where=source)

    def __str__(self) -> str:
        return "\n".join(f"{self.where}: {fault}" if self.where else str(fault) for fault in self.faults)

    @property
    def stage(self) -> Stage:
        """Where the file was refused: later stages are not entered with a fault at hand."""
        return self.faults[0].stage


def child(path: str, name: str) -> str:
    """The path of a field below `path`."""
    return f"{path}.{name}" if path else name


def required(path: str, detail: str = "") -> Fault:
    """The value is missing."""
    return Fault(path, _joined("Required value", detail))


def invalid(path: str, value: Any, detail: str) -> Fault:
    """The value is malformed or out of bounds."""
    return Fault(path, _joined(f"Invalid value: {shown(value)}", detail))


def duplicate(path: str, value: Any) -> Fault:
    """The value must be unique and is not."""
    return Fault(path, f"Duplicate value: {shown(value)}")


def unsupported(path: str, value: str, supported: Iterable[str]) -> Fault:
    """The value is none of those there are."""
    return Fault(path, f"Unsupported value: {shown(value)}: supported values: {', '.join(map(shown, supported))}")


def forbidden(path: str, detail: str) -> Fault:
    """The value may not be given under these conditions."""
    return Fault(path, _joined("Forbidden", detail))


def shown(value: Any) -> str:
    """A value as it looks in an error: JSON."""
    if isinstance(value, Duration):
        return f'"{value}"'
    return msgspec.json.encode(value, enc_hook=str).decode()


def _joined(kind: str, detail: str) -> str:
    return f"{kind}: {detail}" if detail else kind
