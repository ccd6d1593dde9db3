"""Nodes from a YAML file: shapes, Node objects, or what `kubectl get nodes -o yaml` prints, in any mixture."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from moorage.errors import InputError, ObjectError
from moorage.nodes.shapes import DEFAULT_RESOURCES, NodeShape, parse_taint, shape_of
from moorage.objects import Node, Quantities, Taint, convert
from moorage.values import yaml

# What a cluster wrote into a Node that came out of it, and what the new one writes itself.
_FOREIGN_ANNOTATIONS = ("kubectl.kubernetes.io/last-applied-configuration", "node.alpha.kubernetes.io/ttl")
_LIFECYCLE_TAINTS = "node.kubernetes.io/"


def load_shapes(path: Path, *, count: int = 1) -> list[NodeShape]:
    """All nodes a file describes. `count` holds for shapes that give none. Raises InputError with file and entry."""
    try:
        documents = yaml.load_all(path.read_bytes())
    except OSError as error:
        shape = "; a shape is written like cpu=4,memory=16Gi" if not path.suffix else ""
        raise InputError(f"cannot be read: {error.strerror}{shape}", where=f"--node {path}") from error
    except InputError as error:
        raise InputError(error.problem, where=f"{path}: {error.where}" if error.where else str(path)) from error
    shapes = [_shape(entry, count, where) for document in documents for entry, where in _entries(document, str(path))]
    if not shapes:
        raise InputError("describes no nodes: expected Node objects, or shapes with cpu, memory...", where=str(path))
    return shapes


def _entries(document: Any, where: str) -> Iterator[tuple[Any, str]]:
    """The nodes and shapes of a document, with their places. Lists may be bare, or a v1 List."""
    if isinstance(document, Mapping) and str(document.get("kind", "")).endswith("List"):
        items = document.get("items")
        document = items if items is not None else []
        where = f"{where}: items"
    if not isinstance(document, list):
        yield document, where
        return
    for position, entry in enumerate(document):
        yield from _entries(entry, f"{where}[{position}]")


def _shape(entry: Any, count: int, where: str) -> NodeShape:
    if not isinstance(entry, Mapping):
        raise InputError(f"expected a Node or a shape, got {entry!r}", where=where)
    if "kind" not in entry:
        return shape_of(_settings(entry, where), count=count, where=where)
    if entry["kind"] != "Node" or entry.get("apiVersion") != "v1":
        raise InputError(f"expected v1 Node, got {entry.get('apiVersion')} {entry['kind']}", where=where)
    try:
        return _shape_of_node(convert(entry, Node), where)
    except ObjectError as error:
        raise InputError(error.problem, where=f"{where}: {error.where}") from None


def _settings(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    for key, expected, called in (("name", str, "text"), ("labels", Mapping, "a map"), ("zones", list, "a list")):
        if key in entry and not isinstance(entry[key], expected):
            raise InputError(f"expected {called}, got {entry[key]!r}", where=f"{where} {key}")
    taints = entry.get("taints", [])
    if not isinstance(taints, list):
        raise InputError(f"expected a list, got {taints!r}", where=f"{where} taints")
    for zone in entry.get("zones", ()):
        if not isinstance(zone, str):
            raise InputError(f"expected text, got {zone!r} (put it in quotes)", where=f"{where} zones")
    return {**entry, "taints": [_taint(item, f"{where} taints") for item in taints]}


def _taint(item: Any, where: str) -> Taint:
    """As Node objects have them, or in kubectl's short form."""
    if isinstance(item, str):
        return parse_taint(item, where)
    try:
        return convert(item, Taint)
    except ObjectError as error:
        raise InputError(f"{error.problem} {error.where}".strip(), where=where) from None


def _shape_of_node(node: Node, where: str) -> NodeShape:
    meta, spec, status = node.metadata, node.spec, node.status
    if not meta.name:
        raise InputError("a Node needs metadata.name", where=where)
    capacity = status.capacity or status.allocatable
    checked = shape_of({"name": meta.name, "labels": meta.labels, **_texts(capacity)}, where=where)
    allocatable = shape_of({**checked.capacity, **_texts(status.allocatable)}, where=where).capacity
    return NodeShape(
        name=meta.name,
        capacity=checked.capacity,
        allocatable=allocatable if status.allocatable else None,
        labels=meta.labels,
        annotations={key: value for key, value in meta.annotations.items() if key not in _FOREIGN_ANNOTATIONS},
        # A Node that was cordoned or troubled where it came from says so in taints that its new cluster sets itself.
        taints=tuple(taint for taint in spec.taints if not taint.key.startswith(_LIFECYCLE_TAINTS)),
        is_unschedulable=spec.unschedulable,
        is_named=True,
    )


def _texts(quantities: Quantities) -> dict[str, Any]:
    """Real nodes list resources of old plugins too (attachable-volumes-...): what is no resource here is left out."""
    return {
        name: amount
        for name, amount in quantities.items()
        if name in DEFAULT_RESOURCES or name.startswith("hugepages-") or "/" in name
    }
