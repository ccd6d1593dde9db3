"""The kinds of object a plugin declares (`reads`, `may_read`, `writes`), checked where they are used."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from moorage.errors import InputError
from moorage.framework.registrations import registrations_of
from moorage.objects import KubeObject, Node, Pod

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
