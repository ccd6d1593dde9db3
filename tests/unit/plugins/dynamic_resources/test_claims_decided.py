"""Pods with claims, decided: which devices they get, or why none."""

from typing import Any

import pytest
from tests.unit.plugins.dynamic_resources.builders import a_claim, a_class, a_request, a_slice, allocated

from moorage.attempt.placing import Placed, Placer
from moorage.cluster import ClusterState
from moorage.columns import Snapshot
from moorage.config import parse_config
from moorage.engine import Failure, Placement, make_engine
from moorage.engine.engine import Engine
from moorage.framework.status import Code
from moorage.objects import Allocation, KubeObject, PodResourceClaim, ResourceClaim
from moorage.plugins.dynamic_resources.state import KEY, PodDevices
from moorage.testing import PodBuilder, a_node, a_pod


def pod_with(*claims: str, name: str = "p") -> PodBuilder:
    return a_pod(name).spec(resource_claims=tuple(PodResourceClaim(one, one) for one in claims))


def engine_of(*objects: KubeObject, nodes: tuple[str, ...] = ("n",)) -> Engine:
    return make_engine(Snapshot.of([*(a_node(one).build() for one in nodes), *objects]))


def schedule(engine: Engine, pod: PodBuilder, *objects: KubeObject) -> Placement | Failure:
    for item in objects:
        engine.snapshot.objects.set(item)
    outcome = engine.schedule(engine.snapshot.info(pod.build()))
    if isinstance(outcome, Placement):
        placed = Placer(cluster=ClusterState(engine.snapshot), engine=engine).reserve(outcome)
        assert isinstance(placed, Placed)
    return outcome


def reserved(outcome: Placement | Failure) -> list[Allocation]:
    assert isinstance(outcome, Placement), outcome
    devices: PodDevices = outcome.state.read(KEY)
    return [devices.reserved[place] for place in sorted(devices.reserved)]


def names(allocation: Allocation) -> list[str]:
    return [f"{one.request}:{one.device}" for one in allocation.devices.results]


def refusal(outcome: Placement | Failure) -> str:
    assert isinstance(outcome, Failure)
    return outcome.full_message


GPUS = [
    {"name": "d0", "attributes": {"model": {"string": "a"}, "index": {"int": 0}}},
    {"name": "d1", "attributes": {"model": {"string": "b"}, "index": {"int": 1}}},
    {"name": "d2", "attributes": {"index": {"int": 2}}},
    {"name": "d3", "attributes": {"model": {"string": "b"}, "index": {"int": 3}}},
]


@pytest.mark.parametrize(
    ("requests", "devices", "constraints", "expected"),
    [
        ([a_request()], ["d0", "d1"], [], ["one:d0"]),
        ([a_request(count=2)], ["d0", "d1", "d2"], [], ["one:d0", "one:d1"]),
        ([a_request(allocationMode="All")], ["d0", "d1"], [], ["one:d0", "one:d1"]),
        # The second request can only have d0, so the first has to give it up.
        (
            [a_request("one"), a_request("two", 'device.attributes["gpu.example.com"].index == 0')],
            GPUS,
            [],
            ["one:d1", "two:d0"],
        ),
        # d2 has no model and cannot match; d0 matches nobody.
        ([a_request(count=2)], GPUS, [{"matchAttribute": "gpu.example.com/model"}], ["one:d1", "one:d3"]),
        ([a_request(count=2)], GPUS, [{"distinctAttribute": "gpu.example.com/model"}], ["one:d0", "one:d1"]),
    ],
)
def test_the_first_solution_in_order(
    requests: list[Any], devices: list[Any], constraints: list[Any], expected: list[str]
) -> None:
    engine = engine_of(a_class(), a_slice("pool", *devices), a_claim("c", *requests, constraints=constraints))
    (allocation,) = reserved(schedule(engine, pod_with("c")))
    assert names(allocation) == expected


