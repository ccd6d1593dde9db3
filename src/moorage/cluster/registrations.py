"""What the plugins of a profile want to hear of: the events that concern each, and the kinds to watch for them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from moorage.cluster.others import RESOURCE_OF
from moorage.framework.events import Action, ClusterEvent, EventHint, Resource, on
from moorage.framework.grouping import PlacementFeasible
from moorage.framework.profile import Profile
from moorage.framework.registrations import kinds_read, registrations_of
from moorage.objects import KubeObject
from moorage.queue import ALL_EVENTS, EXTENDER, ProfileHints

#: A plugin can only keep a pod waiting from one of these points; of others no event need be known.
_REJECTING_POINTS: Final = ("preEnqueue", "preFilter", "filter", "postFilter", "reserve", "permit", "placementGenerate")

_SIBLING: Final = ClusterEvent(Resource.UNSCHEDULED_POD, Action.ADD)


def profile_hints(profile: Profile, *, asks: bool = False, tells_siblings: bool = True) -> ProfileHints:
    """The registrations of a profile's plugins, in the order in which pods meet them, and of extenders if it `asks`
    any. Without `tells_siblings` the queue itself lets members of a group know of each other. Raises InputError."""
    rejecting = {one.name: one.plugin for point in _REJECTING_POINTS for one in profile.at(point)}
    registrations = {name: _registrations(name, plugin) for name, plugin in rejecting.items()}
    if not tells_siblings:
        for name, said in registrations.items():
            if said is not None and isinstance(rejecting[name], PlacementFeasible):
                registrations[name] = tuple(one for one in said if one.event != _SIBLING)
    if asks:
        registrations[EXTENDER] = None
    return ProfileHints(
        registrations=registrations,
        pre_enqueue=[(one.name, one.plugin.pre_enqueue) for one in profile.at("preEnqueue")],
    )


def _registrations(name: str, plugin: Any) -> tuple[EventHint, ...] | None:
    """What a plugin registered for; one that says nothing also hears of the kinds of its own that it reads."""
    said = registrations_of(name, plugin)
    own = [kind for kind in kinds_read(name, plugin) if kind.PLURAL]
    return said if said is not None or not own else (*ALL_EVENTS, *(on(kind, Action.ALL) for kind in own))


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
