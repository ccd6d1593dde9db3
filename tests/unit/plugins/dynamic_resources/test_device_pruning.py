"""Looking ahead never changes what is found: the same devices, nothing where there is nothing, the same error."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.plugins.dynamic_resources.builders import a_claim, a_class, a_request, a_slice

from moorage.columns import Snapshot
from moorage.config import features_of
from moorage.config.gates import VERSIONS
from moorage.objects import DeviceClass, ResourceClaim
from moorage.plugins.dynamic_resources.pools import gather
from moorage.plugins.dynamic_resources.rules import BrokenSearch, SearchTooLong, rules_of
from moorage.plugins.dynamic_resources.search import Search
from moorage.testing import a_node

NEVER, ALWAYS = 10**9, 0
MOST_STEPS = 30_000

POOL = {"name": "p", "resourceSliceCount": 2}


@st.composite
def devices(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = []
    for index in range(draw(st.integers(1, 7))):
        attributes = {
            name: {"int": draw(st.integers(0, 2))} for name in ("a", "b") if draw(st.integers(0, 9)) or name == "a"
        }
        device: dict[str, Any] = {"name": f"d{index}", "attributes": attributes}
        if draw(st.booleans()):
            amount = {"value": str(draw(st.integers(1, 4)))}
            device["consumesCounters"] = [{"counterSet": "set", "counters": {"m": amount}}]
        if draw(st.integers(0, 4)) == 0:
            device["allowMultipleAllocations"] = True
            device["capacity"] = {"memory": {"value": str(draw(st.integers(1, 4)))}}
        if draw(st.integers(0, 5)) == 0:
            device["taints"] = [{"key": "k", "effect": "NoSchedule"}]
        found.append(device)
    return found


@st.composite
def requests(draw: st.DrawFn, name: str) -> dict[str, Any]:
    one = draw(st.integers(0, 9))
    selectors = ('device.attributes["gpu.example.com"].b < 2',) if one == 0 else ()
    if one == 1:
        return a_request(name, allocationMode="All")
    if one in (2, 3):
        alternatives = [
            {"name": f"s{index}", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
            for index, count in enumerate(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
        ]
        return {"name": name, "firstAvailable": alternatives}
    return a_request(name, *selectors, count=draw(st.integers(1, 4)), adminAccess=draw(st.integers(0, 6)) == 0)


@st.composite
def claims(draw: st.DrawFn) -> list[ResourceClaim]:
    found = []
    for number in range(draw(st.integers(1, 2))):
        asked = [draw(requests(f"r{index}")) for index in range(draw(st.integers(1, 3)))]
        kinds = st.sampled_from(["matchAttribute", "distinctAttribute"])
        constraints = [
            {
                draw(kinds): f"gpu.example.com/{draw(st.sampled_from('ab'))}",
                "requests": draw(st.sampled_from([[], ["r0"]])),
            }
            for _ in range(draw(st.integers(0, 2)))
        ]
        found.append(a_claim(f"c{number}", *asked, constraints=constraints))
    return found


def found(listed: list[dict[str, Any]], asked: list[ResourceClaim], version: str, look_ahead_after: int) -> object:
    """The devices of each claim; None, or the error."""
    counters = [{"name": "set", "counters": {"m": {"value": "7"}}}]
    snapshot = Snapshot.of(
        [
            a_node("n").build(),
            a_class(),
            a_slice("devices", *listed, pool=POOL),
            a_slice("counters", sharedCounters=counters, pool=POOL),
        ]
    )
    rules = rules_of(features_of(version))
    pools = gather(snapshot.inventory, snapshot.nodes[0], rules)
    search = Search(
        snapshot.nodes[0], pools, snapshot.claims, rules, most_steps=MOST_STEPS, look_ahead_after=look_ahead_after
    )
    try:
        plans = search.find(asked, lambda name: snapshot.objects.get(DeviceClass, name))
    except BrokenSearch as problem:
        return str(problem)
    except SearchTooLong:
        return SearchTooLong
    return plans and [[(one.wanted.full_name, one.device.id) for one in taken] for _, taken in plans]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(devices(), claims(), st.sampled_from(VERSIONS), st.sampled_from([ALWAYS, 5]))
def test_looking_ahead_changes_nothing(
    listed: list[dict[str, Any]], asked: list[ResourceClaim], version: str, after: int
) -> None:
    plain = found(listed, asked, version, NEVER)
    if plain is not SearchTooLong:
        assert found(listed, asked, version, after) == plain


def test_a_hopeless_search_ends() -> None:
    """64 devices, and no eight of them alike in three ways: without looking ahead this is some billion steps."""
    listed = [
        {"name": f"d{i:02}", "attributes": {"a": {"int": i % 5}, "b": {"int": i % 7}, "c": {"int": i % 3}}}
        for i in range(64)
    ]
    constraints = [{"matchAttribute": f"gpu.example.com/{name}"} for name in "abc"]
    asked = [a_claim("c", a_request("one", count=3), a_request("two", count=5), constraints=constraints)]
    assert found(listed, asked, "1.37", 100) is None


def test_counters_of_several_requests_are_added_up() -> None:
    """Each request by itself finds enough; all of them, and one that takes all of what is large, do not."""
    small = [
        {
            "name": f"d{i:02}",
            "attributes": {"a": {"int": i % 2}, "b": {"int": i % 3}, "c": {"int": i // 8}, "large": {"bool": False}},
            "consumesCounters": [{"counterSet": "set", "counters": {"m": {"value": "250m"}}}],
        }
        for i in range(24)
    ]
    large = {
        "name": "large",
        "attributes": {"large": {"bool": True}},
        "consumesCounters": [{"counterSet": "set", "counters": {"m": {"value": "5"}}}],
    }
    is_large = 'device.attributes["gpu.example.com"].large'
    requests = [a_request(f"r{i}", f"!{is_large}", count=4) for i in range(3)]
    constraints = [
        {"matchAttribute": f"gpu.example.com/{name}", "requests": [f"r{i}"]} for i, name in enumerate(("a", "b", "c"))
    ]
    rest = a_request("rest", is_large, allocationMode="All")
    asked = [a_claim("c", *requests, rest, constraints=constraints)]
    assert found([*small, large], asked, "1.37", 100) is None
    assert found([*small, large], asked, "1.37", NEVER) is SearchTooLong
    first = [a_claim("c", rest, *requests, constraints=constraints)]
    assert found([*small, large], first, "1.37", 100) is None
