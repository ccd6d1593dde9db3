"""The objects of a small cluster, and an API server's answers to what is written there."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from moorage.attempt.scripted import (
    Bind,
    Create,
    Delete,
    Evict,
    Patch,
    PatchStatus,
    Read,
    Request,
    agree,
)
from moorage.framework.writes import Bound, BoundElsewhere, Conflict, Done, Gone, Refused
from moorage.objects import KINDS, KubeObject, Pod, Untyped, convert, convert_object, custom_kind
from moorage.testing.nodes import NodeBuilder
from moorage.testing.pods import PodBuilder
from moorage.testing.touching import compare
from moorage.values.merging import merge_patch

#: Told the object before and after; None where there was or is none.
Tell = Callable[[tuple[KubeObject | None, KubeObject | None]], None]


class Objects:
    """Objects by kind and key. `tell` hears of every change, in order."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._objects: dict[tuple[type[KubeObject], str], KubeObject] = {}
        self._written: dict[tuple[type[KubeObject], str], bytes] = {}
        self._touched: list[tuple[str, bytes, bytes]] = []
        self._version = 0
        #: Every binding carried out: pod and node.
        self.bindings: list[tuple[str, str]] = []

    def get(self, kind: type[KubeObject], key: str) -> Any:
        """The object, None where there is none."""
        return self._objects.get((kind, key))

    def all(self, kind: type[KubeObject]) -> dict[str, Any]:
        """The objects of a kind by key."""
        return {key: item for (one, key), item in self._objects.items() if one is kind}

    def set(self, item: KubeObject) -> Any:
        """Make or replace an object; answers it as it is kept."""
        self._version += 1
        meta = item.metadata
        meta = replace(meta, resource_version=str(self._version), uid=meta.uid or f"{item.KIND}/{item.key}")
        kept = replace(item, metadata=meta)
        place = type(item), item.key
        self._look(place)
        self._tell((self._objects.get(place), kept))
        self._objects[place] = kept
        self._written[place] = msgspec.json.encode(kept)
        return kept

    def check(self, by: str) -> None:
        """Raises Touched where an object is not as it was set."""
        for place in self._objects:
            self._look(place)
        for name, before, after in self._touched:
            compare({name: before}, {name: after}, by)

    def _look(self, place: tuple[type[KubeObject], str]) -> None:
        item = self._objects.get(place)
        if item is not None and (written := msgspec.json.encode(item)) != self._written[place]:
            self._touched.append((f"{place[0].KIND} {place[1]}", self._written[place], written))

    def drop(self, kind: type[KubeObject], key: str) -> None:
        """An object is gone."""
        self._tell((self._objects.pop((kind, key)), None))

    def serve(self, request: Request) -> Any:
        """Carry a request out, as an API server does."""
        match request:
            case Bind(pod, node_name, uncertain):
                return self._bind(pod.key, pod.uid, node_name, uncertain=uncertain)
            case PatchStatus(pod, status):
                known = self._pod(pod.key, pod.uid)
                if known is None:
                    return _gone(Pod, pod.name)
                self.set(replace(known, status=_merged_status(known, dict(status))))
                return Done()
            case Evict(pod):
                if self._pod(pod.key, pod.uid) is None:
                    return _gone(Pod, pod.name)
                self.drop(Pod, pod.key)
                return Done()
            case Read(kind, name, namespace):
                return self.get(kind, _key(kind, name, namespace)) or _gone(kind, name)
            case Create(item):
                if self.get(type(item), item.key) is not None:
                    return Conflict(f'{item.KIND} "{item.metadata.name}" already exists', 409, "AlreadyExists")
                return self.set(item)
            case Patch(kind, name, namespace, patch):
                return self._patch(kind, name, namespace, patch)
            case Delete(item):
                if self.get(type(item), item.key) is None:
                    return _gone(type(item), item.metadata.name)
                self.drop(type(item), item.key)
                return Done()
        return agree(request)

    def _patch(self, kind: type[KubeObject], name: str, namespace: str, patch: Mapping[str, Any]) -> Any:
        before: KubeObject | None = self.get(kind, _key(kind, name, namespace))
        if before is None:
            return _gone(kind, name)
        wanted = patch.get("metadata", {})
        meta = before.metadata
        if wanted.get("uid", meta.uid) != meta.uid:
            return Conflict(f'{kind.KIND} "{name}" is another', 409, "Conflict")
        if wanted.get("resourceVersion", meta.resource_version) != meta.resource_version:
            return Conflict(f'{kind.KIND} "{name}" was changed meanwhile', 409, "Conflict")
        return self.set(convert(merge_patch(msgspec.to_builtins(before), patch), kind))

    def _bind(self, key: str, uid: str, node_name: str, *, uncertain: bool) -> Any:
        known = self._pod(key, uid)
        name = key.rpartition("/")[2]
        if known is None:
            return _gone(Pod, name)
        if known.spec.node_name:
            if uncertain and known.spec.node_name == node_name:
                return Bound()
            taken = f"pod {name} is already assigned to node {known.spec.node_name!r}"
            return BoundElsewhere(taken, 409, "Conflict", node_name=known.spec.node_name)
        if known.is_terminating:
            return Refused(f"pod {name} is being deleted, cannot be assigned to a host", 409, "Conflict")
        self.bindings.append((name, node_name))
        status = replace(known.status, nominated_node_name="")
        self.set(replace(known, spec=replace(known.spec, node_name=node_name), status=status))
        return Bound()

    def _pod(self, key: str, uid: str) -> Pod | None:
        pod: Pod | None = self.get(Pod, key)
        return pod if pod is not None and pod.metadata.uid == uid else None


def _key(kind: type[KubeObject], name: str, namespace: str) -> str:
    return f"{namespace}/{name}" if namespace and kind.NAMESPACED else name


def _gone(kind: type[KubeObject], name: str) -> Gone:
    return Gone(f'{kind.KIND} "{name}" not found', 404, "NotFound")


def _merged_status(pod: Pod, patch: dict[str, Any]) -> Any:
    status = msgspec.to_builtins(pod.status)
    conditions = {one["type"]: one for one in status.get("conditions", ())}
    conditions.update({one["type"]: one for one in patch.get("conditions", ())})
    merged = {**status, **patch, "conditions": list(conditions.values())}
    if merged.get("nominatedNodeName", "") is None:
        merged["nominatedNodeName"] = ""
    return convert(merged, type(pod.status))


#: A builder, an API struct, or a manifest as parsed from YAML.
Item = NodeBuilder | PodBuilder | KubeObject | Mapping[str, Any]


def built(item: Item) -> KubeObject:
    """The object it stands for. A manifest that names no apiVersion and kind raises ObjectError."""
    if isinstance(item, NodeBuilder | PodBuilder):
        return item.build()
    if isinstance(item, KubeObject):
        return item
    version, kind = item.get("apiVersion"), item.get("kind")
    if version and kind and kind not in KINDS:
        return convert(item, custom_kind(version, kind))
    return convert_object(item)


def as_read(item: KubeObject, kinds: Iterable[type[KubeObject]]) -> KubeObject:
    """An object of a kind that plugins have a class of their own for, in that class."""
    if isinstance(item, Untyped):
        for kind in kinds:
            if (kind.API_VERSION, kind.KIND) == (item.API_VERSION, item.KIND) and not isinstance(item, kind):
                return convert(msgspec.to_builtins(item), kind)
    return item


def built_pod(pod: PodBuilder | Pod) -> Pod:
    """The pod it stands for."""
    return pod.build() if isinstance(pod, PodBuilder) else pod
