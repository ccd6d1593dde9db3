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

    `plugins` are the enabled ones of all profiles; `registered` is what they want to hear of. Of what several versions
    of the API serve, the kind that a plugin reads is the one that is heard.
    """
    kinds = {kind for name, plugin in plugins for kind in kinds_read(name, plugin)}
    heard = {RESOURCE_OF[kind] for kind in kinds if kind in RESOURCE_OF}
    unread = (kind for kind, resource in RESOURCE_OF.items() if resource in registered and resource not in heard)
    return tuple(sorted({*kinds, *unread}, key=lambda kind: kind.KIND))