def test_pools_by_name_slices_by_name_devices_as_listed() -> None:
    one = a_slice("sb", "d0", pool={"name": "pool", "resourceSliceCount": 2})
    two = a_slice("sa", "d9", "d1", pool={"name": "pool", "resourceSliceCount": 2})
    waiting = {"name": "w", "bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]}
    engine = engine_of(a_class(), one, two, a_slice("a", waiting), a_claim("c", a_request(count=4)))
    (allocation,) = reserved(schedule(engine, pod_with("c")))
    assert names(allocation) == ["one:d9", "one:d1", "one:d0", "one:w"]


def test_what_is_reserved_is_not_given_twice() -> None:
    engine = engine_of(a_class(), a_slice("pool", "d0"), a_claim("c"), a_claim("d"))
    assert names(reserved(schedule(engine, pod_with("c")))[0]) == ["one:d0"]
    assert "cannot allocate all claims" in refusal(schedule(engine, pod_with("d", name="q")))
    assert "resource claim default/c is in the process of being allocated" in refusal(
        schedule(engine, pod_with("c", name="r"))
    )


def test_an_undone_reservation_frees_its_devices() -> None:
    engine = engine_of(a_class(), a_slice("pool", "d0"), a_claim("c"), a_claim("d"))
    placer = Placer(cluster=ClusterState(engine.snapshot), engine=engine)
    placement = engine.schedule(engine.snapshot.info(pod_with("c").build()))
    assert isinstance(placement, Placement)
    placed = placer.reserve(placement)
    assert isinstance(placed, Placed)
    placer.undo(placed)
    assert names(reserved(schedule(engine, pod_with("d", name="q")))[0]) == ["one:d0"]


def test_what_is_tried_only_is_given_back() -> None:
    engine = engine_of(a_class(), a_slice("pool", "d0"), a_claim("c"), a_claim("d"))
    with engine.snapshot.tentative():
        schedule(engine, pod_with("c"))
        engine.snapshot.objects.set(a_claim("d", status=allocated("d0", pool="pool")))
        engine.snapshot.objects.remove(a_class())
        assert "device class gpu does not exist" in refusal(schedule(engine, pod_with("c2", name="r"), a_claim("c2")))
    assert not engine.snapshot.claims.is_taken(("gpu.example.com", "pool", "d0"))
    assert names(reserved(schedule(engine, pod_with("d", name="q")))[0]) == ["one:d0"]


def test_no_update_of_a_claim_drops_what_is_in_flight() -> None:
    engine = engine_of(a_class(), a_slice("pool", "d0"), a_claim("c"), a_claim("d"))
    schedule(engine, pod_with("c"))
    engine.snapshot.objects.set(a_claim("c"))
    assert "cannot allocate all claims" in refusal(schedule(engine, pod_with("d", name="q")))


def test_an_older_version_that_arrives_late_changes_nothing() -> None:
    engine = engine_of(a_class(), a_slice("pool", "d0"), a_claim("c"), a_claim("d"))
    written = a_claim("c", status=allocated("d0", pool="pool"))
    newer = ResourceClaim(_at_version(written, "7"), written.spec, written.status)
    assert engine.snapshot.claims.assume(newer)
    engine.snapshot.objects.set(ResourceClaim(_at_version(written, "6"), written.spec))
    assert engine.snapshot.claims.is_held(("gpu.example.com", "pool", "d0"))
    assert "cannot allocate all claims" in refusal(schedule(engine, pod_with("d")))


def _at_version(claim: ResourceClaim, version: str) -> Any:
    tree = {name: getattr(claim.metadata, name) for name in claim.metadata.__struct_fields__}
    return type(claim.metadata)(**{**tree, "resource_version": version})


def test_the_better_alternative_scores_more() -> None:
    best, rest = (
        {"name": name, "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
        for name, count in (("big", 2), ("small", 1))
    )
    engine = engine_of(
        a_class(),
        a_slice("x", "d0", nodeName="x"),
        a_slice("y", "d0", "d1", nodeName="y"),
        a_claim("c", {"name": "one", "firstAvailable": [best, rest]}),
        nodes=("x", "y"),
    )
    decision = engine.explain(engine.snapshot.info(pod_with("c").build()))
    assert {node: scores["DynamicResources"] for node, scores in decision.scores.items()} == {"x": 174, "y": 200}
    (allocation,) = reserved(schedule(engine, pod_with("c")))
    assert names(allocation) == ["one/big:d0", "one/big:d1"]


def test_a_claim_for_one_node_keeps_the_pod_there() -> None:
    claim = a_claim("c", status=allocated("d0", pool="y", node="y"))
    engine = engine_of(a_class(), claim, nodes=("x", "y"))
    outcome = schedule(engine, pod_with("c"))
    assert isinstance(outcome, Placement)
    assert outcome.node_name == "y"


def test_a_claim_that_is_in_the_way_is_given_back() -> None:
    gone = a_claim("c", status=allocated("d0", pool="z", node="z"))
    engine = engine_of(a_class(), gone, nodes=("x", "y"))
    outcome = engine.schedule(engine.snapshot.info(pod_with("c").build()))
    assert isinstance(outcome, Failure)
    assert outcome.deallocated == "default/c"
    assert outcome.effect is not None
    assert "resourceclaim not available on the node" in outcome.message


def test_counters_are_shared_by_partitions() -> None:
    half = {"consumesCounters": [{"counterSet": "board", "counters": {"memory": {"value": "6Gi"}}}]}
    counters = [{"name": "board", "counters": {"memory": {"value": "10Gi"}}}]
    devices = a_slice(
        "devices", {"name": "a", **half}, {"name": "b", **half}, pool={"name": "p", "resourceSliceCount": 2}
    )
    shared = a_slice("counters", sharedCounters=counters, pool={"name": "p", "resourceSliceCount": 2})
    engine = engine_of(a_class(), devices, shared, a_claim("c"), a_claim("d"))
    assert names(reserved(schedule(engine, pod_with("c")))[0]) == ["one:a"]
    assert "cannot allocate all claims" in refusal(schedule(engine, pod_with("d", name="q")))


def test_a_shared_device_is_full_when_its_capacity_is() -> None:
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "2Gi", "max": "9Gi"}}
    device = {
        "name": "d",
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "10Gi", "requestPolicy": policy}},
    }
    claims = [a_claim(name, a_request(capacity={"requests": {"memory": "4000Mi"}})) for name in ("c", "d", "e")]
    engine = engine_of(a_class(), a_slice("pool", device), *claims)
    (first,) = reserved(schedule(engine, pod_with("c")))
    (result,) = first.devices.results
    assert result.consumed_capacity == {"memory": "5Gi"}
    assert result.share_id is not None
    (second,) = reserved(schedule(engine, pod_with("d", name="q")))
    assert second.devices.results[0].share_id not in (None, result.share_id)
    assert "cannot allocate all claims" in refusal(schedule(engine, pod_with("e", name="r")))


