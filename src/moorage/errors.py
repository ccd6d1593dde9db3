"""Every exception Moorage raises on purpose.

    MoorageError
    ├── InputError            the user's file, flag or object is wrong: one line, exit status 2
    │   └── ObjectError       an API object that does not decode
    ├── PluginError           a plugin broke: raised, or answered what no plugin may answer
    ├── ExtenderError         an extender could not be asked, or answered what no extender may answer
    └── ApiError              the API server refused or could not be reached (see moorage.kube)

A pod that does not fit is not an error: that is a Status (moorage.framework.status).
"""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """'; did you mean X?' with the known name nearest to a misspelt one; "" where none is near."""
    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


class MoorageError(Exception):
    """The root: catch this to catch everything that is ours."""


class InputError(MoorageError):
    """The user's input is wrong. `where` names the file and field, the message says what was expected."""

    def __init__(self, message: str, *, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where
        self.problem = message


class ObjectError(InputError):
    """An API object that does not decode: `where` holds the field path."""


class PluginError(MoorageError):
    """A plugin raised, or gave an answer outside its contract. It fails the pod's cycle, never the process.

    `where` is the file and line of a mistake in the plugin; "" where it only says that something else is broken.
    """

    def __init__(self, plugin: str, point: str, message: str, *, where: str = "") -> None:
        # kube-scheduler words it differently at Filter than elsewhere.
        running = f'"{plugin}" filter plugin' if point == "Filter" else f'{point} plugin "{plugin}"'
        super().__init__(f"running {running}: {message}" + (f" (at {where})" if where else ""))
        self.plugin = plugin
        self.point = point
        self.where = where


class ExtenderError(MoorageError):
    """An extender (`url`) could not be asked, said it failed, or answered what no extender may answer."""

    def __init__(self, url: str, message: str) -> None:
        super().__init__(f"extender {url}: {message}")
        self.url = url
        self.problem = message


class ApiError(MoorageError):
    """The API server answered with a failure, or did not answer."""

    def __init__(self, message: str, *, code: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
