"""The plugins of a configuration made for once, where nothing runs: what they declare, and what would be refused at the
start of a process."""

from moorage.cluster import needed_kinds, profile_hints
from moorage.columns import Snapshot
from moorage.columns.nominations import Nominations
from moorage.config import Config
from moorage.engine import make_engine
from moorage.framework.measuring import counters_of, histograms_of
from moorage.framework.profile import Profile
from moorage.framework.registrations import kinds_awaited, kinds_written
from moorage.framework.registry import Registry
from moorage.objects import KubeObject
from moorage.queue import SchedulingQueue


def try_plugins(config: Config, registry: Registry) -> tuple[list[Profile], tuple[type[KubeObject], ...]]:
    """The profiles as they will run, and the kinds they need to see. Raises InputError that names the plugin."""
    engine = make_engine(Snapshot(), config, registry=registry)
    profiles = [runner.profile for runner in engine.runners.values()]
    hints = {profile.scheduler_name: profile_hints(profile, asks=bool(config.extenders)) for profile in profiles}
    queue = SchedulingQueue(
        profiles=hints, queue_sort=profiles[0].at("queueSort")[0].plugin, nominations=Nominations(), now=lambda: 0.0
    )
    plugins = [item for profile in profiles for item in profile.plugins.items()]
    for name, plugin in plugins:
        kinds_awaited(name, plugin)
        kinds_written(name, plugin)
        counters_of(name, plugin)
        histograms_of(name, plugin)
    return profiles, needed_kinds(plugins, queue.registered_actions())
