"""Pod affinity terms, compiled."""

import pytest

from moorage.errors import InputError
from moorage.objects import LabelSelector, LabelSelectorRequirement, PodAffinityTerm
from moorage.testing import ZONE, a_pod
from moorage.values.podaffinity import NO_TERMS, compile_affinity_term, pod_affinity_terms

WEB = LabelSelector({"app": "web"})


def test_a_term_without_namespaces_speaks_of_the_pods_own() -> None:
    term = compile_affinity_term(PodAffinityTerm(WEB, topology_key=ZONE), "home")
    assert term.matches("home", {"app": "web"}, {})
    assert not term.matches("away", {"app": "web"}, {})
    assert not term.matches("home", {"app": "db"}, {})


def test_namespaces_by_name_or_by_label() -> None:
    term = compile_affinity_term(
        PodAffinityTerm(WEB, namespaces=("named",), namespace_selector=LabelSelector({"team": "red"})), "home"
    )
    assert term.matches("named", {"app": "web"}, {})
    assert term.matches("other", {"app": "web"}, {"team": "red"})
    assert not term.matches("home", {"app": "web"}, {"team": "blue"})


def test_an_empty_namespace_selector_means_every_namespace() -> None:
    term = compile_affinity_term(PodAffinityTerm(WEB, namespace_selector=LabelSelector()), "home")
    assert term.matches("anywhere", {"app": "web"}, {})


def test_a_term_without_selector_matches_no_pod() -> None:
    assert not compile_affinity_term(PodAffinityTerm(), "home").matches("home", {}, {})


def test_all_kinds_of_terms_and_wishes_without_weight_left_out() -> None:
    pod = a_pod().near(app="a").away_from(app="b").prefers_near(5, app="c").prefers_near(0, app="d")
    terms = pod_affinity_terms(pod.prefers_away_from(7, app="e").build())
    assert (len(terms.required_affinity), len(terms.required_anti_affinity)) == (1, 1)
    assert [wish.weight for wish in terms.preferred_affinity] == [5]
    assert [wish.weight for wish in terms.preferred_anti_affinity] == [7]
    assert not terms.is_empty


def test_none_at_all() -> None:
    assert pod_affinity_terms(a_pod().requires_nodes("disk", "Exists").build()) is NO_TERMS
    assert NO_TERMS.is_empty


def test_a_malformed_selector_is_an_error() -> None:
    bad = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "Like", ("web",)),))
    with pytest.raises(InputError, match='"Like" is not a valid label selector operator'):
        compile_affinity_term(PodAffinityTerm(bad), "home")
