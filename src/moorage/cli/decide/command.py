"""The `moorage decide` command."""

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import typer

from moorage.cli import completing
from moorage.cli.options import GatesOption, PluginOption, VersionOption, make_features, make_registry
from moorage.cli.refusing import BAD_INPUT, in_one_line


def decide(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Nodes and pods in YAML or JSON, or cases (.jsonl[.gz]); - reads standard input."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to write; standard output if not given.")
    ] = None,
    pod: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAMESPACE/]NAME",
            help="A pod to decide, even if it runs; repeatable. Default: all that wait.",
            autocompletion=completing.pods,
        ),
    ] = None,
    node: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A node to tell of, in tables; repeatable. Default: all.",
            autocompletion=completing.nodes,
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A KubeSchedulerConfiguration for these pods; cases bring their own.")
    ] = None,
    plugin: PluginOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON in the place of tables.")] = False,
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
    """Decide where pods go, and say why: the scores of each node, or who refused it.

    Nodes and pods may stand in files and folders of YAML and in what `kubectl get -o json` prints. The pods that wait
    are decided in their order, and each that finds a node counts there for those behind it. Without --config, plugins
    named by --plugin run beside the default ones.

    A case is a line of JSON: {"case": {"name", "config", "objects", "schedule"}}, or "script" instead of "schedule",
    which is played over virtual time by the whole scheduler. The answer is a line of JSON, too: {"name", "decisions"}
    or {"name", "steps"}. A malformed case is reported with file, line and field; the rest go on.

    Extenders are not asked unless told to by --ask-extenders; "extendersNotAsked" then says which had a say.
    """
    from moorage.cli.decide.cases import Deciding, are_cases, decide_cases, lines_of
    from moorage.cli.decide.objects import Wanted, decide_objects
    from moorage.errors import InputError

    bad = 0
    with in_one_line():
        deciding = Deciding(make_registry(plugin), seed, make_features(emulated_version, feature_gates), ask_extenders)
        texts = {file: _read(file) for file in files}
        cases = next((file for file, text in texts.items() if are_cases(file, text)), None)
        if cases is None:
            wanted = Wanted(pod or [], node or [], config, plugin or [], as_json=as_json)
            answer = decide_objects(texts, wanted, deciding)
            with _writer(output) as out:
                out.write(answer)
        elif len(files) > 1 or pod or node or config:
            raise InputError("cases stand alone: no other file, --pod, --node or --config goes with them", where=cases)
        else:
            lines = lines_of(texts[cases], cases)
            with _writer(output) as out:
                bad = decide_cases(lines, cases, out, deciding)
    if bad:
        raise typer.Exit(BAD_INPUT)


def _read(file: str) -> bytes:
    """What a file holds; a folder is read later, file by file. Raises OSError."""
    if file == "-":
        return typer.get_binary_stream("stdin").read()
    return b"" if Path(file).is_dir() else Path(file).read_bytes()


@contextmanager
def _writer(path: Path | None) -> Iterator[IO[bytes]]:
    """Where the answers go. Raises InputError."""
    from moorage.errors import InputError

    try:
        if path is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "wb") as out:
            yield out  # type: ignore[misc]  # both openers give binary files
    except OSError as error:
        raise InputError(f"cannot be written: {error}", where=str(path or "standard output")) from None
