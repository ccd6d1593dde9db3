"""Functions over strings and regular expressions."""

import math
import re
from functools import lru_cache
from typing import Any

from moorage.cel.errors import EvaluationError
from moorage.cel.library import declare, elements, pattern, traversal

_UPPER = {ord(low): chr(ord(low) - 32) for low in "abcdefghijklmnopqrstuvwxyz"}
_LOWER = {ord(low) - 32: low for low in "abcdefghijklmnopqrstuvwxyz"}
_QUOTED = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"',
}  # fmt: skip
#: What Python's expressions have and those of the reference have not.
_FOREIGN = re.compile(r"(?<!\\)(?:\\\\)*(?:\(\?(?:[=!>]|<[=!]|\(|#|P=)|\\[1-9]|[*+?}]\+)")


@lru_cache(maxsize=1024)
def compiled(text: str) -> re.Pattern[str]:
    """A regular expression. Raises EvaluationError for one that the reference would not take."""
    try:
        if _FOREIGN.search(text):
            raise re.error("not supported")
        return re.compile(text, re.ASCII)
    except re.error as problem:
        raise EvaluationError(f"error parsing regexp: {problem}: `{text}`") from None


def _find(text: str, expression: str) -> str:
    found = compiled(expression).search(text)
    return found.group() if found else ""


def _find_all(text: str, expression: str, limit: int = -1) -> list[str]:
    found = [match.group() for match in compiled(expression).finditer(text)]
    return found if limit < 0 else found[:limit]


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        if part == "" and start == 0:
            return 0
        raise _out_of_range(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text.rfind(part, 0, start + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        end = len(text)
    elif start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, -1 if limit < 0 else limit)


def _split(text: str, by: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if by:
        return text.split(by, -1 if limit < 0 else limit - 1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _quote(text: str) -> str:
    return '"' + "".join(_QUOTED.get(character, character) for character in text) + '"'


def quoted(text: str) -> str:
    """A text as Go writes it into messages: in quotes, with escapes for what cannot be printed."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in _QUOTED:
        return _QUOTED[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _joined(_args: Any, result: Any) -> int:
    return math.ceil(len(result) * 2 * 0.1)


for _signature in ("size(string) -> int", "string::size() -> int", "size(bytes) -> int", "bytes::size() -> int"):
    declare(_signature, len)
declare(
    "string::contains(string) -> bool",
    lambda text, part: part in text,
    lambda args, _: math.ceil(len(args[0]) * 0.1) * math.ceil(len(args[1]) * 0.1),
)
declare("string::startsWith(string) -> bool", str.startswith, traversal(argument=1))
declare("string::endsWith(string) -> bool", str.endswith, traversal(argument=1))
declare("string::matches(string) -> bool", lambda text, by: compiled(by).search(text) is not None, pattern)
declare("matches(string, string) -> bool", lambda text, by: compiled(by).search(text) is not None, pattern)
declare("string::find(string) -> string", _find, pattern)
declare("string::findAll(string) -> list(string)", _find_all, pattern)
declare("string::findAll(string, int) -> list(string)", _find_all, pattern)
declare("string::charAt(int) -> string", _char_at)
declare("string::indexOf(string) -> int", _index_of, elements)
declare("string::indexOf(string, int) -> int", _index_of, elements)
declare("string::lastIndexOf(string) -> int", _last_index_of, elements)
declare("string::lastIndexOf(string, int) -> int", _last_index_of, elements)
declare("string::lowerAscii() -> string", lambda text: text.translate(_LOWER), traversal())
declare("string::upperAscii() -> string", lambda text: text.translate(_UPPER), traversal())
declare("string::substring(int) -> string", _substring, traversal())
declare("string::substring(int, int) -> string", _substring, traversal())
declare("string::trim() -> string", str.strip, traversal())
declare("string::replace(string, string) -> string", _replace, traversal(2))
declare("string::replace(string, string, int) -> string", _replace, traversal(2))
declare("string::split(string) -> list(string)", _split, traversal(2))
declare("string::split(string, int) -> list(string)", _split, traversal(2))
declare("list(string)::join() -> string", lambda items: "".join(items), _joined)
declare("list(string)::join(string) -> string", lambda items, by: by.join(items), _joined)
declare("strings.quote(string) -> string", _quote, traversal())
