"""Rules for the schemas of definitions: they must be structural, so that pruning and defaulting are possible."""

import re
from typing import Any

from moorage.apiserver.crd.schema import INT_OR_STRING, PRESERVE, compile_pattern, validate
from moorage.apiserver.fields.conform import Mismatch, conform
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.rules import not_negative

Json = dict[str, Any]

_STRUCT = "apiextensions/v1.JSONSchemaProps"
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_COUNTS = ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties")
_STRUCTURE = ("type", "default", "additionalProperties", "nullable", PRESERVE)


def validate_structural(schema: Json, path: str, faults: Faults, *, is_root: bool = True) -> None:
    """Every value has a type, everything below is structural too."""
    kind = schema.get("type")
    if is_root and kind != "object":
        faults.invalid(f"{path}.type", kind or "", "must be object")
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        faults.required(f"{path}.type", "must not be empty for specified object fields")
    elif kind and kind not in _TYPES:
        faults.not_supported(f"{path}.type", kind, _TYPES)
    _validate_keywords(schema, path, faults)
    _validate_children(schema, path, faults)
    allows_types = bool(schema.get(INT_OR_STRING))
    for name in ("allOf", "anyOf", "oneOf"):
        for position, each in enumerate(schema.get(name, ())):
            _validate_restriction(each, f"{path}.{name}[{position}]", faults, allows_types=allows_types)
    if "not" in schema:
        _validate_restriction(schema["not"], f"{path}.not", faults, allows_types=False)
    if "default" in schema and not faults:
        validate(schema["default"], schema, f"{path}.default", faults)


def _validate_children(schema: Json, path: str, faults: Faults) -> None:
    properties, extra, items = schema.get("properties"), schema.get("additionalProperties"), schema.get("items")
    if properties and extra is not None:
        faults.forbidden(f"{path}.additionalProperties", "must not be used together with properties")
    for name, inner in (properties or {}).items():
        if name != "metadata" or not path.endswith("openAPIV3Schema"):
            validate_structural(inner, f"{path}.properties[{name}]", faults, is_root=False)
    if extra is not None and not isinstance(extra, bool) and _is_schema(extra, f"{path}.additionalProperties", faults):
        validate_structural(extra, f"{path}.additionalProperties", faults, is_root=False)
    if schema.get("type") == "array" and items is None:
        faults.required(f"{path}.items", "must be specified")
    elif items is not None and _is_schema(items, f"{path}.items", faults):
        validate_structural(items, f"{path}.items", faults, is_root=False)
    if schema.get("x-kubernetes-list-type") == "map" and not schema.get("x-kubernetes-list-map-keys"):
        faults.required(f"{path}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map")


def _is_schema(value: Any, path: str, faults: Faults) -> bool:
    """Whether a part that may be several things is a schema with the right types."""
    if not isinstance(value, dict):
        faults.forbidden(path, "must be a schema object")
        return False
    try:
        conform(value, _STRUCT)
    except Mismatch as error:
        faults.invalid(path, "", error.describe("JSONSchemaProps"))
        return False
    return True


def _validate_restriction(schema: Json, path: str, faults: Faults, *, allows_types: bool) -> None:
    """A schema inside a combination only restricts: it defines no structure of its own."""
    for name in _STRUCTURE:
        if name in schema and not (allows_types and name == "type"):
            faults.forbidden(f"{path}.{name}", "must be empty to be structural")
    _validate_keywords(schema, path, faults)
    for name, inner in schema.get("properties", {}).items():
        _validate_restriction(inner, f"{path}.properties[{name}]", faults, allows_types=False)
    items = schema.get("items")
    if items is not None and _is_schema(items, f"{path}.items", faults):
        _validate_restriction(items, f"{path}.items", faults, allows_types=False)
    for name in ("allOf", "anyOf", "oneOf"):
        for position, each in enumerate(schema.get(name, ())):
            _validate_restriction(each, f"{path}.{name}[{position}]", faults, allows_types=False)
    if "not" in schema:
        _validate_restriction(schema["not"], f"{path}.not", faults, allows_types=False)


def _validate_keywords(schema: Json, path: str, faults: Faults) -> None:
    for name in _COUNTS:
        not_negative(schema.get(name), f"{path}.{name}", faults)
    if "pattern" in schema:
        try:
            compile_pattern(schema["pattern"])
        except re.error as error:
            problem = f"must be a valid regular expression, but isn't: {error}"
            faults.invalid(f"{path}.pattern", schema["pattern"], problem)