def test_taints_keep_off_who_does_not_tolerate_them() -> None:
    tainted = {"name": "d", "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}
    tolerant = a_request(tolerations=[{"key": "k", "operator": "Exists"}])
    engine = engine_of(a_class(), a_slice("pool", tainted), a_claim("c"), a_claim("d", tolerant))
    assert "cannot allocate all claims" in refusal(schedule(engine, pod_with("c")))
    assert names(reserved(schedule(engine, pod_with("d", name="q")))[0]) == ["one:d"]


def test_administrators_share_with_anybody() -> None:
    engine = engine_of(a_class(), a_slice("pool", "d"), a_claim("c", a_request(adminAccess=True)), a_claim("d"))
    assert names(reserved(schedule(engine, pod_with("c")))[0]) == ["one:d"]
    assert names(reserved(schedule(engine, pod_with("d", name="q")))[0]) == ["one:d"]


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (
            a_request("one", "device.nothing"),
            "claim default/c: selector #0: CEL compile error: compilation failed: ERROR: <input>:1:7",
        ),
        (a_request("one", 'device.attributes["x"].y == 1'), "CEL runtime error: no such key: y"),
        (
            a_request("one", count=33),
            "claim default/c, request one: adding 33 devices exceeds the claim limit of 32, with 0",
        ),
    ],
)
def test_a_broken_claim_breaks_the_attempt(request_: dict[str, Any], text: str) -> None:
    engine = engine_of(a_class(), a_slice("pool", "d"), a_claim("c", request_))
    outcome = schedule(engine, pod_with("c"))
    assert isinstance(outcome, Failure)
    assert outcome.is_error
    assert text in outcome.message


