"""Custom objects: one served version of a kind that a user defined."""

from typing import Any

from moorage.apiserver import status
from moorage.apiserver.crd import jsonpath, schema
from moorage.apiserver.fields.conform import Mismatch, conform
from moorage.apiserver.registry import Column, Operation, Strategy, Table
from moorage.apiserver.tables.rows import NAME, age, fallback_table, since
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.verbs.bodies import report_unknown

Json = dict[str, Any]


class CustomKind:
    """What one version of a definition says about its objects."""

    def __init__(self, version: Json) -> None:
        self.version = version
        found = (version.get("schema") or {}).get("openAPIV3Schema")
        self.schema: Json = found if found is not None else {"type": "object", schema.PRESERVE: True}

    def shape(self, obj: Json, operation: Operation) -> None:
        """Check the metadata, prune what the schema does not know."""
        kind = operation.resource.kind
        metadata = obj.setdefault("metadata", {})
        try:
            unknown = [f"metadata.{path}" for path in conform(metadata, "meta.ObjectMeta")]
        except Mismatch as error:
            error.path.append(".metadata")
            raise status.bad_request(
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
                f"{error.describe(kind.kind)}"
            ) from error
        schema.drop_nulls(obj, self.schema)
        unknown += schema.prune(obj, self.schema, is_object=True)
        report_unknown(unknown, kind, operation)

    def strategy(self) -> Strategy:
        """Defaults and rules of the schema."""
        return Strategy(
            defaults=(lambda obj: schema.fill_defaults(obj, self.schema),),
            on_status=(_keep_metadata,),
            validate=(self._validate,),
            validate_status=(lambda new, _old, faults: self._validate(new, faults),),
            demands_version=True,
        )

    def _validate(self, obj: Json, faults: Faults) -> None:
        body = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
        relevant = {**self.schema, "required": [n for n in self.schema.get("required", ()) if n not in _ALWAYS]}
        schema.validate(body, relevant, "", faults)

    def scale_paths(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Where the scale subresource finds wanted replicas, actual replicas and the selector."""
        scale = (self.version.get("subresources") or {}).get("scale") or {}
        names = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
        wanted, actual, selector = (_path(scale.get(name, "")) for name in names)
        return wanted, actual, selector

    def table(self) -> Table:
        """The columns of the definition; name and age where it has none."""
        columns = self.version.get("additionalPrinterColumns")
        if not columns:
            return fallback_table()
        shown = [
            Column(
                c["name"], c.get("type", "string"), c.get("format", ""), c.get("priority", 0), c.get("description", "")
            )
            for c in columns
        ]

        def cells(obj: Json, now: float) -> list[Any]:
            return [obj["metadata"]["name"], *(_cell(obj, column, now) for column in columns)]

        return Table((NAME, *shown), cells)

    def openapi_schema(self) -> Json:
        """The schema as clients see it: with the fields every object has."""
        properties = {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            **(self.schema.get("properties") or {}),
        }
        return {**self.schema, "type": "object", "properties": properties}


_ALWAYS = frozenset({"apiVersion", "kind", "metadata"})


def _keep_metadata(_: Operation, new: Json, old: Json) -> None:
    """The status of a custom object is all that its status subresource changes."""
    new["metadata"] = dict(old["metadata"])


def _path(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(".") if part)


def _cell(obj: Json, column: Json, now: float) -> Any:
    found = jsonpath.find(obj, column.get("jsonPath", ""))
    if not found:
        return age(obj, now) if column.get("jsonPath") == ".metadata.creationTimestamp" else None
    value = found[0]
    kind = column.get("type")
    if kind == "date":
        return since(value, now) if isinstance(value, str) else None
    if kind in ("integer", "number", "boolean"):
        return value if isinstance(value, int | float) else None
    if len(found) > 1:
        return ",".join(str(each) for each in found)
    return value if isinstance(value, str | int | float) else str(value)
