"""moorage decide: take the decisions of recorded cases, play recorded scripts."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from moorage.cli.plugins import PluginOption, make_registry
from moorage.cli.versions import GatesOption, VersionOption, make_features

if TYPE_CHECKING:
    from rich.progress import Progress

    from moorage.config import Features
    from moorage.framework.registry import Registry

_BAD_INPUT = 2


def decide(
    cases: Annotated[Path, typer.Argument(metavar="CASES.jsonl[.gz]", help="A case a line; - reads standard input.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to write; standard output if not given.")
    ] = None,
    plugin: PluginOption = None,
    seed: Annotated[int, typer.Option(help="Where preemption candidates tie, the seed decides.")] = 0,
    ask_extenders: Annotated[
        bool,
        typer.Option(
            "--ask-extenders", help="Ask the extenders of the configurations, some of which write when asked."
        ),
    ] = False,
    emulated_version: VersionOption = "",
    feature_gates: GatesOption = None,
) -> None:
    """Decide where the pods of each case go, on the cluster and with the configuration of the case.

    Reads JSON lines of the form {"case": {"name", "config", "objects", "schedule"}} and writes for each
    {"name": ..., "decisions": [...]}: feasible nodes, every refusal, every score, the choice, what preemption would do.
    A case with "script" in the place of "schedule" is played over virtual time by the whole scheduler, and
    {"name": ..., "steps": [...]} tells of each step which pods were tried and what the queues held afterwards.
    Extenders are not asked unless told to by --ask-extenders; "extendersNotAsked" then says which had a say.
    A malformed case is reported with file, line and field; the rest go on.
    """
    from moorage.errors import InputError

    try:
        registry = make_registry(plugin)
        features = make_features(emulated_version, feature_gates)
        lines = _read(cases)
    except (InputError, OSError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(_BAD_INPUT) from None
    try:
        with _writer(output) as out, _progress() as progress:
            bad = _decide_all(lines, str(cases), out, _Deciding(registry, seed, features, ask_extenders), progress)
    except OSError as error:
        typer.echo(f"{output or 'standard output'}: cannot be written: {error}", err=True)
        raise typer.Exit(_BAD_INPUT) from None
    if bad:
        raise typer.Exit(_BAD_INPUT)


@dataclass(frozen=True)
class _Deciding:
    """With what every case is decided."""

    registry: "Registry"
    seed: int
    features: "Features"
    ask_extenders: bool


def _decide_all(lines: list[bytes], source: str, out: IO[bytes], deciding: _Deciding, progress: "Progress") -> int:
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


def _decide_line(line: bytes, deciding: _Deciding) -> dict[str, object]:
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


def _read(path: Path) -> list[bytes]:
    from moorage.errors import InputError

    raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"cannot be unpacked: {error}", where=str(path)) from None
    return raw.splitlines()


@contextmanager
def _writer(path: Path | None) -> Iterator[IO[bytes]]:
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wb") as out:
        yield out  # type: ignore[misc]  # both openers give binary files


@contextmanager
def _progress() -> Iterator["Progress"]:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        yield progress
