"""From the text of an expression to tokens."""

import re
from dataclasses import dataclass
from typing import Any

from moorage.cel.errors import CompileError
from moorage.cel.values import UInt

RESERVED = frozenset(
    {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"}
    | {"namespace", "return", "var", "void", "while"}
)
_WORDS = {"true": True, "false": False, "null": None}

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<text>[bB]?[rR]?(?:\"{3}|'{3}|\"|')|[rR][bB](?:\"{3}|'{3}|\"|'))
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<int>0x[0-9a-fA-F]+[uU]?|[0-9]+[uU]?)
    |(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%!?:.,()\[\]{}<>])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(
    r"\\(?:[xX](?P<hex>[0-9a-fA-F]{2})|u(?P<four>[0-9a-fA-F]{4})|U(?P<eight>[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-3][0-7]{2})|(?P<plain>[abfnrtv\\?\"'`]))|\\"
)
_PLAIN = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text: `kind` is "literal", "name", "in", a sign itself, or "end"."""

    kind: str
    value: Any
    at: int


def tokens(source: str) -> list[Token]:
    """All tokens, the last of kind "end". Raises CompileError."""
    found: list[Token] = []
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            raise CompileError(f"Syntax error: token recognition error at: '{source[position]}'", source, position)
        start, position = position, match.end()
        kind, text = match.lastgroup, match.group()
        if kind == "text":
            value, position = _text(source, start, text)
            found.append(Token("literal", value, start))
        elif kind == "float":
            found.append(Token("literal", float(text), start))
        elif kind == "int":
            found.append(Token("literal", _whole(text), start))
        elif kind == "name" and text in _WORDS:
            found.append(Token("literal", _WORDS[text], start))
        elif kind == "name":
            found.append(Token("in" if text == "in" else "name", text, start))
        elif kind == "sign":
            found.append(Token(text, text, start))
    found.append(Token("end", "<EOF>", len(source)))
    return found


def _whole(text: str) -> int:
    digits = text.rstrip("uU")
    value = int(digits, 16) if digits.startswith("0x") else int(digits)
    return UInt(value) if digits != text else value


def _text(source: str, start: int, opening: str) -> tuple[str | bytes, int]:
    """The value of the quoted text that opens at `start`, and where it ends."""
    prefix = opening.rstrip("\"'").lower()
    quote = opening[len(prefix) :]
    raw, is_bytes = "r" in prefix, "b" in prefix
    position = begin = start + len(opening)
    while not source.startswith(quote, position):
        if position >= len(source) or (len(quote) == 1 and source[position] == "\n"):
            raise CompileError(f"Syntax error: token recognition error at: '{source[start:]}'", source, start)
        position += 2 if source[position] == "\\" and not raw else 1
    content = source[begin:position]
    value: str | bytes
    if is_bytes:
        value = content.encode() if raw else _unescaped_bytes(content, source, begin)
    else:
        value = content if raw else _ESCAPE.sub(lambda found: _character(found, source, begin), content)
    return value, position + len(quote)


def _unescaped_bytes(content: str, source: str, begin: int) -> bytes:
    parts: list[bytes] = []
    last = 0
    for found in _ESCAPE.finditer(content):
        parts.append(content[last : found.start()].encode())
        character = _character(found, source, begin)
        parts.append(bytes([ord(character)]) if found["hex"] or found["octal"] else character.encode())
        last = found.end()
    parts.append(content[last:].encode())
    return b"".join(parts)


def _character(found: re.Match[str], source: str, begin: int) -> str:
    if found["plain"]:
        return _PLAIN.get(found["plain"], found["plain"])
    if found["octal"]:
        return chr(int(found["octal"], 8))
    code = found["hex"] or found["four"] or found["eight"]
    if code is None or int(code, 16) > 0x10FFFF:
        raise CompileError("Syntax error: invalid escape in text", source, begin + found.start())
    return chr(int(code, 16))
