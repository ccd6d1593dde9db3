"""Encodes an OpenAPI v2 document as protobuf, the one form in which kubectl asks for it.

A message is written as a table: what stands under a JSON key goes into a numbered field, by an encoder. Keys that
begin with `x-` go into the message's list of extensions, as YAML; keys that no table names are left out.
"""

import struct as packing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

ASKED_TYPE = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""What clients ask for holds an `@`, which they refuse in the answer's type."""

Json = dict[str, Any]
Encoder = Callable[[int, Any], bytes]

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def encode(document: Json) -> bytes:
    """The bytes of a whole document."""
    return _message(_DOCUMENT, document)


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def _tagged(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _text(number: int, value: Any) -> bytes:
    return _tagged(number, str(value).encode())


def _flag(number: int, value: Any) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(int(bool(value)))


def _integer(number: int, value: Any) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(int(value) % (1 << 64))


def _double(number: int, value: Any) -> bytes:
    return _varint(number << 3 | _FIXED64) + packing.pack("<d", value)


def _any(number: int, value: Any) -> bytes:
    """A value of no declared type, as YAML (of which JSON is a part)."""
    return _tagged(number, _tagged(2, msgspec.json.encode(value)))


def _each(encoder: Encoder) -> Encoder:
    return lambda number, values: b"".join(encoder(number, value) for value in values)


def _of(table: "Table | Callable[[], Table]") -> Encoder:
    """A message; a table that refers to itself is named by a function."""
    return lambda number, value: _tagged(number, _message(table() if callable(table) else table, value))


def _wrapped(encoder: Encoder, inner: int = 1) -> Encoder:
    """A message of which only one field is used."""
    return lambda number, value: _tagged(number, encoder(inner, value))


def _named(encoder: Encoder, inner: int = 1) -> Encoder:
    """A map: a message that repeats pairs of a name and a value."""

    def pairs(number: int, entries: Mapping[str, Any]) -> bytes:
        made = (_tagged(inner, _text(1, name) + encoder(2, value)) for name, value in entries.items())
        return _tagged(number, b"".join(made))

    return pairs


def _types(number: int, value: str | Iterable[str]) -> bytes:
    names = [value] if isinstance(value, str) else value
    return _tagged(number, _each(_text)(1, names))


def _additional(number: int, value: bool | Json) -> bytes:
    inner = _flag(2, value) if isinstance(value, bool) else _SCHEMA_MESSAGE(1, value)
    return _tagged(number, inner)


def _parameter(number: int, value: Json) -> bytes:
    is_body = value["in"] == "body"
    inner = _of(_BODY)(1, value) if is_body else _tagged(2, _of(_QUERY)(3, value))
    return _tagged(number, _tagged(1, inner))


class Table:
    """Where the values of a message's keys go: `key: (field number, encoder)`, and where its extensions go."""

    def __init__(self, extensions: int, **fields: tuple[int, Encoder]) -> None:
        self.extensions = extensions
        self.fields = fields


def _message(table: Table, value: Json) -> bytes:
    parts = []
    for key, inner in value.items():
        if key.startswith("x-"):
            parts.append(_tagged(table.extensions, _text(1, key) + _any(2, inner)))
        elif (found := table.fields.get(key.lstrip("$"))) is not None:
            number, encoder = found
            parts.append(encoder(number, inner))
    return b"".join(parts)


_SCHEMA_MESSAGE: Encoder = _of(lambda: _SCHEMA)

_SCHEMA: Table = Table(
    31,
    ref=(1, _text),
    format=(2, _text),
    title=(3, _text),
    description=(4, _text),
    default=(5, _any),
    multipleOf=(6, _double),
    maximum=(7, _double),
    exclusiveMaximum=(8, _flag),
    minimum=(9, _double),
    exclusiveMinimum=(10, _flag),
    maxLength=(11, _integer),
    minLength=(12, _integer),
    pattern=(13, _text),
    maxItems=(14, _integer),
    minItems=(15, _integer),
    uniqueItems=(16, _flag),
    maxProperties=(17, _integer),
    minProperties=(18, _integer),
    required=(19, _each(_text)),
    enum=(20, _each(_any)),
    additionalProperties=(21, _additional),
    type=(22, _types),
    items=(23, _wrapped(_SCHEMA_MESSAGE)),
    allOf=(24, _each(_SCHEMA_MESSAGE)),
    properties=(25, _named(_SCHEMA_MESSAGE)),
    example=(30, _any),
)
_BODY = Table(
    6,
    description=(1, _text),
    name=(2, _text),
    **{"in": (3, _text)},
    required=(4, _flag),
    schema=(5, _SCHEMA_MESSAGE),
)
_QUERY = Table(
    23,
    required=(1, _flag),
    **{"in": (2, _text)},
    description=(3, _text),
    name=(4, _text),
    type=(6, _text),
    uniqueItems=(20, _flag),
)
_RESPONSE = Table(5, description=(1, _text), schema=(2, _wrapped(_SCHEMA_MESSAGE)))
_OPERATION = Table(
    13,
    operationId=(5, _text),
    produces=(6, _each(_text)),
    consumes=(7, _each(_text)),
    parameters=(8, _each(_parameter)),
    responses=(9, _named(_wrapped(_of(_RESPONSE)))),
)
_PATH = Table(
    10,
    get=(2, _of(_OPERATION)),
    put=(3, _of(_OPERATION)),
    post=(4, _of(_OPERATION)),
    delete=(5, _of(_OPERATION)),
    patch=(8, _of(_OPERATION)),
)
_INFO = Table(7, title=(1, _text), version=(2, _text))
_DOCUMENT = Table(
    16,
    swagger=(1, _text),
    info=(2, _of(_INFO)),
    paths=(8, _named(_of(_PATH), 2)),
    definitions=(9, _named(_SCHEMA_MESSAGE)),
)
