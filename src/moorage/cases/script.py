"""What happens in a script: the objects there are at first, then step after step."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from moorage.cases.reading import read_list, read_objects, read_text
from moorage.errors import InputError
from moorage.objects import KubeObject

_FIELDS: Final = ("create", "update", "delete", "advance")


@dataclass(frozen=True)
class Step:
    """One step: objects that appear, change or go; or seconds that pass."""

    create: tuple[KubeObject, ...] = ()
    update: tuple[KubeObject, ...] = ()
    #: (resource, key): ("pods", "default/web").
    delete: tuple[tuple[str, str], ...] = ()
    seconds: int = 1


def read_script(value: Any) -> list[Step]:
    """`case.script`. Raises InputError that names the field."""
    return [_step(tree, f"case.script[{index}]") for index, tree in enumerate(read_list(value, "case.script"))]


def _step(tree: Any, where: str) -> Step:
    if not isinstance(tree, Mapping):
        raise InputError(f"expected an object, got {type(tree).__name__}", where=where)
    given = [field for field in _FIELDS if field in tree]
    if len(given) != 1 or len(tree) != 1:
        raise InputError(
            f"expected one of {', '.join(_FIELDS)}, got {', '.join(map(str, tree)) or 'none'}", where=where
        )
    field = given[0]
    value, at = tree[field], f"{where}.{field}"
    if field == "advance":
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"expected seconds, at least 1, got {value!r}", where=at)
        return Step(seconds=value)
    items = read_list(value, at)
    if field == "delete":
        return Step(delete=tuple(_path(item, f"{at}[{index}]") for index, item in enumerate(items)))
    objects = tuple(read_objects(items, at))
    return Step(create=objects) if field == "create" else Step(update=objects)


def _path(value: Any, where: str) -> tuple[str, str]:
    resource, slash, key = read_text(value, where).partition("/")
    if not (resource and slash and key):
        raise InputError(f"expected pods/namespace/name or nodes/name, got {value!r}", where=where)
    return resource, key
