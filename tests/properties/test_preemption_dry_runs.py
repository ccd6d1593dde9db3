"""A dry run of preemption finds what really removing pods would show.

The reference knows neither add_pod and remove_pod nor sums: for every set of pods taken away it makes a new cluster
and decides on that.
"""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.random_clusters import CONFIGS, NODE_NAMES, SURROUNDINGS, make_node, make_pod, pod_traits

from moorage.columns import PodInfo, Snapshot
from moorage.config import parse_config
from moorage.engine import Answers, Cycle, Engine, make_engine
from moorage.framework.status import Code, Status
from moorage.objects import KubeObject, Pod, PodDisruptionBudget
from moorage.plugins.default_preemption.budgets import Budgets, PreemptionRules
from moorage.plugins.default_preemption.candidates import Candidate, DryRuns, by_importance

PARSED = {name: parse_config(document) for name, document in CONFIGS.items()}
NODE_KINDS = ("one cpu", "room for 2", "zone a", "zone b", "gpus", "ssd", "gpu taint")


@dataclass(frozen=True)
class Crowd:
    """A crowded cluster and an important pod that comes along."""

    config: str
    nodes: list[list[str]]
    pods: list[tuple[list[str], int]]
    newcomer: list[str]
    promised: list[str] | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its nodes."""
        return NODE_NAMES[: len(self.nodes)]

    @property
    def objects(self) -> list[KubeObject]:
        """Everything in it."""
        nodes = [make_node(name, traits) for name, traits in zip(self.names, self.nodes, strict=True)]
        pods = [
            make_pod(f"p{number}", traits, node=self.names[node % len(self.names)])
            for number, (traits, node) in enumerate(self.pods)
        ]
        waiting = [] if self.promised is None else [make_pod("waiting", self.promised, nominated=self.names[0])]
        return [*SURROUNDINGS, *nodes, *pods, *waiting]


#: Dry runs count the removal of pods that are being deleted although such pods were never counted (a quirk of
#: kube-scheduler's topology spread that is kept), so none of them are in the crowd.
crowd_traits = pod_traits().map(lambda traits: [trait for trait in traits if trait != "terminating"])
crowds = st.builds(
    Crowd,
    st.sampled_from(sorted(CONFIGS)),
    st.lists(st.lists(st.sampled_from(NODE_KINDS), max_size=3, unique=True), min_size=1, max_size=3),
    st.lists(st.tuples(crowd_traits, st.integers(0, 2)), min_size=1, max_size=10),
    pod_traits().map(lambda traits: [*traits, "more important"]),
    st.none() | pod_traits(),
)


RULES = PreemptionRules()


def engine_of(crowd: Crowd, without: frozenset[str] = frozenset()) -> Engine:
    objects = [item for item in crowd.objects if not (isinstance(item, Pod) and item.key in without)]
    return make_engine(Snapshot.of(objects), PARSED[crowd.config])


def fits(crowd: Crowd, newcomer: Pod, node_name: str, gone: set[str]) -> bool:
    engine = engine_of(crowd, frozenset(gone))
    return node_name in engine.explain(engine.snapshot.info(newcomer)).feasible


def expected_victims(crowd: Crowd, newcomer: Pod, potential: list[PodInfo], node_name: str) -> tuple[set[str], int]:
    """Who must go and how many of them a budget guards, found by putting back one pod after the other."""
    guards = (item for item in SURROUNDINGS if isinstance(item, PodDisruptionBudget))
    budgets = Budgets(guards, RULES)
    violating, sparing = budgets.split(by_importance(potential, RULES))
    gone = {pod.key for pod in potential}
    for other in violating + sparing:
        if fits(crowd, newcomer, node_name, gone - {other.key}):
            gone.remove(other.key)
    return gone, sum(pod.key in gone for pod in violating)


@settings(max_examples=60, deadline=None)
@given(crowds)
def test_victims_are_those_that_really_have_to_go(crowd: Crowd) -> None:
    newcomer = make_pod("new", crowd.newcomer)
    engine = engine_of(crowd)
    info = engine.snapshot.info(newcomer)
    cycle = Cycle(engine.runner_of(info), info, Answers())
    if not cycle.begin() or cycle.search.narrowed is not None:
        return
    budgets = Budgets(engine.snapshot.objects.each(PodDisruptionBudget), RULES)
    handle = engine.runner_of(info).profile.handle
    dry_runs = DryRuns(handle.filters, cycle.search.state, info, budgets, RULES, engine.snapshot)
    for node in engine.snapshot.nodes:
        found = dry_runs.on(node)
        potential = [pod for pod in node.pods.values() if pod.priority < info.priority]
        if not potential or not fits(crowd, newcomer, node.name, {pod.key for pod in potential}):
            assert isinstance(found, Status)
            continue
        gone, violations = expected_victims(crowd, newcomer, potential, node.name)
        if not gone:
            assert isinstance(found, Status)
            assert found.code is Code.ERROR, "it fits as it is: no filter can have refused this node"
            continue
        assert isinstance(found, Candidate)
        assert ({pod.key for pod in found.victims}, found.violations) == (gone, violations)
        assert list(found.victims) == sorted(found.victims, key=lambda pod: -pod.priority)
