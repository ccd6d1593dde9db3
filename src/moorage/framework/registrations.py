"""Which events concern a plugin: what its events_to_register says, found whole before anything starts."""

from collections.abc import Iterable
from typing import Any

from moorage.errors import InputError
from moorage.framework.answers import definition, is_async, let_pass, raised_at
from moorage.framework.events import EventHint


def registrations_of(name: str, plugin: Any) -> tuple[EventHint, ...] | None:
    """The events a plugin names; None where it does not say, which means all there are.

    Raises InputError that names the plugin and the line.
    """
    method = getattr(plugin, "events_to_register", None)
    if method is None:
        return None
    try:
        said = method()
    except BaseException as error:
        let_pass(error)
        problem = error.problem if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        raise _refusal(name, problem, raised_at(error.__traceback__)) from error
    if is_async(said):
        raise _refusal(name, "is async; it is asked once, before anything runs", definition(method))
    listed = tuple(said) if isinstance(said, Iterable) and not isinstance(said, str | bytes) else (said,)
    for one in listed:
        if not _is_whole(one):
            raise _refusal(name, f"answered {one!r}; expected a list of on(...)", definition(method))
    return listed


def _is_whole(one: Any) -> bool:
    return isinstance(one, EventHint) and (one.hint is None or callable(one.hint))


def _refusal(name: str, problem: str, place: str) -> InputError:
    return InputError(f"events_to_register: {problem} (at {place})", where=f"plugin {name}")
