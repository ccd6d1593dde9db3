"""Structural schemas: pruning, defaulting and validation of custom objects.

A schema is kept as the dict it came as: everything a definition may say is looked up where it is needed.
"""

import re
from functools import lru_cache
from typing import Any

from moorage.apiserver.crd.formats import FORMATS
from moorage.apiserver.history import encode
from moorage.apiserver.validation.faults import Faults

Json = dict[str, Any]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
_OBJECT_FIELDS = ("apiVersion", "kind", "metadata")


def prune(value: Any, schema: Json, path: str = "", *, is_object: bool = False) -> list[str]:
    """Drop what the schema does not know, in place; answer the paths dropped. Objects keep kind and metadata."""
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [found for n, inner in enumerate(value) for found in prune(inner, items, f"{path}[{n}]")]
    if not isinstance(value, dict):
        return []
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    keeps_all = bool(schema.get(PRESERVE)) or extra is True
    dropped: list[str] = []
    for key in list(value):
        here = f"{path}.{key}" if path else key
        if (is_object or schema.get(EMBEDDED)) and key in _OBJECT_FIELDS:
            continue
        if key in properties:
            dropped += prune(value[key], properties[key], here)
        elif isinstance(extra, dict):
            dropped += prune(value[key], extra, here)
        elif not keeps_all:
            del value[key]
            dropped.append(here)
    return dropped


def fill_defaults(value: Any, schema: Json) -> None:
    """Set what is missing and has a default, in place."""
    if isinstance(value, list):
        for inner in value:
            fill_defaults(inner, schema.get("items") or {})
    elif isinstance(value, dict):
        properties = schema.get("properties") or {}
        for key, inner in properties.items():
            if "default" in inner and (key not in value or (value[key] is None and not inner.get("nullable"))):
                value[key] = _copy(inner["default"])
            if key in value:
                fill_defaults(value[key], inner)
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            for key in value.keys() - properties.keys():
                fill_defaults(value[key], extra)


def drop_nulls(value: Any, schema: Json) -> None:
    """Remove nulls where the schema allows none, in place: they count as absent."""
    if isinstance(value, list):
        for inner in value:
            drop_nulls(inner, schema.get("items") or {})
    elif isinstance(value, dict):
        for key, inner in (schema.get("properties") or {}).items():
            if key in value:
                if value[key] is None and not inner.get("nullable"):
                    del value[key]
                else:
                    drop_nulls(value[key], inner)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def validate(value: Any, schema: Json, path: str, faults: Faults) -> None:
    """Refuse a value that breaks its schema."""
    if value is None and schema.get("nullable"):
        return
    if not _has_type(value, schema):
        wanted = "integer,string" if schema.get(INT_OR_STRING) else schema.get("type", "")
        found = _type_name(value)
        message = f'{_name(path)} in body must be of type {wanted}: "{found}"'
        faults.type_invalid(path, found if isinstance(value, dict | list) or value is None else value, message)
        return
    if "enum" in schema and value not in schema["enum"]:
        faults.not_supported(path, value, [_enum_text(each) for each in schema["enum"]])
    if isinstance(value, str):
        _validate_string(value, schema, path, faults)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _validate_number(value, schema, path, faults)
    elif isinstance(value, list):
        _validate_list(value, schema, path, faults)
    elif isinstance(value, dict):
        _validate_map(value, schema, path, faults)
    _validate_combinations(value, schema, path, faults)


def _name(path: str) -> str:
    return path or "<nil>"


def _enum_text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")


def _has_type(value: Any, schema: Json) -> bool:
    if schema.get(INT_OR_STRING):
        return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
    wanted, found = schema.get("type"), _type_name(value)
    if not wanted or wanted == found:
        return True
    if wanted == "number":
        return found == "integer"
    return wanted == "integer" and found == "number" and float(value).is_integer()


