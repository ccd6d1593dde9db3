"""OpenAPI documents, made from the field table, the kinds and the schemas of custom resources."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from moorage.apiserver import media, openapi_protobuf, status
from moorage.apiserver.fields.schema import Field, Type, struct
from moorage.apiserver.kinds import Kind
from moorage.apiserver.registry import ServedKind, ServedKinds

Json = dict[str, Any]
Found = tuple[bytes, str, dict[str, str]]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_SPECIALS: dict[str, tuple[str, Json]] = {
    "Quantity": ("io.k8s.apimachinery.pkg.api.resource.Quantity", {"oneOf": [{"type": "string"}, {"type": "number"}]}),
    "Time": (f"{_META}.Time", {"type": "string", "format": "date-time"}),
    "MicroTime": (f"{_META}.MicroTime", {"type": "string", "format": "date-time"}),
    "Duration": (f"{_META}.Duration", {"type": "string"}),
    "IntOrString": (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    "Any": ("io.k8s.apimachinery.pkg.runtime.RawExtension", {"x-kubernetes-preserve-unknown-fields": True}),
}
_SCALARS: dict[str, Json] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "float64": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
}
_WRITE_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation", "pretty")
_PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)


class OpenApi:
    """Answers /openapi/v2 and /openapi/v3. Documents are made when first asked for."""

    def __init__(self, registry: ServedKinds, release: str) -> None:
        self.registry = registry
        self._info = {"title": "Kubernetes", "version": release}
        self._generation = -1
        self._documents: dict[str, bytes] = {}

    def find(self, path: str, query: Mapping[str, str], accept: str) -> Found | None:
        """The document at a path, or None."""
        if not path.startswith("/openapi/v"):
            return None
        if self._generation != self.registry.generation:
            self._generation = self.registry.generation
            self._documents = {}
        form = _version2_form(accept) if path == "/openapi/v2" else media.JSON
        key = f"{path} {form}"
        body = self._documents.get(key)
        if body is None:
            document = self._make(path)
            if document is None:
                return None
            encode = media.encode if form == media.JSON else openapi_protobuf.encode
            body = self._documents[key] = encode(document)
        tag = hashlib.sha256(body).hexdigest().upper()
        headers = {"ETag": f'"{tag}"'}
        if "hash" in query:
            headers["Cache-Control"] = "public, immutable"
        return body, form, headers

    def _make(self, path: str) -> Json | None:
        if path == "/openapi/v2":
            return self._version2()
        if path == "/openapi/v3":
            names = sorted({_document_name(resource.kind) for resource in self.registry.resources()})
            generation = self.registry.generation
            return {"paths": {n: {"serverRelativeURL": f"/openapi/v3/{n}?hash={generation}"} for n in names}}
        name = path.removeprefix("/openapi/v3/")
        resources = [r for r in self.registry.resources() if _document_name(r.kind) == name]
        return self._version3(resources) if resources else None

    def _version3(self, resources: list[ServedKind]) -> Json:
        schemas = _Schemas("#/components/schemas/")
        paths: Json = {}
        for resource in resources:
            reference = schemas.kind(resource)
            paths |= _paths(resource.kind, lambda kind, ref=reference: _operations3(kind, ref))
        return {
            "openapi": "3.0.0",
            "info": self._info,
            "paths": paths,
            "components": {"schemas": schemas.made},
        }

    def _version2(self) -> Json:
        schemas = _Schemas("#/definitions/")
        paths: Json = {}
        for resource in self.registry.resources():
            reference = schemas.kind(resource)
            paths |= _paths(resource.kind, lambda kind, ref=reference: _operations2(kind, ref))
        return {
            "swagger": "2.0",
            "info": self._info,
            "paths": paths,
            "definitions": schemas.made,
        }


def _version2_form(accept: str) -> str:
    """The first form a client accepts that version 2 comes in; kubectl takes it in protobuf only."""
    for part in accept.split(",") if accept else ("*/*",):
        name = part.partition(";")[0].strip()
        if name in (openapi_protobuf.ASKED_TYPE, openapi_protobuf.MEDIA_TYPE):
            return openapi_protobuf.MEDIA_TYPE
        if name in (media.JSON, "*/*", "application/*"):
            return media.JSON
    raise status.not_acceptable((media.JSON, openapi_protobuf.MEDIA_TYPE))


def _document_name(kind: Kind) -> str:
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


class _Schemas:
    """Schemas by name, each made with all that it refers to."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.made: dict[str, Json] = {}

    def kind(self, resource: ServedKind) -> Json:
        """The schema of a kind, marked as such."""
        kind = resource.kind
        if resource.custom is not None:
            name = ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])
            self.made[name] = resource.custom.openapi_schema()
        else:
            name = _schema_name(kind.struct)
            self._struct(kind.struct)
        marks = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        self.made[name] = {**self.made[name], "x-kubernetes-group-version-kind": [marks]}
        return {"$ref": self.prefix + name}

    def _struct(self, struct_name: str) -> Json:
        name = _schema_name(struct_name)
        if name not in self.made:
            schema: Json = {"type": "object"}
            self.made[name] = schema  # before its fields, which may refer back to it
            fields = struct(struct_name).fields.values()
            if fields:
                schema["properties"] = {field.name: self._field(field) for field in fields}
            required = [field.name for field in fields if field.is_required]
            if required:
                schema["required"] = required
        return {"$ref": self.prefix + name}

    def _field(self, field: Field) -> Json:
        schema = self._type(field.type)
        if field.is_merged:
            schema["x-kubernetes-patch-strategy"] = "merge,retainKeys" if field.retains_keys else "merge"
        if field.merge_key:
            schema["x-kubernetes-patch-merge-key"] = field.merge_key
        if field.map_keys:
            schema["x-kubernetes-list-type"] = "map"
            schema["x-kubernetes-list-map-keys"] = list(field.map_keys)
        elif field.is_set:
            schema["x-kubernetes-list-type"] = "set"
        elif field.type.is_list:
            schema["x-kubernetes-list-type"] = "atomic"
        if field.is_atomic:
            schema["x-kubernetes-map-type"] = "atomic"
        return schema

    def _type(self, kind: Type) -> Json:
        if kind.struct:
            return self._struct(kind.struct)
        if kind.is_list and kind.element is not None:
            return {"type": "array", "items": self._type(kind.element)}
        if kind.is_map and kind.element is not None:
            return {"type": "object", "additionalProperties": self._type(kind.element)}
        if kind.name in _SCALARS:
            return dict(_SCALARS[kind.name])
        name, schema = _SPECIALS[kind.name]
        if self.prefix == "#/definitions/":  # version 2 has no oneOf
            schema = {"type": "string", **{k: v for k, v in schema.items() if k != "oneOf"}}
        self.made[name] = schema
        return {"$ref": self.prefix + name}


