"""Items as answers: whole objects, lists, watch lines, tables, metadata alone; in JSON or YAML."""

import base64
from collections.abc import Iterable
from typing import Any

import msgspec

from moorage.apiserver import media, status
from moorage.apiserver.history import Item
from moorage.apiserver.media import Answer
from moorage.apiserver.registry import ServedKind, ServedKinds
from moorage.apiserver.status import Refusal
from moorage.apiserver.tables.rows import fallback_table, table_columns, table_row

Json = dict[str, Any]

_encode = msgspec.json.Encoder().encode


class Presenter:
    """Writes items of one resource in the form one client asked for.

    `key` tells forms apart: two presenters with equal keys write the same bytes."""

    def __init__(self, registry: ServedKinds, resource: ServedKind, answer: Answer, include: str = "") -> None:
        self.registry = registry
        self.resource = resource
        self.answer = answer
        self.include = include or "Metadata"
        self.is_raw = answer.is_plain and resource.from_stored is None
        self.key = "raw" if self.is_raw else (resource.kind.api_version, answer, self.include)

    @property
    def content_type(self) -> str:
        """The Content-Type of the answer."""
        return self.answer.media_type

    def one(self, item: Item) -> bytes:
        """One object."""
        if self.is_raw:
            return item.data
        return media.encode(self._shaped(item), self.answer)

    def objects(self, items: Iterable[Item], revision: int, token: str = "", remaining: int | None = None) -> bytes:
        """A list of objects at a revision, with the token and count of what is left, if any."""
        metadata: Json = {"resourceVersion": str(revision)}
        if token:
            metadata["continue"] = token
            if remaining is not None:
                metadata["remainingItemCount"] = remaining
        kind = self.resource.kind
        if self.is_raw:
            head = _encode({"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": metadata})
            return b'%b,"items":[%b]}' % (head[:-1], b",".join([item.data for item in items]))
        return media.encode(self._shaped_list(items, metadata), self.answer)

    def line(self, event: str, item: Item) -> bytes:
        """One line of a watch."""
        data = item.data if self.is_raw else _encode(self._shaped(item))
        return b'{"type":"%b","object":%b}\n' % (event.encode(), data)

    def bookmark(self, revision: int, *, ends_initial_events: bool = False) -> bytes:
        """The line that says how far a watch has come."""
        metadata: Json = {"resourceVersion": str(revision), "creationTimestamp": None}
        if ends_initial_events:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        kind = self.resource.kind
        obj: Json = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
        if self.answer.shape == "Table":
            table: Json = {"kind": "Table", "apiVersion": f"meta.k8s.io/{self.answer.version}"}
            table |= {"metadata": {"resourceVersion": str(revision)}, "columnDefinitions": [], "rows": []}
            if ends_initial_events:
                table["rows"] = [{"cells": [], "object": obj | {"metadata": metadata}}]
            obj = table
        elif self.answer.shape:
            obj["kind"], obj["apiVersion"] = "PartialObjectMetadata", f"meta.k8s.io/{self.answer.version}"
        return b'{"type":"BOOKMARK","object":%b}\n' % _encode(obj)

    def _convert(self, item: Item) -> Json:
        obj = item.decode()
        return self.resource.from_stored(obj) if self.resource.from_stored else obj

    def _shaped(self, item: Item) -> Json:
        obj = self._convert(item)
        if self.answer.shape == "Table":
            return self._table([obj], {"resourceVersion": obj["metadata"].get("resourceVersion", "")})
        return self._partial(obj) if self.answer.shape else obj

    def _shaped_list(self, items: Iterable[Item], metadata: Json) -> Json:
        objects = [self._convert(item) for item in items]
        kind = self.resource.kind
        if self.answer.shape == "Table":
            return self._table(objects, metadata)
        if self.answer.shape:
            objects = [self._partial(obj) for obj in objects]
            version = f"meta.k8s.io/{self.answer.version}"
            return {"kind": "PartialObjectMetadataList", "apiVersion": version, "metadata": metadata, "items": objects}
        return {"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": metadata, "items": objects}

    def _partial(self, obj: Json) -> Json:
        version = f"meta.k8s.io/{self.answer.version}"
        return {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": obj["metadata"]}

    def _table(self, objects: list[Json], metadata: Json) -> Json:
        table = self.resource.table or fallback_table()
        now = self.registry.clock.now()
        rows = []
        for obj in objects:
            row = table_row(table, obj, now)
            if self.include == "Metadata":
                row["object"] = self._partial(obj)
            elif self.include == "Object":
                row["object"] = obj
            rows.append(row)
        return {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{self.answer.version}",
            "metadata": metadata,
            "columnDefinitions": table_columns(table),
            "rows": rows,
        }


def error_line(error: Refusal) -> bytes:
    """The line that ends a watch with a failure."""
    return b'{"type":"ERROR","object":%b}\n' % _encode(error.body())


def encode_token(revision: int, key: tuple[str, str]) -> str:
    """The continue token: where a list stopped, and at which revision."""
    return base64.urlsafe_b64encode(_encode({"rv": revision, "start": key})).decode().rstrip("=")


def decode_token(token: str) -> tuple[int, tuple[str, str]]:
    """Reads a continue token; 400 for garbage."""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        found = msgspec.json.decode(raw, type=_Token)
    except (ValueError, msgspec.DecodeError) as error:
        raise status.bad_request("continue key is not valid") from error
    return found.rv, found.start


class _Token(msgspec.Struct):
    rv: int
    start: tuple[str, str]