@pytest.mark.parametrize(
    ("pod", "text"),
    [
        (pod_with("missing"), 'could not find ResourceClaim "default/missing"'),
        (
            a_pod("p").spec(resource_claims=(PodResourceClaim("c", resource_claim_template_name="t"),)),
            'pod "default/p": ResourceClaim not created yet',
        ),
    ],
)
def test_a_pod_waits_for_its_claims(pod: PodBuilder, text: str) -> None:
    engine = engine_of(a_class())
    info = engine.snapshot.info(pod.build())
    plugin = engine.runner_of(info).profile.plugins["DynamicResources"]
    status = plugin.pre_enqueue(info)
    assert status is not None
    assert (status.code, status.message) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)


def test_an_unknown_class_is_no_error() -> None:
    engine = engine_of(a_slice("pool", "d"), a_claim("c"))
    assert "request one: device class gpu does not exist" in refusal(schedule(engine, pod_with("c")))


def test_a_resource_that_a_class_stands_for_is_served_by_devices() -> None:
    engine = engine_of(
        a_class("gpu", extendedResourceName="example.com/gpu"),
        a_slice("x", "d0", "d1", nodeName="x"),
        nodes=("x", "y"),
    )
    pod = a_pod("p").requests({"example.com/gpu": "2", "cpu": "1"})
    (allocation,) = reserved(schedule(engine, pod))
    assert names(allocation) == ["container-0-request-1:d0", "container-0-request-1:d1"]
    assert "cannot allocate all claims" in refusal(schedule(engine, a_pod("q").requests({"example.com/gpu": "1"})))


def test_a_new_class_counts_at_once() -> None:
    engine = engine_of(a_slice("x", "d0", nodeName="x"), nodes=("x",))
    pod = a_pod("p").requests({"example.com/gpu": "1"})
    assert "Insufficient example.com/gpu" in refusal(schedule(engine, pod))
    engine.snapshot.objects.set(a_class("gpu", extendedResourceName="example.com/gpu"))
    assert len(reserved(schedule(engine, pod))) == 1


def test_what_breaks_while_preemption_is_tried_does_not_break_the_attempt() -> None:
    """The node refuses for its pods; with them away its devices are looked at, and one cannot be asked."""
    engine = engine_of(a_class(), a_slice("s", {"name": "d0"}), nodes=())
    engine.snapshot.add(a_node("n").allocatable(cpu="1").build())
    engine.snapshot.add(a_pod("low").requests(cpu="1").on("n").build())
    asked = a_claim("c", a_request("one", 'device.attributes["gpu.example.com"].model == "a"'))
    outcome = schedule(engine, pod_with("c").requests(cpu="1").priority(10), asked)
    assert isinstance(outcome, Failure)
    assert not outcome.is_error
    assert outcome.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert outcome.post_filter_message.startswith(
        'preemption: running "DynamicResources" filter plugin: claim default/c'
    )


def test_searches_are_measured_and_those_given_up_are_counted() -> None:
    devices = [{"name": f"d{index}", "attributes": {"a": {"int": index}}} for index in range(60)]
    snapshot = Snapshot.of([a_node("n").build(), a_class(), a_slice("s", *devices)])
    arguments = {"name": "DynamicResources", "args": {"filterTimeout": "1ms"}}
    tree = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [arguments]}],
    }
    engine = make_engine(snapshot, parse_config(tree))
    plugin = engine.runner_of(engine.snapshot.info(a_pod().build())).profile.plugins["DynamicResources"]
    (seconds,), (exhausted,) = plugin.histograms(), plugin.counters()
    schedule(engine, pod_with("c"), a_claim("c"))
    assert seconds.name == "moorage_device_search_seconds"
    assert sum(seconds.seen.counts) == 2  # to filter, and to reserve
    assert exhausted.values == {(): 0}
    alike = [{"matchAttribute": "gpu.example.com/a"}]
    asked = a_claim("two", a_request("one", count=2), constraints=alike)
    outcome = schedule(engine, pod_with("two", name="q"), asked)
    assert "timed out trying to allocate devices" in refusal(outcome)
    assert exhausted.values == {(): 1}
