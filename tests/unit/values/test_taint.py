"""Taints and tolerations."""

import pytest

from moorage.objects import Taint, Toleration
from moorage.testing import Cluster, a_node, a_pod
from moorage.values.taint import count_unpreferred, first_untolerated, tolerates

GPU = Taint("gpu", "yes", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        (Toleration("gpu", "Equal", "yes", "NoSchedule"), True),
        (Toleration("gpu", "", "yes"), True),
        (Toleration("gpu", "Exists"), True),
        (Toleration("", "Exists"), True),
        (Toleration("", "Exists", effect="NoSchedule"), True),
        (Toleration("gpu", "Equal", "no"), False),
        (Toleration("gpu", "Equal"), False),
        (Toleration("cpu", "Exists"), False),
        (Toleration("gpu", "Exists", effect="NoExecute"), False),
        (Toleration("gpu", "Gt", "1"), False),
        (Toleration("gpu", "Lt", "1"), False),
        (Toleration("", "", "yes"), True),
        (Toleration("", "Equal", ""), False),
    ],
)
def test_toleration(toleration: Toleration, fits: bool) -> None:
    assert tolerates(toleration, GPU) is fits


def test_the_first_taint_that_keeps_pods_away_is_found() -> None:
    soft, hard = Taint("slow", effect="PreferNoSchedule"), Taint("drain", effect="NoExecute")
    assert first_untolerated((soft, GPU, hard), ()) is GPU
    assert first_untolerated((soft, GPU, hard), (Toleration("gpu", "Exists"),)) is hard
    assert first_untolerated((soft,), ()) is None


def test_soft_taints_are_counted() -> None:
    taints = (Taint("a", effect="PreferNoSchedule"), Taint("b", effect="PreferNoSchedule"), GPU)
    assert count_unpreferred(taints, ()) == 2
    assert count_unpreferred(taints, (Toleration("a", "Exists"),)) == 1


@pytest.mark.parametrize(
    ("operator", "asked", "there", "tolerated"),
    [
        ("Lt", "5", "4", True),
        ("Lt", "5", "5", False),
        ("Gt", "-5", "-4", True),
        ("Gt", "5", "05", False),
        ("Gt", "+1", "5", False),
        ("Lt", "9223372036854775808", "1", False),
        ("Gt", "", "1", False),
    ],
)
def test_numbers_are_compared(operator: str, asked: str, there: str, tolerated: bool) -> None:
    taint = Taint(key="k", value=there, effect="NoSchedule")
    assert tolerates(Toleration(key="k", operator=operator, value=asked), taint) is tolerated


def test_comparisons_count_only_with_their_gate() -> None:
    cluster = Cluster(a_node("n").taint("rank", "3"))
    pod = a_pod().spec(tolerations=(Toleration(key="rank", operator="Lt", value="5", effect="NoSchedule"),))
    assert not cluster.decide(pod).chosen
    assert cluster.decide(pod, gates={"TaintTolerationComparisonOperators": True}).chosen == "n"
