"""Merging an applied configuration into an object, and taking away what is no longer applied."""

from typing import Any

from moorage.apiserver.history import encode
from moorage.apiserver.patch.ownership import Path, Paths, key_step
from moorage.apiserver.patch.shapes import KEYED, MAP, SET, Shape

Json = dict[str, Any]


def merge(live: Any, applied: Any, shape: Shape) -> Any:
    """The live value with the applied one merged in. The live value is changed in place where it can be."""
    kind = shape.kind
    if kind == MAP and isinstance(applied, dict) and isinstance(live, dict):
        for name, inner in applied.items():
            live[name] = merge(live[name], inner, shape.child(name)) if name in live else inner
        return live
    if kind == KEYED and isinstance(applied, list) and isinstance(live, list):
        return _merge_keyed(live, applied, shape)
    if kind == SET and isinstance(applied, list) and isinstance(live, list):
        return live + [element for element in applied if element not in live]
    return applied


def _merge_keyed(live: list[Any], applied: list[Any], shape: Shape) -> list[Any]:
    positions = {key_step(element, shape): position for position, element in enumerate(live)}
    for element in applied:
        position = positions.get(key_step(element, shape))
        if position is None:
            live.append(element)
        else:
            live[position] = merge(live[position], element, shape.element())
    return live


def remove(value: Any, paths: Paths, kept: Paths, shape: Shape, here: Path = ()) -> Any:
    """The value without the fields at these paths; an element stays while something below it is kept."""
    relevant = frozenset(path for path in paths if path[: len(here)] == here)
    if not relevant:
        return value
    kind = shape.kind
    if kind == MAP and isinstance(value, dict):
        return _remove_fields(value, relevant, kept, shape, here)
    if kind == KEYED and isinstance(value, list):
        remaining = []
        for element in value:
            step = (*here, key_step(element, shape))
            if step in relevant and not _has_below(kept, step):
                continue
            remaining.append(remove(element, relevant, kept, shape.element(), step))
        return remaining
    if kind == SET and isinstance(value, list):
        return [e for e in value if (*here, f"v:{encode(e).decode()}") not in relevant]
    return value


def _remove_fields(value: Json, paths: Paths, kept: Paths, shape: Shape, here: Path) -> Json:
    for name in list(value):
        step = (*here, f"f:{name}")
        if step in paths and not _has_below(kept, step):
            del value[name]
        elif any(path[: len(step)] == step for path in paths):
            value[name] = remove(value[name], paths, kept, shape.child(name), step)
            # What only held removed fields goes with them.
            if value[name] in ({}, []) and not _has_below(kept, step):
                del value[name]
    return value


def _has_below(paths: Paths, step: Path) -> bool:
    return any(path[: len(step)] == step for path in paths)
