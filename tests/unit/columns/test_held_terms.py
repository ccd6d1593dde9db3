"""Affinity terms that pods on nodes hold."""

from moorage.columns import Snapshot
from moorage.columns.heldterms import Role
from moorage.testing import PodBuilder, a_node, a_pod


def cluster(*pods: PodBuilder) -> Snapshot:
    return Snapshot.of([a_node("n0").build(), *(pod.on("n0").build() for pod in pods)])


def test_terms_are_found_by_the_pods_they_mean() -> None:
    held = cluster(a_pod("shy").away_from(app="web"), a_pod("other").away_from(app="db")).nodes.held_terms
    (found,) = held.anti_affinity("default", {"app": "web", "tier": "x"}, {})
    assert found.role is Role.REQUIRED_ANTI_AFFINITY
    assert list(found.places()) == [{0: 1}]
    assert held.anti_affinity("elsewhere", {"app": "web"}, {}) == []
    assert held.scored("default", {"app": "web"}, {}) == []


def test_each_role_is_kept_apart_with_its_weight() -> None:
    pod = a_pod("all").near(app="web").prefers_near(5, app="web").prefers_away_from(3, app="web")
    held = cluster(pod).nodes.held_terms
    found = {(one.role, one.weight) for one in held.scored("default", {"app": "web"}, {})}
    assert found == {(Role.REQUIRED_AFFINITY, 0), (Role.PREFERRED, 5), (Role.PREFERRED, -3)}


def test_pods_alike_share_a_term_and_new_ones_do_not_move_the_version() -> None:
    snapshot = cluster(a_pod("one").away_from(app="web"))
    held = snapshot.nodes.held_terms
    version = held.version
    snapshot.nodes.add_pod(snapshot.info(a_pod("two").away_from(app="web").labels(app="x").build()), "n0")
    (found,) = held.anti_affinity("default", {"app": "web"}, {})
    assert list(found.places()) == [{0: 2}]
    assert held.version == version


def test_terms_vanish_with_their_last_holder() -> None:
    snapshot = cluster()
    held, shy = snapshot.nodes.held_terms, snapshot.info(a_pod("shy").away_from(app="web").build())
    assert not held.has_anti_affinity
    snapshot.nodes.add_pod(shy, "n0")
    assert held.has_anti_affinity
    version = held.version
    snapshot.nodes.remove_pod(shy, "n0")
    assert not held.has_anti_affinity
    assert held.version != version


def test_a_term_written_twice_counts_twice() -> None:
    snapshot = cluster(a_pod("twice").away_from(app="web").away_from(app="web"))
    for one in snapshot.nodes.held_terms.anti_affinity("default", {"app": "web"}, {}):
        assert list(one.places()) == [{0: 2}]
    snapshot.nodes.remove_pod(next(iter(snapshot.nodes[0].pods.values())), "n0")
    assert not snapshot.nodes.held_terms.has_anti_affinity
