"""Sets of fields: which manager owns what, as paths and as the fieldsV1 of managedFields.

A path is a tuple of steps: `f:NAME` a field, `k:{...}` an element by its keys, `v:VALUE` an element of a set.
"""

from typing import Any

from moorage.apiserver.history import encode
from moorage.apiserver.patch.shapes import KEYED, MAP, SET, Shape

Json = dict[str, Any]
Path = tuple[str, ...]
Paths = frozenset[Path]

#: Stands for the value of an element that has fields of its own.
PRESENT = object()

_NOBODYS = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "generation",
            "managedFields",
            "resourceVersion",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        )
    }
)


def leaves(value: Any, shape: Shape) -> dict[Path, Any]:
    """Every field that can be owned, and its value. What every object has belongs to nobody."""
    found: dict[Path, Any] = {}
    _collect(value, shape, (), found)
    return {path: leaf for path, leaf in found.items() if path[:2] not in _NOBODYS and path not in _NOBODYS}


def _collect(value: Any, shape: Shape, path: Path, found: dict[Path, Any]) -> None:
    kind = shape.kind
    if kind == MAP and isinstance(value, dict) and value:
        for name, inner in value.items():
            _collect(inner, shape.child(name), (*path, f"f:{name}"), found)
    elif kind == KEYED and isinstance(value, list) and value:
        for element in value:
            here = (*path, key_step(element, shape))
            found[here] = PRESENT
            _collect(element, shape.element(), here, found)
    elif kind == SET and isinstance(value, list) and value:
        for element in value:
            found[(*path, f"v:{encode(element).decode()}")] = PRESENT
    elif path:
        found[path] = value


def key_step(element: Any, shape: Shape) -> str:
    """The step to an element: its keys and their values."""
    keys = {}
    for name in shape.keys:
        value = element.get(name) if isinstance(element, dict) else None
        value = shape.default_key(name) if value is None else value
        if value is not None:
            keys[name] = value
    return f"k:{encode(dict(sorted(keys.items()))).decode()}"


def to_fields(paths: Paths) -> Json:
    """Paths as fieldsV1."""
    root: Json = {}
    for path in sorted(paths):
        node = root
        for step in path:
            node = node.setdefault(step, {})
        node["."] = {}
    return _tidy(root)


def _tidy(node: Json) -> Json:
    """A dot says that a node with fields below is owned itself; one without needs none."""
    if node.keys() == {"."}:
        return {}
    return {step: inner if step == "." else _tidy(inner) for step, inner in node.items()}


def from_fields(fields: Any, path: Path = ()) -> Paths:
    """fieldsV1 as paths."""
    if not isinstance(fields, dict) or not fields:
        return frozenset({path}) if path else frozenset()
    found: set[Path] = set()
    for step, inner in fields.items():
        if step == ".":
            found.add(path)
        else:
            found |= from_fields(inner, (*path, step))
    return frozenset(found)


def path_text(path: Path) -> str:
    """A path for people: `.spec.containers[name="main"].image`."""
    parts = []
    for step in path:
        kind, rest = step[:2], step[2:]
        if kind == "f:":
            parts.append(f".{rest}")
        elif kind == "k:":
            inner = rest.strip("{}").replace('":', "=").replace('"', "", 1).replace(',"', ",")
            parts.append(f"[{inner}]")
        else:
            parts.append(f"[={rest}]")
    return "".join(parts)
