"""How a plugin is tested: build a small cluster, decide, assert."""

from pathlib import Path

from examples.first_plugin.keep_off_spot import KeepOffSpot

from moorage.testing import Cluster, a_node, a_pod

CLUSTER = Cluster(a_node("spot").labels(spot="yes"), a_node("steady"))


def test_important_pods_stay_off_spot_nodes() -> None:
    decided = CLUSTER.decide(a_pod("db").priority(1000), plugins=[KeepOffSpot])
    decided.assert_chosen("steady")
    decided.assert_refused("spot", by="KeepOffSpot", because="may be reclaimed")


def test_all_others_go_there_first() -> None:
    decided = CLUSTER.decide(a_pod("batch"), plugins=[KeepOffSpot])
    decided.assert_chosen("spot")
    assert decided.score("spot", "KeepOffSpot") == 100


def test_the_label_and_the_priority_are_arguments() -> None:
    cluster = Cluster(a_node("spot").labels(preemptible="yes"), a_node("steady"))
    decided = cluster.decide(
        a_pod().priority(5), plugins=[KeepOffSpot], args={KeepOffSpot: {"label": "preemptible", "fromPriority": 5}}
    )
    decided.assert_chosen("steady")


def test_as_configured_in_the_file() -> None:
    cluster = Cluster(a_node("spot").labels({"example.com/spot": "yes"}), a_node("steady"))
    scheduler = cluster.scheduler(plugins=[KeepOffSpot], config=Path(__file__).with_name("scheduler.yaml"))
    scheduler.decide(a_pod("db").priority(500)).assert_chosen("steady")
    assert scheduler.decide(a_pod("batch")).score("spot", "KeepOffSpot") == 1000
