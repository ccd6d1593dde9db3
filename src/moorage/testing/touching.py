"""What plugins are handed, written down, to see whether one of them has changed it."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from moorage.columns import NodeInfo, PodInfo, Snapshot
from moorage.framework.registry import plugin_name
from moorage.plugins import DEFAULT_PLUGINS, OWN_PLUGINS

#: What is written down: its name, and what it was.
Picture = dict[str, Any]

_OURS: Final = frozenset(plugin_name(plugin) for plugin in (*DEFAULT_PLUGINS, *OWN_PLUGINS))


class Touched(AssertionError):
    """A plugin changed what it was handed and may only read: later decisions would be taken on it."""


def picture(snapshot: Snapshot, *pods: PodInfo) -> Picture:
    """The nodes with what is counted on them, the columns in use, every object, and these pods."""
    return dict(_lines(snapshot, pods))


def compare(before: Picture, after: Picture, by: str) -> None:
    """Raises Touched where something that was there is not as it was."""
    changed = [name for name, value in before.items() if name not in after or after[name] != value]
    if changed:
        name = changed[0]
        more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
        shown = f"was {before[name]!r}, is {after.get(name)!r}"
        raise Touched(f"{by} changed what it may only read: {name}{more}: {shown[:400]}")


def culprits(plugins: Iterable[str]) -> str:
    """The plugins that may have done it: those that do not come with us."""
    named = [f'"{name}"' for name in plugins if name not in _OURS]
    return f"plugin {' or '.join(named)}" if named else "a plugin"


def _lines(snapshot: Snapshot, pods: Iterable[PodInfo]) -> Iterator[tuple[str, Any]]:
    for pod in pods:
        yield from _pod_lines(pod)
    table = snapshot.nodes
    yield "the names of nodes", [info.name for info in table]
    for info in table:
        yield from _node_lines(info)
    for name in sorted({resource for info in table for resource in (*info.allocatable, *info.requested)}):
        yield f'the column allocatable("{name}")', table.allocatable(name).tolist()
        yield f'the column requested("{name}")', table.requested(name).tolist()
    for key in sorted({key for info in table for key in info.node.metadata.labels}):
        yield f'the column label("{key}")', table.label(key).ids.tolist()
    for item in snapshot.objects.everything():
        yield f"{item.KIND} {item.key}", msgspec.json.encode(item)


def _node_lines(info: NodeInfo) -> Iterator[tuple[str, Any]]:
    for field in ("labels", "allocatable", "requested"):
        yield f"{field} of node {info.name}", dict(getattr(info, field))
    yield f"pods of node {info.name}", sorted(pod.key for pod in info.pods.values())
    yield f"the object of node {info.name}", msgspec.json.encode(info.node)
    for pod in info.pods.values():
        yield from _pod_lines(pod)


def _pod_lines(pod: PodInfo) -> Iterator[tuple[str, Any]]:
    yield f"labels of pod {pod.key}", dict(pod.labels)
    yield f"annotations of pod {pod.key}", dict(pod.annotations)
    yield f"the request of pod {pod.key}", dict(pod.request.amounts)
    yield f"the object of pod {pod.key}", msgspec.json.encode(pod.pod)
