"""Why a node has no devices: the request, the device that came closest, and what it lacks."""

from typing import Any

import pytest
from tests.unit.plugins.dynamic_resources.builders import DRIVER, a_claim, a_class, a_request, a_slice, allocated

from moorage.columns import Snapshot
from moorage.engine import make_engine
from moorage.objects import KubeObject, PodResourceClaim
from moorage.testing import a_node, a_pod

INDEX = f'device.attributes["{DRIVER}"].index'
DEVICES: list[dict[str, Any]] = [
    {"name": "d0", "attributes": {"index": {"int": 0}}},
    {"name": "d1", "attributes": {"index": {"int": 1}}, "taints": [{"key": "sick", "effect": "NoSchedule"}]},
    {
        "name": "d2",
        "attributes": {"index": {"int": 2}},
        "capacity": {"memory": {"value": "8Gi"}},
        "allowMultipleAllocations": True,
    },
]


def shortfalls(*requests: dict[str, Any], more: tuple[KubeObject, ...] = (), **devices: Any) -> list[dict[str, Any]]:
    objects = (a_node("n").build(), a_class(), a_slice("p", *DEVICES), *more, a_claim("c", *requests, **devices))
    engine = make_engine(Snapshot.of(objects))
    pod = a_pod().spec(resource_claims=(PodResourceClaim("c", "c"),)).build()
    decision = engine.explain(engine.snapshot.info(pod))
    assert not decision.feasible
    return [dict(one) for one in decision.why_not["n"]]


def test_the_device_that_fails_fewest_tests_is_named() -> None:
    (one,) = shortfalls(a_request("one", f"{INDEX} > 0", f"{INDEX} < 2"))
    assert one == {
        "claim": "default/c",
        "request": "one",
        "wanted": 1,
        "found": 0,
        "device": f"{DRIVER}/p/d0",
        "obstacles": ({"kind": "selector", "detail": f"request #0: {INDEX} > 0"},),
    }


@pytest.mark.parametrize(
    ("request_", "obstacle"),
    [
        (a_request("one", f"{INDEX} == 1"), {"kind": "taint", "detail": "sick=:NoSchedule"}),
        (
            a_request("one", f"{INDEX} == 2", capacity={"requests": {"memory": "9Gi"}}),
            {"kind": "capacity", "detail": "memory"},
        ),
        (a_request("one", f"{INDEX} == 0"), {"kind": "inUse", "detail": "default/other"}),
        (a_request("one", f"{INDEX} == 9"), {"kind": "selector", "detail": f"request #0: {INDEX} == 9"}),
    ],
)
def test_what_a_device_lacks(request_: dict[str, Any], obstacle: dict[str, str]) -> None:
    other = a_claim("other", status=allocated("d0", pool="p"))
    (one,) = shortfalls(request_, more=(other,))
    assert obstacle in one["obstacles"]


def test_enough_for_each_but_not_for_all() -> None:
    both = (a_request("one", f"{INDEX} == 0"), a_request("two", f"{INDEX} == 0"))
    assert shortfalls(*both) == [
        {"claim": "default/c", "wanted": 0, "found": 0, "obstacles": ({"kind": "together", "detail": ""},)}
    ]


def test_an_attribute_that_a_constraint_asks_for() -> None:
    (one,) = shortfalls(a_request("one"), constraints=[{"matchAttribute": f"{DRIVER}/numa"}])
    assert one["obstacles"] == ({"kind": "constraint", "detail": f"{DRIVER}/numa"},)


def test_every_alternative_is_told_of() -> None:
    alternatives = [
        {"name": f"s{index}", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 4 + index}
        for index in range(2)
    ]
    found = shortfalls({"name": "one", "firstAvailable": alternatives})
    assert [(one["request"], one["wanted"], one["found"]) for one in found] == [("one/s0", 4, 2), ("one/s1", 5, 2)]
