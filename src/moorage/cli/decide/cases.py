"""Recorded cases: a JSON object a line, each with its cluster and its configuration."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

    from moorage.config import Features
    from moorage.framework.registry import Registry

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Deciding:
    """With what everything is decided."""

    registry: "Registry"
    seed: int
    features: "Features"
    ask_extenders: bool


def are_cases(file: str, text: bytes) -> bool:
    """Whether a file holds cases: by its name, else by its first line, a JSON object that is none of Kubernetes'."""
    import msgspec

    suffixes = Path(file).suffixes[-2:]
    if ".jsonl" in suffixes or text[:2] == _GZIP:
        return True
    if {".yaml", ".yml"}.intersection(suffixes):
        return False
    try:
        first = msgspec.json.decode(text.lstrip().partition(b"\n")[0])
    except msgspec.DecodeError:
        return False
    return isinstance(first, dict) and "kind" not in first


def lines_of(text: bytes, file: str) -> list[bytes]:
    """The lines of a file, packed or not. Raises InputError."""
    from moorage.errors import InputError

    if text[:2] == _GZIP:
        try:
            text = gzip.decompress(text)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"cannot be unpacked: {error}", where=file) from None
    return text.splitlines()


def decide_cases(lines: list[bytes], source: str, out: IO[bytes], deciding: Deciding) -> int:
    """Answer each case with a line; returns how many were bad, each of which was told to standard error."""
    with _progress() as progress:
        return _decide_all(lines, source, out, deciding, progress)


def _decide_all(lines: list[bytes], source: str, out: IO[bytes], deciding: Deciding, progress: "Progress") -> int:
    import msgspec

    from moorage.errors import MoorageError

    bad = 0
    for number, line in progress.track(list(enumerate(lines, start=1)), description="deciding"):
        if not line.strip():
            continue
        try:
            result = _decide_line(line, deciding)
        except MoorageError as error:
            bad += 1
            for fault in str(error).splitlines():
                typer.echo(f"{source}:{number}: {fault}", err=True)
        else:
            out.write(msgspec.json.encode(result) + b"\n")
    return bad


def _decide_line(line: bytes, deciding: Deciding) -> dict[str, object]:
    import msgspec

    from moorage.cases import outcome
    from moorage.errors import InputError

    try:
        tree = msgspec.json.decode(line)
        if not isinstance(tree, dict):
            raise InputError(f"expected an object, got {type(tree).__name__}")
        case = tree.get("case", tree)
        return outcome(
            case,
            registry=deciding.registry,
            seed=deciding.seed,
            features=deciding.features,
            ask_extenders=deciding.ask_extenders,
        )
    except msgspec.DecodeError as error:
        raise InputError(f"not JSON: {error}") from None
    except RecursionError:
        raise InputError("nested too deeply") from None


@contextmanager
def _progress() -> Iterator["Progress"]:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        yield progress