def _validate_string(value: str, schema: Json, path: str, faults: Faults) -> None:
    if len(value) > schema.get("maxLength", len(value)):
        faults.too_long(path, schema["maxLength"])
    if len(value) < schema.get("minLength", 0):
        faults.invalid(path, value, f"{path} in body should be at least {schema['minLength']} chars long")
    if "pattern" in schema and not compile_pattern(schema["pattern"]).search(value):
        faults.invalid(path, value, f"{path} in body should match '{schema['pattern']}'")
    check = FORMATS.get(schema.get("format", ""))
    if check is not None and not check(value):
        faults.invalid(path, value, f'{path} in body must be of type {schema["format"]}: "{value}"')


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A regular expression of a schema. Raises re.error for what is none."""
    return re.compile(re.sub(r"\\z", r"\\Z", pattern), re.ASCII)


def _validate_number(value: float, schema: Json, path: str, faults: Faults) -> None:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None:
        if schema.get("exclusiveMinimum"):
            if value <= low:
                faults.invalid(path, value, f"{path} in body should be greater than {low}")
        elif value < low:
            faults.invalid(path, value, f"{path} in body should be greater than or equal to {low}")
    if high is not None:
        if schema.get("exclusiveMaximum"):
            if value >= high:
                faults.invalid(path, value, f"{path} in body should be less than {high}")
        elif value > high:
            faults.invalid(path, value, f"{path} in body should be less than or equal to {high}")
    step = schema.get("multipleOf")
    if step and value % step:
        faults.invalid(path, value, f"{path} in body should be a multiple of {step}")
    bits = {"int32": 31, "int64": 63}.get(schema.get("format", ""))
    if bits and not -(1 << bits) <= value < (1 << bits):
        faults.invalid(path, value, f"{path} in body must be of type {schema['format']}")


def _validate_list(value: list[Any], schema: Json, path: str, faults: Faults) -> None:
    if len(value) > schema.get("maxItems", len(value)):
        faults.too_many(path, len(value), schema["maxItems"])
    if len(value) < schema.get("minItems", 0):
        faults.invalid(path, value, f"{path} in body should have at least {schema['minItems']} items")
    items = schema.get("items") or {}
    for position, inner in enumerate(value):
        validate(inner, items, f"{path}[{position}]", faults)
    _validate_unique(value, schema, path, faults)


def _validate_unique(value: list[Any], schema: Json, path: str, faults: Faults) -> None:
    kind = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys", ())
    if kind not in ("set", "map") and not schema.get("uniqueItems"):
        return
    properties = (schema.get("items") or {}).get("properties") or {}
    seen = set()
    for position, inner in enumerate(value):
        identity = inner
        if kind == "map" and isinstance(inner, dict):
            identity = {key: inner.get(key, properties.get(key, {}).get("default")) for key in keys}
        text = encode(identity)
        if text in seen:
            faults.duplicate(f"{path}[{position}]", identity)
        seen.add(text)


def _validate_map(value: Json, schema: Json, path: str, faults: Faults) -> None:
    if len(value) > schema.get("maxProperties", len(value)):
        faults.too_many(path, len(value), schema["maxProperties"])
    if len(value) < schema.get("minProperties", 0):
        least = schema["minProperties"]
        faults.invalid(path, value, f"{_name(path)} in body should have at least {least} properties")
    for name in schema.get("required", ()):
        if name not in value:
            faults.required(_child(path, name))
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    for key, inner in value.items():
        if key in properties:
            validate(inner, properties[key], _child(path, key), faults)
        elif isinstance(extra, dict):
            validate(inner, extra, _child(path, key), faults)


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _validate_combinations(value: Any, schema: Json, path: str, faults: Faults) -> None:
    for each in schema.get("allOf", ()):
        validate(value, each, path, faults)
    if "anyOf" in schema and not any(_fits(value, each) for each in schema["anyOf"]):
        faults.invalid(path, value, f"{_name(path)} in body must validate at least one schema (anyOf)")
    if "oneOf" in schema:
        count = sum(_fits(value, each) for each in schema["oneOf"])
        if count != 1:
            found = "none" if count == 0 else str(count)
            faults.invalid(
                path, value, f"{_name(path)} in body must validate one and only one schema (oneOf). Found {found} valid"
            )
    if "not" in schema and _fits(value, schema["not"]):
        faults.invalid(path, value, f"{_name(path)} in body must not validate the schema (not)")


def _fits(value: Any, schema: Json) -> bool:
    faults = Faults()
    validate(value, schema, "", faults)
    return not faults
