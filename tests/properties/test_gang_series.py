"""Members that one search serves go where a cycle for each of them would have sent them."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.attempt.gangs import GangRig

from moorage.columns import NodeTable, PodInfo
from moorage.framework.cycle_state import CycleState
from moorage.framework.status import SKIP, Status
from moorage.testing import a_node, a_pod

POINTS = {
    "multiPoint": {"enabled": [{"name": "Coscheduling"}, {"name": "Unaware"}]},
    "queueSort": {"disabled": [{"name": "Coscheduling"}]},
}


class Unaware:
    """Says nothing, nor that it will say the same of others: members are searched for one by one."""

    def pre_filter(self, _state: CycleState, _pod: PodInfo, _nodes: NodeTable) -> Status | None:
        """Leave it out."""
        return SKIP


nodes = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 4)), min_size=1, max_size=8)
members = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 2), st.sampled_from(("", "a", "b"))), min_size=1, max_size=12
)


def placed(
    nodes: Sequence[tuple[int, int]], members: Sequence[tuple[int, int, str]], minimum: int, *, shares: bool
) -> dict[str, str]:
    """Where the members of a gang are."""
    rig = GangRig() if shares else GangRig(plugins=[Unaware], profiles=[{"plugins": POINTS}])
    for number, (cpu, pods) in enumerate(nodes):
        rig.node(
            a_node(f"n{number}")
            .allocatable(cpu=str(cpu), memory="8Gi", pods=str(pods))
            .labels({"zone": str(number % 2)})
        )
    rig.pod(a_pod("before").requests(cpu="1").labels({"app": "a"}))
    rig.settle()
    rig.group("g", minimum)
    for number, (cpu, memory, app) in enumerate(members):
        pod = rig.member("g", f"g-{number}", str(cpu))
        rig.pod(pod.requests(cpu=str(cpu), memory=f"{memory}Gi").labels({"app": app}) if app else pod)
    rig.settle()
    return {
        pod.name: rig.node_of(pod.name)
        for pod in rig.core.cluster.snapshot.groups.members("podgroups.scheduling.x-k8s.io/default/g").all.values()
    }


@given(nodes=nodes, members=members, minimum=st.integers(1, 12))
@settings(max_examples=60)
def test_one_search_for_many_finds_the_places_that_one_for_each_finds(
    nodes: list[tuple[int, int]], members: list[tuple[int, int, str]], minimum: int
) -> None:
    assert placed(nodes, members, minimum, shares=True) == placed(nodes, members, minimum, shares=False)


def test_one_search_serves_a_whole_gang() -> None:
    """The plugins of each cycle are asked about the first of them alone."""
    asked: list[str] = []

    class Counting(Unaware):
        skips_alike = True

        def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeTable) -> Status | None:
            asked.append(pod.name)
            return super().pre_filter(state, pod, nodes)

    points = {**POINTS, "multiPoint": {"enabled": [{"name": "Coscheduling"}, {"name": "Counting"}]}}
    rig = GangRig(plugins=[Counting], profiles=[{"plugins": points}])
    rig.nodes(8)
    rig.gang("a", 8)
    assert len(rig.bound("a")) == 8
    assert len(asked) == 1
