"""Decodes Kubernetes' protobuf into the same dicts that JSON gives, by the field table.

Stock components write built-in kinds this way by default. Answers are always JSON, which they accept.
"""

import base64
import datetime
import struct as packing
from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.apiserver.fields.schema import Field, Type, struct

Json = dict[str, Any]

MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Malformed(Exception):
    """Bytes that are not the protobuf they should be."""


def decode(body: bytes, struct_name: str) -> Json:
    """The object in an envelope: magic bytes, type, and the object's own bytes."""
    if body[:4] != MAGIC:
        raise Malformed("the body lacks the prefix of Kubernetes' protobuf")
    type_meta, raw = b"", b""
    for number, wire, value in _fields(body[4:]):
        if wire == _BYTES and number == 1:
            type_meta = value
        elif wire == _BYTES and number == 2:
            raw = value
    names = {number: _text(value) for number, wire, value in _fields(type_meta) if wire == _BYTES}
    obj = _message(raw, struct_name)
    return {"kind": names.get(2, ""), "apiVersion": names.get(1, ""), **obj}


def _message(data: bytes, name: str) -> Json:
    by_number = {field.number: field for field in struct(name).own if field.number}
    obj: Json = {}
    for number, wire, value in _fields(data):
        field = by_number.get(number)
        if field is not None:
            _store(obj, field, wire, value)
    return obj


def _store(obj: Json, field: Field, wire: int, value: Any) -> None:
    kind = field.type
    if field.is_inline:
        obj.update(_message(_need_bytes(value, wire), kind.struct))
    elif kind.is_map:
        assert kind.element is not None
        key, inner = _entry(_need_bytes(value, wire), kind.element)
        obj.setdefault(field.name, {})[key] = inner
    elif kind.is_wrapped:
        obj[field.name] = _wrapped(_need_bytes(value, wire))
    elif kind.is_list:
        assert kind.element is not None
        obj.setdefault(field.name, []).append(_value(wire, value, kind.element))
    else:
        decoded = _value(wire, value, kind)
        # Go writes zero values of plain fields too; JSON leaves them out.
        if field.is_pointer or field.is_kept or not _is_zero(decoded):
            obj[field.name] = decoded


def _is_zero(value: Any) -> bool:
    return value is None or value is False or value == "" or value == 0 or value == {}


def _wrapped(data: bytes) -> list[str]:
    return [_text(value) for number, wire, value in _fields(data) if number == 1 and wire == _BYTES]


def _entry(data: bytes, element: Type) -> tuple[str, Any]:
    key: str = ""
    inner: Any = _zero(element)
    for number, wire, value in _fields(data):
        if number == 1:
            key = _text(_need_bytes(value, wire))
        elif number == 2:
            inner = _wrapped(_need_bytes(value, wire)) if element.is_wrapped else _value(wire, value, element)
    return key, inner


def _zero(element: Type) -> Any:
    if element.struct:
        return {}
    if element.is_wrapped:
        return []
    return {"Quantity": "0", "string": "", "bytes": "", "bool": False}.get(element.name, 0)


def _value(wire: int, value: Any, kind: Type) -> Any:
    if kind.struct:
        return _message(_need_bytes(value, wire), kind.struct)
    name = kind.name
    if name == "bool":
        return bool(_need_number(value, wire))
    if name in ("int32", "int64"):
        number = _need_number(value, wire)
        return number - (1 << 64) if number >= 1 << 63 else number
    if name == "float64":
        return _double(value, wire)
    data = _need_bytes(value, wire)
    if name == "string":
        return _text(data)
    if name == "bytes":
        return base64.b64encode(data).decode()
    return _special(name, data)


def _special(name: str, data: bytes) -> Any:
    parts = {number: value for number, _, value in _fields(data)}
    if name == "Quantity":
        return _text(parts.get(1, b"")) or "0"
    if name in ("Time", "MicroTime"):
        return _time(parts, is_micro=name == "MicroTime")
    if name == "IntOrString":
        return _text(parts.get(3, b"")) if parts.get(1, 0) == 1 else _signed(parts.get(2, 0))
    if name == "Duration":
        return f"{_signed(parts.get(1, 0)) / 1e9:g}s"
    raw = parts.get(1, b"")
    try:
        return msgspec.json.decode(raw) if raw else None
    except msgspec.DecodeError as error:
        raise Malformed("embedded JSON does not parse") from error


def _time(parts: dict[int, Any], *, is_micro: bool) -> str | None:
    seconds, nanos = _signed(parts.get(1, 0)), _signed(parts.get(2, 0))
    if not parts or seconds <= -62135596800:
        return None
    try:
        stamp = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise Malformed("a time out of range") from error
    text = stamp.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{nanos // 1000:06d}Z" if is_micro else f"{text}Z"


def _signed(number: Any) -> int:
    if not isinstance(number, int):
        raise Malformed("expected a number")
    return number - (1 << 64) if number >= 1 << 63 else number


def _double(value: Any, wire: int) -> float:
    if wire != _FIXED64:
        raise Malformed("expected a double")
    number: float = packing.unpack("<d", value.to_bytes(8, "little"))[0]
    return number


def _need_bytes(value: Any, wire: int) -> bytes:
    if wire != _BYTES:
        raise Malformed("expected bytes")
    data: bytes = value
    return data


def _need_number(value: Any, wire: int) -> int:
    if wire != _VARINT:
        raise Malformed("expected a number")
    number: int = value
    return number


def _text(data: Any) -> str:
    if not isinstance(data, bytes):
        raise Malformed("expected a string")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Malformed("a string that is not UTF-8") from error


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Each field of a message: number, wire type, and a number or bytes."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        value: Any
        if wire == _VARINT:
            value, position = _varint(data, position)
        elif wire == _BYTES:
            length, position = _varint(data, position)
            value, position = data[position : position + length], position + length
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
            value, position = int.from_bytes(data[position : position + size], "little"), position + size
        else:
            raise Malformed(f"unknown wire type {wire}")
        if position > end:
            raise Malformed("the message ends early")
        yield number, wire, value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise Malformed("the message ends early")
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
        shift += 7
