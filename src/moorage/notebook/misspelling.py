"""Fields that no kind has: an API server would refuse or drop them, and nobody here would ever look at them."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from moorage.apiserver.fields.schema import Type, struct
from moorage.apiserver.kinds import BUILT_IN
from moorage.errors import did_you_mean

_POSITION = re.compile(r"\[\d+]")


def unknown_fields(tree: Mapping[str, Any]) -> Iterator[str]:
    """For each field that is unknown its path and, where there is one near, the field that was meant.

    Of kinds that are not built in nothing is known.
    """
    name = _structs().get((str(tree.get("apiVersion", "")), str(tree.get("kind", ""))))
    if name is not None:
        yield from _unknown(tree, Type(struct=name), "")


def alike(told: str) -> str:
    """What is said of many objects, without their positions."""
    return _POSITION.sub("[]", told)


def _unknown(value: Any, kind: Type, path: str) -> Iterator[str]:
    if kind.struct and isinstance(value, Mapping):
        fields = struct(kind.struct).fields
        for key, inner in value.items():
            here = f"{path}.{key}" if path else str(key)
            if key in fields:
                yield from _unknown(inner, fields[key].type, here)
            else:
                yield f"{here}: unknown field{did_you_mean(str(key), fields)}"
    elif kind.is_list and kind.element is not None and isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _unknown(inner, kind.element, f"{path}[{position}]")
    elif kind.is_map and kind.element is not None and isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _unknown(inner, kind.element, f"{path}.{key}")


@cache
def _structs() -> Mapping[tuple[str, str], str]:
    groups = {kind: f"{kind.group}/{kind.version}" if kind.group else kind.version for kind in BUILT_IN}
    return {(group, kind.kind): kind.struct for kind, group in groups.items() if kind.struct}
