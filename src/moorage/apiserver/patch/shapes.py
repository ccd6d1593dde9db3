"""How a value takes part in server-side apply: in one piece, field by field, or element by element.

Built-in kinds say so in the field table, custom kinds in their schema; here both look the same.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from moorage.apiserver.fields.schema import Field, struct

Json = dict[str, Any]

WHOLE, MAP, SET, KEYED = "whole", "map", "set", "keyed"


class Shape(Protocol):
    """The shape of one value."""

    @property
    def kind(self) -> str:
        """WHOLE: replaced as one. MAP: field by field. SET: values on their own. KEYED: elements by their keys."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields that identify an element of a KEYED list."""

    def child(self, name: str) -> "Shape":
        """The shape of a field of a MAP."""

    def element(self) -> "Shape":
        """The shape of an element of a KEYED list."""

    def default_key(self, name: str) -> Any:
        """What an element has for a key that it leaves out."""


@dataclass(frozen=True, slots=True)
class Built:
    """A struct of the field table, or one of its fields."""

    struct_name: str = ""
    field: Field | None = None
    is_element: bool = False

    @property
    def kind(self) -> str:
        """By the marks of the field and of its type."""
        field = self.field
        if field is None or self.is_element:
            return self._struct_kind(self._struct_name())
        if field.is_atomic:
            return WHOLE
        if field.type.is_list:
            return KEYED if field.map_keys else SET if field.is_set else WHOLE
        if field.type.is_map:
            return MAP
        return self._struct_kind(field.type.struct)

    @property
    def keys(self) -> tuple[str, ...]:
        """The listMapKeys of the field."""
        return self.field.map_keys if self.field is not None else ()

    def child(self, name: str) -> Shape:
        """A field of the struct, or a value of the map."""
        field = self.field
        if field is not None and field.type.is_map and not self.is_element:
            element = field.type.element
            return Built(element.struct) if element is not None and element.struct else ANYTHING
        found = struct(self._struct_name()).fields.get(name)
        return Built(field=found) if found is not None else ANYTHING

    def element(self) -> Shape:
        """One element of the list."""
        return Built(field=self.field, is_element=True)

    def default_key(self, name: str) -> Any:
        """The one key that Kubernetes fills in: the protocol of a port."""
        return "TCP" if name == "protocol" else None

    def _struct_name(self) -> str:
        if self.field is None:
            return self.struct_name
        if self.is_element and self.field.type.element is not None:
            return self.field.type.element.struct
        return self.field.type.struct

    @staticmethod
    def _struct_kind(name: str) -> str:
        return MAP if name and not struct(name).is_atomic else WHOLE


@dataclass(frozen=True, slots=True)
class Schemed:
    """A part of a custom kind's schema."""

    schema: Json

    @property
    def kind(self) -> str:
        """By the schema's list and map types."""
        if self.schema.get("x-kubernetes-map-type") == "atomic":
            return WHOLE
        listing = self.schema.get("x-kubernetes-list-type")
        if self.schema.get("type") == "array":
            return {"map": KEYED, "set": SET}.get(listing or "", WHOLE)
        return MAP

    @property
    def keys(self) -> tuple[str, ...]:
        """The x-kubernetes-list-map-keys."""
        return tuple(self.schema.get("x-kubernetes-list-map-keys", ()))

    def child(self, name: str) -> Shape:
        """A property, or what additionalProperties say."""
        found = (self.schema.get("properties") or {}).get(name)
        extra = self.schema.get("additionalProperties")
        if name == "metadata" and found is None:
            return Built("meta.ObjectMeta")
        if isinstance(found, dict) or isinstance(extra, dict):
            return Schemed(found if isinstance(found, dict) else extra or {})
        return ANYTHING

    def element(self) -> Shape:
        """One item."""
        return Schemed(self.schema.get("items") or {})

    def default_key(self, name: str) -> Any:
        """The default of the key's property."""
        properties = (self.schema.get("items") or {}).get("properties") or {}
        return properties.get(name, {}).get("default")


@dataclass(frozen=True, slots=True)
class _Anything:
    """Of which nothing is known: maps field by field, lists in one piece."""

    kind: str = MAP
    keys: tuple[str, ...] = ()

    def child(self, _name: str) -> Shape:
        """Again anything."""
        return self

    def element(self) -> Shape:
        """Again anything."""
        return self

    def default_key(self, _name: str) -> Any:
        """None."""
        return None


ANYTHING: Shape = _Anything()


class ObjectShape:
    """A whole custom object: its metadata is as everyone's."""

    def __init__(self, schema: Json) -> None:
        self._schema = Schemed(schema)
        self.kind = MAP
        self.keys: tuple[str, ...] = ()

    def child(self, name: str) -> Shape:
        """Metadata from the field table, all else from the schema."""
        return Built("meta.ObjectMeta") if name == "metadata" else self._schema.child(name)

    def element(self) -> Shape:
        """Objects have no elements."""
        return ANYTHING

    def default_key(self, _name: str) -> Any:
        """None."""
        return None
