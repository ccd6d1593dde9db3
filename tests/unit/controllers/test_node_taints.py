"""Taints that conditions call for, and how long pods put up with them."""

from typing import Any

import pytest

from moorage.controllers.nodes.eviction import leaving_time
from moorage.controllers.nodes.taints import wanted_taints
from moorage.controllers.objects.nodes import Node, NodeTaint
from moorage.objects import Toleration, convert

NOW = "2001-09-09T01:46:40Z"
EARLIER = "2001-09-09T01:46:00Z"
UNREACHABLE = "node.kubernetes.io/unreachable"


def node(ready: str = "True", *taints: dict[str, str], pressure: str = "False", **spec: Any) -> Node:
    conditions = [{"type": "Ready", "status": ready}, {"type": "MemoryPressure", "status": pressure}]
    tainted = {"taints": list(taints), **spec}
    return convert({"metadata": {"name": "n"}, "spec": tainted, "status": {"conditions": conditions}}, Node)


def spelled(taints: tuple[NodeTaint, ...]) -> list[str]:
    return [f"{taint.key.removeprefix('node.kubernetes.io/')}:{taint.effect}" for taint in taints]


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        (node(), []),
        (node("False"), ["not-ready:NoSchedule", "not-ready:NoExecute"]),
        (node("Unknown"), ["unreachable:NoSchedule", "unreachable:NoExecute"]),
        (node(pressure="True"), ["memory-pressure:NoSchedule"]),
        (node(unschedulable=True), ["unschedulable:NoSchedule"]),
    ],
)
def test_conditions_call_for_taints(judged: Node, expected: list[str]) -> None:
    assert spelled(wanted_taints(judged, NOW)) == expected


def test_taints_of_others_stay_and_ours_go_when_all_is_well() -> None:
    mine = {"key": "dedicated", "value": "ml", "effect": "NoExecute"}
    stale = {"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": EARLIER}
    assert spelled(wanted_taints(node("True", mine, stale), NOW)) == ["dedicated:NoExecute"]


def test_a_taint_keeps_the_moment_it_began() -> None:
    begun = {"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": EARLIER}
    taints = wanted_taints(node("Unknown", begun), NOW)
    assert [taint.time_added for taint in taints if taint.effect == "NoExecute"] == [EARLIER]
    assert wanted_taints(node("Unknown", *_json(taints)), NOW) == taints


def _json(taints: tuple[NodeTaint, ...]) -> list[dict[str, Any]]:
    return [{"key": each.key, "effect": each.effect, "timeAdded": each.time_added} for each in taints]


def tolerating(seconds: int | None, key: str = "k") -> Toleration:
    return Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=seconds)


BEGUN = 1_000_000_000.0 - 40
TAINT = NodeTaint("k", effect="NoExecute", time_added=EARLIER)
OTHER = NodeTaint("other", effect="NoExecute", time_added=EARLIER)


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        ([], [], None),
        ([TAINT], [], 0.0),
        ([TAINT], [tolerating(None)], None),
        ([TAINT], [tolerating(300)], BEGUN + 300),
        ([TAINT], [tolerating(300), tolerating(60)], BEGUN + 60),
        ([TAINT], [tolerating(-5)], BEGUN),
        ([TAINT, OTHER], [tolerating(300)], 0.0),
        ([TAINT, OTHER], [tolerating(300), tolerating(10, "other")], BEGUN + 10),
    ],
)
def test_pods_leave_when_their_patience_ends(
    taints: list[NodeTaint], tolerations: list[Toleration], expected: float | None
) -> None:
    assert leaving_time(taints, tolerations, now=5.0) == expected
