"""Node selectors, and what a pod requires of its node."""

import pytest

from moorage.errors import InputError
from moorage.objects import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from moorage.testing import Cluster, a_node, a_pod
from moorage.values.nodeselector import (
    compile_node_selector,
    compile_preferred,
    compile_term,
    required_node_affinity,
    required_terms,
)


def expressions(*items: tuple[str, str, tuple[str, ...]]) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=tuple(NodeSelectorRequirement(*item) for item in items))


def fields(*items: tuple[str, str, tuple[str, ...]]) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=tuple(NodeSelectorRequirement(*item) for item in items))


def test_a_term_needs_all_its_requirements_and_one_term_is_enough() -> None:
    ssd_in_a = expressions(("disk", "In", ("ssd",)), ("zone", "In", ("a",)))
    selector = compile_node_selector(NodeSelector((ssd_in_a, expressions(("gpu", "Exists", ())))))
    assert selector.matches("n", {"disk": "ssd", "zone": "a"})
    assert selector.matches("n", {"gpu": ""})
    assert not selector.matches("n", {"disk": "ssd", "zone": "b"})


def test_comparisons_take_integers() -> None:
    selector = compile_node_selector(NodeSelector((expressions(("rank", "Gt", ("3",)), ("rank", "Lt", ("9",))),)))
    assert selector.matches("n", {"rank": "5"})
    assert not selector.matches("n", {"rank": "3"})
    assert not selector.matches("n", {"rank": "nine"})
    assert not selector.matches("n", {})


def test_fields_speak_of_the_name() -> None:
    selector = compile_node_selector(NodeSelector((fields(("metadata.name", "In", ("n1",))),)))
    assert selector.matches("n1", {})
    assert not selector.matches("n2", {})
    others = compile_node_selector(NodeSelector((fields(("metadata.name", "NotIn", ("n1",))),)))
    assert [others.matches(name, {}) for name in ("n1", "n2")] == [False, True]


def test_a_term_without_requirements_matches_no_node() -> None:
    assert compile_term(NodeSelectorTerm()) is None
    assert not compile_node_selector(NodeSelector((NodeSelectorTerm(),))).matches("n", {})
    assert not compile_node_selector(NodeSelector()).matches("n", {})


@pytest.mark.parametrize(
    "term",
    [
        expressions(("disk", "Like", ("ssd",))),
        expressions(("rank", "Gt", ("three",))),
        expressions(("rank", "Gt", ("1", "2"))),
        fields(("metadata.name", "In", ("n1", "n2"))),
        fields(("metadata.name", "Exists", ())),
        expressions(("disk", "NotIn", ("no label value: ___@#$%^",))),
        expressions(("no label key", "DoesNotExist", ())),
    ],
)
def test_a_malformed_term_never_matches_but_leaves_the_others_standing(term: NodeSelectorTerm) -> None:
    with pytest.raises(InputError):
        compile_term(term)
    good = expressions(("gpu", "Exists", ()))
    assert compile_node_selector(NodeSelector((term, good))).matches("n1", {"gpu": "", "rank": "5"})
    assert not compile_node_selector(NodeSelector((term,))).matches("n1", {"disk": "ssd", "rank": "5"})


def test_fields_that_nodes_do_not_have_count_as_empty() -> None:
    for operator, matches in (("In", False), ("NotIn", True)):
        selector = compile_node_selector(NodeSelector((fields(("metadata.uid", operator, ("x",))),)))
        assert selector.matches("n1", {}) is matches
        wanted = NodeAffinity(
            required_during_scheduling_ignored_during_execution=NodeSelector(
                (fields(("metadata.uid", operator, ("x",))),)
            )
        )
        decided = Cluster(a_node("n1")).decide(a_pod().spec(affinity=Affinity(node_affinity=wanted)))
        assert (decided.chosen == "n1") is matches


def test_preferences_without_weight_or_requirement_count_for_nothing() -> None:
    good = expressions(("gpu", "Exists", ()))
    wishes = [PreferredSchedulingTerm(0, good), PreferredSchedulingTerm(5), PreferredSchedulingTerm(7, good)]
    assert [weight for weight, _ in compile_preferred(wishes)] == [7]


def test_a_malformed_preference_is_an_error() -> None:
    with pytest.raises(InputError) as refusal:
        compile_preferred([PreferredSchedulingTerm(1, expressions(("disk", "Like", ())))])
    assert str(refusal.value) == (
        '[0].matchExpressions[0].operator: Unsupported value: "Like": '
        'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
    )


def test_what_a_pod_requires() -> None:
    assert required_node_affinity(a_pod().build()).is_trivial
    both = required_node_affinity(a_pod().node_selector(disk="ssd").requires_nodes("zone", "In", "a").build())
    assert both.matches("n", {"disk": "ssd", "zone": "a"})
    assert not both.matches("n", {"disk": "ssd"})
    assert not both.matches("n", {"zone": "a"})


def test_an_affinity_without_required_part_requires_nothing() -> None:
    assert required_terms(None) is None
    assert required_terms(NodeAffinity()) is None
