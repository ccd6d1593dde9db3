"""What is wrong with a user's input ends a command with one line and exit status 2."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import typer

BAD_INPUT: Final = 2


@contextmanager
def in_one_line() -> Iterator[None]:
    """Tell InputError and OSError in a line each, and end."""
    from moorage.errors import InputError

    try:
        yield
    except (InputError, OSError) as error:
        typer.echo(told(error), err=True)
        raise typer.Exit(BAD_INPUT) from None


def told(error: BaseException) -> str:
    """The line: a file that the system speaks of comes first."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)
