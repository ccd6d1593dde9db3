"""What can be put into a small cluster."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from moorage.objects import KINDS, KubeObject, Pod, Untyped, convert, convert_object, custom_kind
from moorage.testing.nodes import NodeBuilder
from moorage.testing.pods import PodBuilder

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
