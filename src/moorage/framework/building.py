"""From a configured profile and a registry to a profile ready to run."""

from moorage.config import Profile as ProfileConfig
from moorage.framework.handle import Handle
from moorage.framework.profile import Profile
from moorage.framework.registry import Registry


def build_profile(config: ProfileConfig, registry: Registry, handle: Handle, *, percentage: int = 0) -> Profile:
    """Make every plugin of the profile once. `percentage` is the global percentageOfNodesToScore."""
    plugins = {name: registry.create(name, config.args.get(name), handle) for name in config.plugins.names}
    own = config.percentage_of_nodes_to_score
    return Profile(
        config.scheduler_name,
        plugins,
        config.plugins.points,
        config.plugins.score_weights,
        handle,
        percentage_of_nodes_to_score=percentage if own is None else own,
    )
