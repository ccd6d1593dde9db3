"""What a plugin wants to see and may write, found whole before anything starts: the events that concern it, and the
kinds of object it declares (`reads`, `may_read`, `writes`)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from moorage.errors import InputError
from moorage.framework.answers import definition, is_async, let_pass, raised_at
from moorage.framework.events import EventHint
from moorage.objects import KubeObject, Node, Pod


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


Kinds = tuple[type[KubeObject], ...]

ALL_WRITES: Final = ("create", "delete", "patch", "patch/status", "update")
"""`patch/status` is to patch the status, where a kind keeps that apart."""


def kinds_read(name: str, plugin: Any) -> Kinds:
    """The kinds that are followed for a plugin: those in `reads` and `may_read`, and those whose events it wants.

    Raises InputError that names the plugin.
    """
    said = [
        _checked(name, attribute, kind)
        for attribute in ("reads", "may_read")
        for kind in _listed(name, attribute, getattr(plugin, attribute, ()))
    ]
    if not isinstance(plugin, type):
        said += [one.kind for one in registrations_of(name, plugin) or () if one.kind is not None]
    return tuple(kind for kind in dict.fromkeys(said) if kind not in (Pod, Node))


def kinds_awaited(name: str, plugin: Any) -> Kinds:
    """Those without which the plugin cannot work: no pod is scheduled before the API server serves them.

    Kubernetes' own kinds are left out where a version of it does not have them.
    """
    optional = _listed(name, "may_read", getattr(plugin, "may_read", ()))
    return tuple(kind for kind in kinds_read(name, plugin) if kind.PLURAL and kind not in optional)


def kinds_written(name: str, plugin: Any) -> dict[type[KubeObject], tuple[str, ...]]:
    """What `writes` of a plugin says: the kinds it writes, each with the verbs. Raises InputError that names it."""
    said = getattr(plugin, "writes", ())
    if isinstance(said, Mapping):
        return {_checked(name, "writes", kind): tuple(verbs) for kind, verbs in said.items()}
    return {_checked(name, "writes", kind): ALL_WRITES for kind in _listed(name, "writes", said)}


def _listed(name: str, attribute: str, said: Any) -> Iterable[Any]:
    if isinstance(said, tuple | list | set | frozenset):
        return said
    raise InputError(f"{attribute} is {said!r}: expected a tuple of kinds", where=f"plugin {name}")


def _checked(name: str, attribute: str, kind: Any) -> type[KubeObject]:
    if isinstance(kind, type) and issubclass(kind, KubeObject) and kind.KIND:
        return kind
    problem = f"{attribute} has {kind!r}: expected a kind of moorage.objects, a class of your own or custom_kind(...)"
    raise InputError(problem, where=f"plugin {name}")
