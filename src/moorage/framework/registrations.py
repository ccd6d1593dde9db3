"""What a plugin wants to see and may write, found whole before anything starts: the events that concern it, and the
kinds of object it declares (`reads`, `may_read`, `writes`)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from moorage.errors import InputError, did_you_mean
from moorage.framework.answers import definition, in_words, is_async, let_pass, place_of, raised_at
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource
from moorage.objects import KubeObject, Node, Pod

_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


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
        problem = error.problem if isinstance(error, InputError) else in_words(error)
        raise _refusal(name, problem, raised_at(error.__traceback__)) from error
    if is_async(said):
        raise _refusal(name, "is async; it is asked once, before anything runs", definition(method))
    listed = tuple(said) if isinstance(said, Iterable) and not isinstance(said, str | bytes) else (said,)
    for one in listed:
        if not _is_whole(one):
            raise _refusal(name, f"answered {one!r}; expected a list of on(...)", definition(method))
    return listed


def _is_whole(one: Any) -> bool:
    """Whether it is as `on` makes them."""
    return (
        isinstance(one, EventHint)
        and isinstance(one.event, ClusterEvent)
        and isinstance(one.event.resource, Resource)
        and isinstance(one.event.action, Action)
        and all(function is None or callable(function) for function in (one.hint, one.reads))
    )


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
        _checked(name, plugin, attribute, kind)
        for attribute in ("reads", "may_read")
        for kind in _listed(name, plugin, attribute)
    ]
    if not isinstance(plugin, type):
        said += [one.kind for one in registrations_of(name, plugin) or () if one.kind is not None]
    return tuple(kind for kind in dict.fromkeys(said) if kind not in (Pod, Node))


def kinds_awaited(name: str, plugin: Any) -> Kinds:
    """Those without which the plugin cannot work: no pod is scheduled before the API server serves them.

    Kubernetes' own kinds are left out where a version of it does not have them.
    """
    optional = _listed(name, plugin, "may_read")
    return tuple(kind for kind in kinds_read(name, plugin) if kind.PLURAL and kind not in optional)


def kinds_written(name: str, plugin: Any) -> dict[type[KubeObject], tuple[str, ...]]:
    """What `writes` of a plugin says: the kinds it writes, each with the verbs. Raises InputError that names it."""
    said = getattr(plugin, "writes", ())
    if isinstance(said, Mapping):
        return {_checked(name, plugin, "writes", kind): _verbs(name, plugin, kind, said[kind]) for kind in said}
    return {_checked(name, plugin, "writes", kind): ALL_WRITES for kind in _listed(name, plugin, "writes")}


def _verbs(name: str, plugin: Any, kind: type[KubeObject], said: Any) -> tuple[str, ...]:
    """What may be done to objects of a kind: a verb, or one with a subresource behind it (`patch/status`)."""
    problem = f"writes says {said!r} of {kind.KIND}: expected a tuple of {', '.join(_VERBS)}, with /status or the like"
    if not isinstance(said, tuple | list | set | frozenset):
        raise _undeclared(name, plugin, problem)
    for verb in said:
        known = verb.partition("/")[0] if isinstance(verb, str) else ""
        if known not in _VERBS:
            raise _undeclared(name, plugin, f"{problem}{did_you_mean(known, _VERBS)}")
    return tuple(said)


def _listed(name: str, plugin: Any, attribute: str) -> Iterable[Any]:
    said = getattr(plugin, attribute, ())
    if isinstance(said, tuple | list | set | frozenset):
        return said
    raise _undeclared(name, plugin, f"{attribute} is {said!r}: expected a tuple of kinds")


def _checked(name: str, plugin: Any, attribute: str, kind: Any) -> type[KubeObject]:
    if isinstance(kind, type) and issubclass(kind, KubeObject) and kind.KIND:
        return kind
    problem = f"{attribute} has {kind!r}: expected a kind of moorage.objects, a class of your own or custom_kind(...)"
    raise _undeclared(name, plugin, problem)


def _undeclared(name: str, plugin: Any, problem: str) -> InputError:
    where = place_of(plugin if isinstance(plugin, type) else type(plugin))
    return InputError(f"{problem}{where}", where=f"plugin {name}")
