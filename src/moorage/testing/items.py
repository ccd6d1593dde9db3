"""What can be put into a small cluster."""

from collections.abc import Mapping
from typing import Any

from moorage.objects import KubeObject, Pod, convert_object
from moorage.testing.nodes import NodeBuilder
from moorage.testing.pods import PodBuilder

#: A builder, an API struct, or a manifest as parsed from YAML.
Item = NodeBuilder | PodBuilder | KubeObject | Mapping[str, Any]


def built(item: Item) -> KubeObject:
    """The object it stands for. A manifest of an unknown kind raises ObjectError."""
    if isinstance(item, NodeBuilder | PodBuilder):
        return item.build()
    return item if isinstance(item, KubeObject) else convert_object(item)


def built_pod(pod: PodBuilder | Pod) -> Pod:
    """The pod it stands for."""
    return pod.build() if isinstance(pod, PodBuilder) else pod
