"""The messages of the extender protocol, byte for byte as kube-scheduler writes and reads them.

The structs of the protocol have no JSON tags: on the wire their members carry Go's own names (`NodeNames`), absent
lists and maps are null. Before 1.17 the names were lower case, and Go reads them in any case: so does this. Pods and
nodes inside are whole objects in Kubernetes' camelCase, without kind and apiVersion, and stay undecoded here.
"""

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from moorage.errors import MoorageError
from moorage.values.int64 import HIGHEST, LOWEST

T = TypeVar("T")

#: What Go has room for: a larger number is no number of this protocol.
Int64 = Annotated[int, msgspec.Meta(ge=LOWEST, le=HIGHEST)]

#: JSON text of a whole object.
RawObject = msgspec.Raw


class WireError(MoorageError):
    """A message that is not what the protocol says."""


class Message(msgspec.Struct, frozen=True):
    """The root of the messages."""


class NodeList(msgspec.Struct, frozen=True):
    """Whole nodes, as a list without kind."""

    metadata: dict[str, Any] = {}
    items: Sequence[RawObject] | None = None


class Args(Message, frozen=True):
    """A pod and the nodes in question (filter, prioritize): whole, or by name where the extender keeps its own."""

    pod: RawObject = msgspec.field(name="Pod")
    nodes: NodeList | None = msgspec.field(default=None, name="Nodes")
    node_names: Sequence[str] | None = msgspec.field(default=None, name="NodeNames")


class FilterResult(Message, frozen=True):
    """Which nodes pass, and why the others do not. Nodes in neither place are out without a reason."""

    nodes: NodeList | None = msgspec.field(default=None, name="Nodes")
    node_names: Sequence[str] | None = msgspec.field(default=None, name="NodeNames")
    failed_nodes: Mapping[str, str] | None = msgspec.field(default=None, name="FailedNodes")
    failed_and_unresolvable_nodes: Mapping[str, str] | None = msgspec.field(
        default=None, name="FailedAndUnresolvableNodes"
    )
    error: str = msgspec.field(default="", name="Error")


class HostPriority(Message, frozen=True, gc=False):
    """A node's score, 0 to 10."""

    host: str = msgspec.field(name="Host")
    score: Int64 = msgspec.field(name="Score")


class MetaPod(Message, frozen=True, gc=False):
    """A victim by its identifier."""

    uid: str = msgspec.field(default="", name="UID")


class MetaVictims(Message, frozen=True):
    """The victims on one node by their identifiers."""

    pods: Sequence[MetaPod] | None = msgspec.field(default=None, name="Pods")
    pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class Victims(Message, frozen=True):
    """The victims on one node, whole."""

    pods: Sequence[RawObject] | None = msgspec.field(default=None, name="Pods")
    pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class PreemptionArgs(Message, frozen=True):
    """A pod that preempts and its candidates: victims whole, or by identifier where the extender keeps its own."""

    pod: RawObject = msgspec.field(name="Pod")
    victims: Mapping[str, Victims] | None = msgspec.field(default=None, name="NodeNameToVictims")
    meta_victims: Mapping[str, MetaVictims] | None = msgspec.field(default=None, name="NodeNameToMetaVictims")


class PreemptionResult(Message, frozen=True):
    """The candidates that are left, always by identifier."""

    meta_victims: Mapping[str, MetaVictims] | None = msgspec.field(default=None, name="NodeNameToMetaVictims")


class BindingArgs(Message, frozen=True):
    """Bind this pod to this node."""

    pod_name: str = msgspec.field(default="", name="PodName")
    pod_namespace: str = msgspec.field(default="", name="PodNamespace")
    pod_uid: str = msgspec.field(default="", name="PodUID")
    node: str = msgspec.field(default="", name="Node")


class BindingResult(Message, frozen=True):
    """Empty where the pod is bound."""

    error: str = msgspec.field(default="", name="Error")


def encode(message: Message | Sequence[HostPriority]) -> bytes:
    """As kube-scheduler writes it."""
    return msgspec.json.encode(message)


def read_args(body: bytes) -> Args:
    """Read what a scheduler of any version sends to filter and prioritize. Raises WireError."""
    members = _members(body)
    nodes = _member(members, "nodes", dict[str, msgspec.Raw] | None, None)
    return Args(
        _pod(members),
        NodeList(items=_items(nodes)) if nodes is not None else None,
        _texts(_member(members, "nodenames", list[str | None] | None, None)),
    )


def read_preemption_args(body: bytes) -> PreemptionArgs:
    """Read what a scheduler of any version sends to preempt. Raises WireError."""
    members = _members(body)
    # Up to 1.16 the whole victims had a name of their own.
    name = "nodenametovictims" if "nodenametovictims" in members else "nodetovictims"
    victims = _member(members, name, dict[str, msgspec.Raw] | None, None)
    return PreemptionArgs(
        _pod(members),
        {node: _victims(raw) for node, raw in victims.items()} if victims is not None else None,
        _read_meta_victims(members),
    )


