"""What the queue needs to know of a profile: its PreEnqueue plugins, and the events that concern each plugin."""

from typing import Final

from moorage.framework.points import EnqueueExtensions
from moorage.framework.profile import Profile
from moorage.queue import ProfileHints

#: A plugin can only keep a pod waiting from one of these points; of others no event need be known.
_REJECTING_POINTS: Final = ("preEnqueue", "preFilter", "filter", "postFilter", "reserve", "permit")


def profile_hints(profile: Profile) -> ProfileHints:
    """The registrations of a profile's plugins, in the order in which pods meet them."""
    rejecting = {one.name: one.plugin for point in _REJECTING_POINTS for one in profile.at(point)}
    return ProfileHints(
        registrations={
            name: tuple(plugin.events_to_register()) if isinstance(plugin, EnqueueExtensions) else None
            for name, plugin in rejecting.items()
        },
        pre_enqueue=[(one.name, one.plugin.pre_enqueue) for one in profile.at("preEnqueue")],
    )