def _schema_name(struct_name: str) -> str:
    package, _, name = struct_name.rpartition(".")
    if package == "meta":
        return f"{_META}.{name}"
    if package.startswith("apiextensions/"):
        return f"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.{name}"
    return f"io.k8s.api.{package.replace('/', '.')}.{name}"


def _paths(kind: Kind, operations: Any) -> Json:
    base = f"/{_document_name(kind)}"
    prefix = f"{base}/namespaces/{{namespace}}/{kind.plural}" if kind.is_namespaced else f"{base}/{kind.plural}"
    on_all, on_one = operations(kind)
    paths: Json = {prefix: on_all}
    if on_one:
        paths[f"{prefix}/{{name}}"] = on_one
    for name in kind.subresources:
        if name in ("status", "scale"):
            paths[f"{prefix}/{{name}}/{name}"] = on_one
    if kind.is_namespaced and "list" in on_all.get("get", {}).get("x-kubernetes-action", ""):
        paths[f"{base}/{kind.plural}"] = {"get": on_all["get"]}
    return paths


def _marked(kind: Kind, action: str) -> Json:
    marks = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    name = f"{action}{kind.group.title().replace('.', '')}{kind.version.title()}{kind.kind}"
    return {"operationId": name, "x-kubernetes-action": action, "x-kubernetes-group-version-kind": marks}


def _verbs(kind: Kind) -> Iterable[tuple[str, str, str]]:
    """Method, action and whether it is on one object or on all, for each verb of a kind."""
    table = (
        ("list", "get", "all"),
        ("create", "post", "all"),
        ("deletecollection", "delete", "all"),
        ("get", "get", "one"),
        ("update", "put", "one"),
        ("patch", "patch", "one"),
        ("delete", "delete", "one"),
    )
    return [(verb, method, place) for verb, method, place in table if verb in kind.verbs]


_ACTIONS = {"create": "post", "update": "put"}


def _operations3(kind: Kind, reference: Json) -> tuple[Json, Json]:
    places: dict[str, Json] = {"all": {}, "one": {}}
    content = {media.JSON: {"schema": reference}}
    for verb, method, place in _verbs(kind):
        operation = _marked(kind, _ACTIONS.get(verb, verb))
        if verb in ("create", "update", "patch"):
            operation["parameters"] = [
                {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
                for name in _WRITE_PARAMETERS
            ]
            types = _PATCH_TYPES if verb == "patch" else ("*/*",)
            body: Json = {"type": "object"} if verb == "patch" else reference
            operation["requestBody"] = {"content": {each: {"schema": body} for each in types}, "required": True}
        operation["responses"] = {"200": {"description": "OK", "content": content}}
        places[place][method] = operation
    return places["all"], places["one"]


def _operations2(kind: Kind, reference: Json) -> tuple[Json, Json]:
    places: dict[str, Json] = {"all": {}, "one": {}}
    for verb, method, place in _verbs(kind):
        operation = _marked(kind, _ACTIONS.get(verb, verb))
        operation["produces"] = [media.JSON]
        operation["responses"] = {"200": {"description": "OK", "schema": reference}}
        if verb in ("create", "update", "patch"):
            operation["consumes"] = list(_PATCH_TYPES) if verb == "patch" else ["*/*"]
            body = {"type": "object"} if verb == "patch" else reference
            operation["parameters"] = [{"name": "body", "in": "body", "required": True, "schema": body}]
            operation["parameters"] += [
                {"name": name, "in": "query", "type": "string", "uniqueItems": True} for name in _WRITE_PARAMETERS
            ]
        places[place][method] = operation
    return places["all"], places["one"]
