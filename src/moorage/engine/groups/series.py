"""Members that are alike, placed one after the other by one search.

What PreFilter and PreScore say to the first holds for all of them, so that each costs what its place changes: one row
of the kept verdicts and scores. The places are those that a cycle for each would have found, with the same seeds.
"""

from moorage.columns import PodInfo
from moorage.engine.filtering import Search
from moorage.engine.outcome import Placement
from moorage.engine.runner import Runner
from moorage.engine.sampling import wanted_nodes
from moorage.errors import PluginError
from moorage.framework.status import Code


def are_alike(pod: PodInfo, other: PodInfo) -> bool:
    """Whether nothing but names tells two members apart, and nothing but what their class says decides on them."""
    return (
        other.pod_class is pod.pod_class
        and other.label_group is pod.label_group
        and is_plain(other)
        and other.spec.scheduler_name == pod.spec.scheduler_name
        and other.pod.metadata.owner_references == pod.pod.metadata.owner_references
    )


def is_plain(pod: PodInfo) -> bool:
    """Whether the pod asks for nothing that depends on more than a node and the pods there."""
    return (
        pod.affinity_class is None
        and not pod.spec.volumes
        and not pod.spec.resource_claims
        and not pod.spec.topology_spread_constraints
        and not pod.pod.status.nominated_node_name
    )


class Series:
    """One search for as many members as it serves."""

    def __init__(self, runner: Runner, search: Search) -> None:
        self._runner = runner
        self._search = search
        self._first = search.pod

    @classmethod
    def begin(cls, runner: Runner, pod: PodInfo, seed: int) -> "Series | None":
        """None where more than kept columns decide on the pod, or where a plugin breaks: the pod's own cycle tells."""
        if runner.extenders or len(runner.snapshot.nominations) or runner.scoring.is_empty:
            return None
        nodes = len(runner.snapshot.nodes)
        if wanted_nodes(nodes, runner.profile.percentage_of_nodes_to_score, adaptive=False) < nodes:
            return None
        runner.chance.enter(seed)
        try:
            return cls._begun(runner, pod)
        except PluginError:
            return None
        finally:
            runner.chance.leave()

    @classmethod
    def _begun(cls, runner: Runner, pod: PodInfo) -> "Series | None":
        if runner.timing is not None:
            runner.timing.begin_cycle()
        search = runner.filtering.begin(pod)
        if search.rejection is not None or not runner.filtering.is_simple(search):
            return None
        rows = search.columns.first_rows()
        if runner.timing is not None:
            runner.timing.ran("Filter", Code.SUCCESS.label, runner.timing.clock() - search.seconds)
        if len(rows) < 2 or runner.scoring.prepare(search, rows):
            return None
        return cls(runner, search)

    def serves(self, pod: PodInfo) -> bool:
        """Whether this is one more of them."""
        return are_alike(self._first, pod)

    def place(self, pod: PodInfo, seed: int) -> Placement | None:
        """Where the next goes, on the cluster as it now is; None where it takes the pod's own cycle to say."""
        runner, search = self._runner, self._search
        runner.chance.enter(seed)
        try:
            columns = runner.filtering.columns_of(pod)
            rows = columns.first_rows()
            if columns is not search.columns or len(rows) < 2 or len(runner.snapshot.nominations):
                return None
            columns.scores.prepare(rows)
            columns.scores.check(rows)
            row = columns.scores.one_of_the_best(columns.stages[0].passing, seed)
        except PluginError:
            return None
        finally:
            runner.chance.leave()
        return Placement(pod, runner.snapshot.nodes.infos[row].name, search.state.clone(), len(rows))
