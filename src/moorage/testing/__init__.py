"""The testing kit for plugin authors: build a small cluster, decide, and assert on what was decided.

    from moorage.testing import Cluster, a_node, a_pod

    def test_databases_stay_off_spot_nodes() -> None:
        cluster = Cluster(a_node("spot").labels(spot="true"), a_node("steady"))
        decided = cluster.decide(a_pod("db").priority(1000), plugins=[KeepOffSpot])
        decided.assert_chosen("steady")
        assert decided.reasons("spot") == ("node(s) may be reclaimed at any time",)

`a_pod` and `a_node` start builders whose calls chain; every call gives a new builder, so half-built ones can be
shared. A `Cluster` holds objects: builders, API structs or manifests. `Cluster.decide` runs the real engine with the
default plugins and yours, and gives a `Decided`; `Cluster.scheduler` gives a `Scheduler` that places pod after pod.
`Cluster.run` gives a `Run`: the whole scheduler over time that jumps, for gates, queue order, hints, Permit, binding.
`check_plugin(MyPlugin)` tries on many clusters what a plugin promises: both forms agree, Scope is honest, nothing is
touched.
"""

from moorage.testing.checking import check_plugin
from moorage.testing.cluster import Cluster, Scheduler
from moorage.testing.decided import Decided
from moorage.testing.nodes import HOSTNAME, REGION, ZONE, NodeBuilder, a_node
from moorage.testing.pods import PodBuilder, a_pod
from moorage.testing.running import Run
from moorage.testing.touching import Touched

__all__ = [
    "HOSTNAME",
    "REGION",
    "ZONE",
    "Cluster",
    "Decided",
    "NodeBuilder",
    "PodBuilder",
    "Run",
    "Scheduler",
    "Touched",
    "a_node",
    "a_pod",
    "check_plugin",
]
