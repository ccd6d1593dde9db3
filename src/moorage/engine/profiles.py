"""From what is configured to what runs: a profile's plugins are made, and its filters and scores given one shape."""

from moorage.config import Profile as ProfileConfig
from moorage.engine.lifting import NodeFilter, NodeScore
from moorage.engine.timing import Timing
from moorage.framework.grouping import PlacementFeasible
from moorage.framework.handle import Handle
from moorage.framework.profile import Named, Profile
from moorage.framework.registry import Registry


class CompiledProfile:
    """The points of a profile that the cycle runs, looked up once."""

    def __init__(self, profile: Profile, timing: Timing | None = None) -> None:
        """With `timing` the calls of plugins are measured."""
        self.configured = profile
        self.timing = timing
        measured = {name: timing.measured(name, one) for name, one in profile.plugins.items()} if timing else {}

        def at(point: str) -> list[Named]:
            return [Named(one.name, measured.get(one.name, one.plugin)) for one in profile.at(point)]

        self.pre_filters = at("preFilter")
        self.filters = [NodeFilter(one.name, one.plugin) for one in at("filter")]
        self.post_filters = at("postFilter")
        self.pre_scores = at("preScore")
        self.scores = [NodeScore(one.name, one.plugin, profile.weights[one.name]) for one in at("score")]
        if timing is not None:
            for one in self.filters:
                timing.call_from(one, {"_one": "filter", "_many": "filter_nodes"}, one.plugin)
            for two in self.scores:
                names = {"_one": "score", "_many": "score_nodes", "normalize": "normalize_scores"}
                timing.call_from(two, names, two.plugin)
        self.reserves = at("reserve")
        self.permits = at("permit")
        # What places groups. Whether one is whole is asked of every plugin that has something to say on it.
        self.feasibles = [
            Named(name, one) for name, one in profile.plugins.items() if isinstance(one, PlacementFeasible)
        ]
        self.placement_generators = profile.at("placementGenerate")
        self.placement_scores = profile.at("placementScore")
        self.pod_group_post_filters = profile.at("podGroupPostFilter")
        self.skips_alike = self._skips_alike()

    def _skips_alike(self) -> bool:
        """Whether all that are asked in each cycle say that what they skip for one pod they skip for its like."""
        of_nodes = [(one.name, one.is_kept) for one in self.filters]
        of_nodes += [(one.name, one.is_kept) for one in self.scores]
        asked = {name for name, is_kept in of_nodes if not is_kept}
        asked |= {one.name for one in (*self.pre_filters, *self.pre_scores)} - {name for name, _ in of_nodes}
        return all(getattr(self.configured.plugins[name], "skips_alike", False) for name in asked)


def build_profile(config: ProfileConfig, registry: Registry, handle: Handle, *, percentage: int = 0) -> Profile:
    """Make every plugin of the profile once. `percentage` is the global percentageOfNodesToScore."""
    own = config.percentage_of_nodes_to_score
    return Profile(
        scheduler_name=config.scheduler_name,
        plugins={name: registry.create(name, config.args.get(name), handle) for name in config.plugins.names},
        points=config.plugins.points,
        weights=config.plugins.score_weights,
        handle=handle,
        percentage_of_nodes_to_score=percentage if own is None else own,
        placement_weights=config.plugins.placement_score_weights,
    )
