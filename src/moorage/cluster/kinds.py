"""Which kinds of object the enabled plugins need to see: those, and no other, are watched."""

from collections.abc import Iterable, Mapping
from typing import Any

from moorage.cluster.others import RESOURCE_OF
from moorage.framework.events import Action, Resource
from moorage.framework.kinds import kinds_read
from moorage.objects import KubeObject


def needed_kinds(
    plugins: Iterable[tuple[str, Any]], registered: Mapping[Resource, Action]
) -> tuple[type[KubeObject], ...]:
    """The kinds to watch besides nodes and pods, sorted by name.

    `plugins` are the enabled ones of all profiles; `registered` is what they want to hear of.
    """
    kinds = {kind for kind, resource in RESOURCE_OF.items() if resource in registered}
    for name, plugin in plugins:
        kinds.update(kinds_read(name, plugin))
    return tuple(sorted(kinds, key=lambda kind: kind.KIND))
