"""Help that teaches: whole at 80 columns, an example at its end, the nearest name for a misspelt one."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
import typer.testing

from moorage import __version__
from moorage.cli.main import app


def _leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, child in getattr(command, "commands", {}).items():
        yield from _leaves(child, (*path, name))
    if not getattr(command, "commands", {}):
        yield path, command


LEAVES = dict(_leaves(typer.main.get_command(app)))
GROUPS = ((), ("config",), ("new",))


def _invoke(*arguments: str) -> typer.testing.Result:
    return typer.testing.CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80", "TERM": "dumb"})


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_help_is_whole_at_80_columns_and_ends_with_an_example(path: tuple[str, ...]) -> None:
    text = _invoke(*path, "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    options = [name for parameter in LEAVES[path].params for name in parameter.opts if name.startswith("--")]
    for name in options:
        assert re.search(rf"(^|[\s,/]){re.escape(name)}($|[\s,/])", text, re.MULTILINE), name
    last = " ".join(text.rstrip().rpartition("\n\n")[2].split())
    assert last.startswith(f"Example: moorage {' '.join(path)}"), last


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_help_of_a_group_tells_of_each_command_whole_and_ends_with_an_example(path: tuple[str, ...]) -> None:
    text = _invoke(*path, "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.partition("Commands:")[2]
    assert text.rstrip().splitlines()[-1].strip().startswith(f"Example: moorage {' '.join(path)}".rstrip())


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_option_of_an_example_exists(path: tuple[str, ...]) -> None:
    known = {name for parameter in LEAVES[path].params for name in (*parameter.opts, *parameter.secondary_opts)}
    ours = (LEAVES[path].epilog or "").partition(" | ")[0]
    used = {word for word in ours.split() if word.startswith("-") and word != "-"}
    assert used <= known


def test_the_version_is_told() -> None:
    assert _invoke("--version").stdout == f"moorage {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (("shceduler",), "Did you mean 'scheduler'?"),
        (("config", "veiw"), "Did you mean 'view'?"),
        (("scheduler", "--leader-elct"), "--leader-elect"),
        (("up", "--pulgin", "x"), "--plugin"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(arguments: tuple[str, ...], nearest: str) -> None:
    refused = _invoke(*arguments)
    assert refused.exit_code == 2
    assert nearest in refused.stderr
