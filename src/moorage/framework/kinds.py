"""The kinds of object a plugin declares: `reads` and `writes`, checked where they are used."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from moorage.errors import InputError
from moorage.objects import KubeObject

Kinds = tuple[type[KubeObject], ...]

ALL_WRITES: Final = ("create", "delete", "patch", "update")


def kinds_read(name: str, plugin: Any) -> Kinds:
    """What `reads` of a plugin says: the kinds that must be followed for it. Raises InputError that names it."""
    return tuple(_checked(name, "reads", kind) for kind in _listed(name, "reads", getattr(plugin, "reads", ())))


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
