"""The JSONPath of printer columns and scale paths: `.spec.replicas`, `.a[0].b`, `.c[?(@.type=="Ready")].status`."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_STEP = re.compile(
    r"\.(?P<name>[^.\[\]\s]+)"
    r"|\[(?P<index>-?\d+)\]"
    r"|\[(?P<all>\*)\]"
    r"|\[['\"](?P<quoted>[^'\"]*)['\"]\]"
    r"|\[\?\(@\.(?P<key>[^=!<>\s]+)\s*(?P<operator>==|!=)\s*(?P<value>[^)]*?)\s*\)\]"
)


#: Stands for a dot that does not end a step while a path is read.
_ESCAPED = "\x00"


class BadPath(ValueError):
    """A path that we cannot read."""


@dataclass(frozen=True, slots=True)
class _Step:
    name: str = ""
    index: int | None = None
    is_all: bool = False
    key: tuple[str, ...] = ()
    value: str = ""
    is_equal: bool = True


@lru_cache(maxsize=1024)
def parse(path: str) -> tuple[_Step, ...]:
    """The steps of a path. Raises BadPath."""
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$").replace("\\.", _ESCAPED)
    steps: list[_Step] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise BadPath(f"{path!r}: unexpected {text[position:]!r}")
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> _Step:
    if match["index"] is not None:
        return _Step(index=int(match["index"]))
    if match["all"]:
        return _Step(is_all=True)
    if match["key"] is not None:
        value = match["value"].strip("'\"")
        return _Step(key=tuple(match["key"].split(".")), value=value, is_equal=match["operator"] == "==")
    name = match["name"] if match["name"] is not None else match["quoted"]
    name = name.replace(_ESCAPED, ".")
    return _Step(is_all=True) if name == "*" else _Step(name=name)


def find(obj: Any, path: str) -> list[Any]:
    """Every value at a path."""
    found = [obj]
    for step in parse(path):
        found = [inner for value in found for inner in _take(value, step)]
    return found


def _take(value: Any, step: _Step) -> list[Any]:
    if step.name:
        return [value[step.name]] if isinstance(value, dict) and step.name in value else []
    if step.is_all:
        return list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    if not isinstance(value, list):
        return []
    if step.index is not None:
        return [value[step.index]] if -len(value) <= step.index < len(value) else []
    return [inner for inner in value if (_text(_read(inner, step.key)) == step.value) is step.is_equal]


def _read(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