def read_binding_args(body: bytes) -> BindingArgs:
    """Read what a scheduler of any version sends to bind. Raises WireError."""
    members = _members(body)
    return BindingArgs(*(_member(members, name, str, "") for name in ("podname", "podnamespace", "poduid", "node")))


def read_filter_result(body: bytes) -> FilterResult:
    """Read an extender's answer to filter, as leniently as kube-scheduler does. Raises WireError."""
    members = _members(body)
    nodes = _member(members, "nodes", dict[str, msgspec.Raw] | None, None)
    return FilterResult(
        NodeList(items=_items(nodes)) if nodes is not None else None,
        _texts(_member(members, "nodenames", list[str | None] | None, None)),
        _reasons(members, "failednodes"),
        _reasons(members, "failedandunresolvablenodes"),
        _member(members, "error", str, ""),
    )


def read_priorities(body: bytes) -> list[HostPriority]:
    """Read an extender's scores. Raises WireError."""
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(body, type=list[HostPriority])
    # Names in another case, something left out, or no scores at all.
    entries = [_members(entry) for entry in _decoded(body, list[msgspec.Raw] | None) or ()]
    return [HostPriority(_member(entry, "host", str, ""), _member(entry, "score", Int64, 0)) for entry in entries]


def read_preemption_result(body: bytes) -> PreemptionResult:
    """Read which candidates an extender leaves. Raises WireError."""
    return PreemptionResult(_read_meta_victims(_members(body)))


def read_binding_result(body: bytes) -> BindingResult:
    """Read how an extender's binding went. Raises WireError."""
    return BindingResult(_member(_members(body), "error", str, ""))


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""


class _Named(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


def names_of(nodes: Iterable[RawObject]) -> list[str]:
    """The names of whole nodes. Raises WireError for what is no node."""
    return [_name_of(node) for node in nodes]


def _name_of(node: RawObject) -> str:
    try:
        name = msgspec.json.decode(node, type=_Named).metadata.name
    except msgspec.DecodeError as error:
        raise WireError(f"Nodes: {error}") from None
    if name:
        return name
    metadata = _member(_members(node), "metadata", dict[str, msgspec.Raw], {})
    folded: str = _member({name.lower(): raw for name, raw in metadata.items()}, "name", str, "")
    return folded


def _pod(members: Mapping[str, msgspec.Raw]) -> RawObject:
    pod = members.get("pod")
    if pod is None:
        raise WireError("Pod is missing")
    return pod


def _items(nodes: Mapping[str, msgspec.Raw]) -> list[RawObject]:
    members = {name.lower(): raw for name, raw in nodes.items()}
    return _member(members, "items", list[msgspec.Raw] | None, None) or []


def _reasons(members: Mapping[str, msgspec.Raw], name: str) -> dict[str, str] | None:
    reasons = _member(members, name, dict[str, str | None] | None, None)
    return {node: reason or "" for node, reason in reasons.items()} if reasons is not None else None


def _texts(values: list[str | None] | None) -> list[str] | None:
    return [value or "" for value in values] if values is not None else None


def _victims(raw: msgspec.Raw) -> Victims:
    members = _members(raw)
    pods = _member(members, "pods", list[msgspec.Raw] | None, None)
    return Victims(pods, _member(members, "numpdbviolations", Int64, 0))


def _read_meta_victims(members: Mapping[str, msgspec.Raw]) -> dict[str, MetaVictims] | None:
    victims = _member(members, "nodenametometavictims", dict[str, msgspec.Raw] | None, None)
    return {node: _meta_victims(raw) for node, raw in victims.items()} if victims is not None else None


def _meta_victims(raw: msgspec.Raw) -> MetaVictims:
    members = _members(raw)
    pods = _member(members, "pods", list[msgspec.Raw] | None, None) or []
    return MetaVictims(
        [MetaPod(_member(_members(pod), "uid", str, "")) for pod in pods],
        _member(members, "numpdbviolations", Int64, 0),
    )


def _members(body: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """The members of an object by their names in lower case; null ones count as absent, as does all of a null."""
    members = _decoded(body, dict[str, msgspec.Raw] | None) or {}
    return {name.lower(): raw for name, raw in members.items() if not _is_null(raw)}


def _is_null(raw: msgspec.Raw) -> bool:
    return memoryview(raw).nbytes == 4 and bytes(raw) == b"null"


def _member(members: Mapping[str, msgspec.Raw], name: str, kind: Any, default: Any) -> Any:
    raw = members.get(name)
    if raw is None:
        return default
    try:
        return _decoded(raw, kind)
    except WireError as error:
        raise WireError(f"{name}: {error}") from None


def _decoded(body: bytes | msgspec.Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise WireError(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return msgspec.json.decode(_first_value(bytes(body)), type=kind)
    except (ValueError, RecursionError, msgspec.DecodeError) as error:
        raise WireError(f"not JSON: {error}") from None


def _first_value(body: bytes) -> bytes:
    """Go reads the first JSON value and leaves what follows; bytes that are no UTF-8 become U+FFFD."""
    text = body.decode(errors="replace")
    start = len(text) - len(text.lstrip(" \t\r\n"))
    _, end = json.JSONDecoder().raw_decode(text, start)
    return text[start:end].encode()
