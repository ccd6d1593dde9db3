"""The bounds by which NodeVolumeLimits leaves most nodes uncounted."""

from tests.unit.plugins.volumes.volume_builders import Cluster, attachment, csi_node, ephemeral, node, of_claim, pod

from moorage.columns import ChangeLog
from moorage.plugins.volumes.volume_columns import NO_LIMIT, UNCOUNTABLE, AtMostAttached, LimitColumns


def test_claims_of_pods_and_attachments_are_added_up_as_they_come_and_go() -> None:
    cluster = Cluster(node("a"), node("b"), pod("there", of_claim("c"), of_claim("d"), on="a"))
    nodes = cluster.snapshot.nodes
    bound = AtMostAttached(nodes, cluster.snapshot.objects)
    assert bound.column()[nodes.rows].tolist() == [2, 0]

    one, none = cluster.info(pod("one", of_claim("c"))), cluster.info(pod("none", {"emptyDir": {}}))
    nodes.add_pod(one, "b")
    nodes.add_pod(none, "b")
    cluster.snapshot.add(attachment("1", "b", "v"))
    assert bound.column()[nodes.rows].tolist() == [2, 2]

    nodes.remove_pod(one, "b")
    assert bound.column()[nodes.rows].tolist() == [2, 1]


def test_pods_that_must_be_looked_at_more_closely_are_beyond_every_limit() -> None:
    inline = {"cinder": {"volumeID": "v"}}
    cluster = Cluster(node("a"), node("b"), pod("e", ephemeral(), on="a"), pod("i", inline, on="b"))
    nodes = cluster.snapshot.nodes

    assert AtMostAttached(nodes, cluster.snapshot.objects).column()[nodes.rows].tolist() == [UNCOUNTABLE] * 2


def test_a_reader_that_fell_behind_the_log_counts_anew() -> None:
    cluster = Cluster(node("a"))
    nodes = cluster.snapshot.nodes
    nodes.pod_changes = ChangeLog(keep=1)
    bound = AtMostAttached(nodes, cluster.snapshot.objects)
    assert bound.column()[nodes.rows].tolist() == [0]

    nodes.add_pod(cluster.info(pod("kept", of_claim("c"))), "a")
    for at in range(3):
        nodes.add_pod(cluster.info(pod(f"plain-{at}")), "a")

    assert nodes.pod_changes.since(0) is None
    assert bound.column()[nodes.rows].tolist() == [1]


def test_limits_follow_csi_nodes_and_nodes() -> None:
    cluster = Cluster(node("a"), node("b"), node("c"), csi_node("a", {"d": 3}), csi_node("b", {"d": None}))
    nodes = cluster.snapshot.nodes
    limits = LimitColumns(nodes, cluster.snapshot.objects)

    limits.refresh()
    column = limits.of_driver("d")
    assert column is not None
    assert column[nodes.rows].tolist() == [3, NO_LIMIT, NO_LIMIT]
    assert limits.has_csi_node[nodes.rows].tolist() == [True, True, False]
    assert limits.is_limited[nodes.rows].tolist() == [True, False, False]
    assert limits.of_driver("unknown") is None

    cluster.snapshot.add(csi_node("c", {"d": 1}))
    cluster.snapshot.add(node("e"))
    limits.refresh()
    column = limits.of_driver("d")
    assert column is not None
    assert column[nodes.rows].tolist() == [3, NO_LIMIT, 1, NO_LIMIT]
