"""What a pod effectively asks of a node."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from moorage.objects import (
    Condition,
    Container,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    Quantities,
    ResourceRequirements,
)
from moorage.testing import a_pod
from moorage.values.requests import (
    DEFAULT_CPU_MILLI,
    DEFAULT_MEMORY_BYTES,
    RequestRules,
    allocatable_amounts,
    container_request,
    is_counted,
    is_extended,
    is_qualified_name,
    is_scalar,
    pod_request,
)

MI = 1024 * 1024


def test_containers_add_up() -> None:
    pod = a_pod().requests(cpu="500m", memory="1Mi").container(requests={"cpu": "1", "example.com/gpu": 2})
    assert pod_request(pod.build()).amounts == {"cpu": 1500, "memory": MI, "example.com/gpu": 2}


def test_fractions_are_rounded_up_after_they_were_added() -> None:
    pod = a_pod().requests(cpu="0.5m", memory="0.5").container(requests={"cpu": "0.5m", "memory": "0.5"})
    assert pod_request(pod.build()).amounts == {"cpu": 1, "memory": 1}


def test_init_containers_run_one_by_one_before_the_others() -> None:
    pod = (
        a_pod()
        .requests(cpu="1")
        .init_container(requests={"cpu": "3"})
        .init_container(requests={"cpu": "2", "memory": "1Mi"})
    )
    assert pod_request(pod.build()).amounts == {"cpu": 3000, "memory": MI}


def test_sidecars_run_beside_the_containers_and_beside_later_init_containers() -> None:
    base = a_pod().requests(cpu="1")
    late = base.init_container(requests={"cpu": "2"}).init_container(requests={"cpu": "3"}, sidecar=True)
    assert pod_request(late.build()).amounts == {"cpu": 4000}
    early = base.init_container(requests={"cpu": "3"}, sidecar=True).init_container(requests={"cpu": "2"})
    assert pod_request(early.build()).amounts == {"cpu": 5000}


def test_overhead_comes_on_top() -> None:
    pod = a_pod().requests(cpu="1").init_container(requests={"cpu": "2"}).overhead(cpu="250m", memory="1Mi")
    assert pod_request(pod.build()).amounts == {"cpu": 2250, "memory": MI}


def test_pod_level_requests_take_the_place_of_the_containers() -> None:
    resources = ResourceRequirements(requests={"cpu": "5", "example.com/gpu": 9})
    pod = a_pod().requests({"example.com/gpu": 1}, cpu="1", memory="1Mi").overhead(cpu="1").spec(resources=resources)
    assert pod_request(pod.build()).amounts == {"cpu": 6000, "memory": MI, "example.com/gpu": 1}
    assert container_request(pod.build(), "cpu", with_defaults=False) == 2000


def test_resources_that_nobody_counts_are_left_out() -> None:
    pod = a_pod().requests({"storage": "1Gi", "pods": "1", "hugepages-2Mi": "4Mi", "ephemeral-storage": "1Ki"}).build()
    assert pod_request(pod).amounts == {"hugepages-2Mi": 4 * MI, "ephemeral-storage": 1024}


def test_containers_that_ask_for_nothing_count_when_nodes_are_scored() -> None:
    request = pod_request(
        a_pod().container(requests={"cpu": "1"}).container(requests={"memory": "1Mi", "cpu": "0"}).build()
    )
    assert request.scored_cpu == DEFAULT_CPU_MILLI + 1000
    assert request.scored_memory == 2 * DEFAULT_MEMORY_BYTES + MI
    assert request.amounts == {"cpu": 1000, "memory": MI}


def test_pod_level_requests_leave_no_room_for_defaults() -> None:
    pod = a_pod().spec(resources=ResourceRequirements(requests={"cpu": "1"})).build()
    assert (pod_request(pod).scored_cpu, pod_request(pod).scored_memory) == (1000, DEFAULT_MEMORY_BYTES)


BY_CONTAINER = RequestRules(resize_totals=False)


def resized(wanted: str, allocated: str, actuated: str, reason: str = "") -> Pod:
    status = ContainerStatus("main", ResourceRequirements(requests={"cpu": actuated}), {"cpu": allocated})
    conditions = (Condition("PodResizePending", "True", reason),) if reason else ()
    return a_pod().requests(cpu=wanted).status(container_statuses=(status,), conditions=conditions).build()


@pytest.mark.parametrize(
    ("pod", "cpu"),
    [
        (resized("1", "1", "1"), 1000),
        (resized("3", "1", "1"), 3000),
        (resized("1", "3", "2"), 3000),
        (resized("1", "2", "3"), 3000),
        (resized("9", "2", "1", reason="Deferred"), 9000),
        (resized("9", "2", "1", reason="Infeasible"), 2000),
    ],
)
def test_the_largest_counts_while_a_resize_is_under_way(pod: Pod, cpu: int) -> None:
    assert pod_request(pod, on_node=True).amounts["cpu"] == cpu


def test_a_resize_concerns_only_pods_on_nodes() -> None:
    assert pod_request(resized("1", "3", "2")).amounts["cpu"] == 1000


def test_the_largest_of_three_totals_counts() -> None:
    """Not the largest of each container: one that grows and one that shrinks do so at the same time."""
    statuses = (
        ContainerStatus("main", ResourceRequirements(requests={"cpu": "1"}), {"cpu": "1"}),
        ContainerStatus("container-1", ResourceRequirements(requests={"cpu": "3"}), {"cpu": "3"}),
    )
    pod = a_pod().requests(cpu="3").container(requests={"cpu": "1"}).status(container_statuses=statuses).build()
    assert [one.name for one in pod.spec.containers] == ["main", "container-1"]
    assert pod_request(pod, on_node=True).amounts["cpu"] == 4000
    assert pod_request(pod, on_node=True, rules=BY_CONTAINER).amounts["cpu"] == 6000


def test_what_the_status_says_of_the_whole_pod_stands_for_its_containers() -> None:
    statuses = (ContainerStatus("main", ResourceRequirements(requests={"cpu": "8"}), {"cpu": "8"}),)
    pod = (
        a_pod()
        .requests(cpu="1")
        .status(
            container_statuses=statuses, resources=ResourceRequirements({"cpu": "2"}), allocated_resources={"cpu": "3"}
        )
    )
    assert pod_request(pod.build(), on_node=True).amounts["cpu"] == 3000
    off = RequestRules(pod_level_resize=False)
    assert pod_request(pod.build(), on_node=True, rules=off).amounts["cpu"] == 8000


def test_resources_of_the_whole_pod_are_left_aside_where_their_gate_is_off() -> None:
    pod = a_pod().requests(cpu="1").spec(resources=ResourceRequirements({"cpu": "4"})).build()
    assert pod_request(pod).amounts["cpu"] == 4000
    assert pod_request(pod, rules=RequestRules(pod_level=False)).amounts["cpu"] == 1000


def test_resizes_of_sidecars_count_and_before_1_37_those_of_init_containers_did_not() -> None:
    statuses = tuple(ContainerStatus(f"init-{i}", ResourceRequirements({"cpu": "8"}), {"cpu": "8"}) for i in range(2))
    pod = a_pod().init_container(requests={"cpu": "1"}).init_container(requests={"cpu": "1"}, sidecar=True)
    resized_pod = pod.status(init_container_statuses=statuses).build()
    assert pod_request(resized_pod, on_node=True, rules=BY_CONTAINER).amounts == {"cpu": 8000}
    pod = a_pod().init_container(requests={"cpu": "1"})
    resized_pod = pod.status(init_container_statuses=statuses[:1]).build()
    assert pod_request(resized_pod, on_node=True, rules=BY_CONTAINER).amounts == {"cpu": 1000}
    assert pod_request(resized_pod, on_node=True).amounts == {"cpu": 8000}


def test_a_resize_of_the_pod_as_a_whole() -> None:
    pod = a_pod().spec(resources=ResourceRequirements({"cpu": "1"})).build()
    status = PodStatus(resources=ResourceRequirements({"cpu": "2"}), allocated_resources={"cpu": "3"})
    assert pod_request(replace(pod, status=status), on_node=True).amounts == {"cpu": 3000}


@pytest.mark.parametrize(
    ("name", "extended", "scalar", "counted"),
    [
        ("cpu", False, False, True),
        ("memory", False, False, True),
        ("ephemeral-storage", False, False, True),
        ("pods", False, False, False),
        ("storage", False, False, False),
        ("hugepages-2Mi", False, True, True),
        ("attachable-volumes-csi-x", False, True, True),
        ("example.com/gpu", True, True, True),
        ("kubernetes.io/thing", False, True, True),
        ("sub.kubernetes.io/thing", False, True, True),
        ("requests.example.com/gpu", False, False, False),
        ("example.com/", False, False, False),
        ("Example.com/gpu", False, False, False),
        ("a/b/c", False, False, False),
    ],
)
def test_which_resources_are_counted(name: str, extended: bool, scalar: bool, counted: bool) -> None:
    assert (is_extended(name), is_scalar(name), is_counted(name)) == (extended, scalar, counted)


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("a", True),
        ("a.b-c_d", True),
        ("x.y/a", True),
        ("-a", False),
        ("a-", False),
        ("", False),
        ("/a", False),
        ("a" * 63, True),
        ("a" * 64, False),
        (f"{'a' * 253}/b", True),
        (f"{'a' * 254}/b", False),
    ],
)
def test_qualified_names(name: str, good: bool) -> None:
    assert is_qualified_name(name) is good


def test_allocatable_keeps_the_slots() -> None:
    offered: Quantities = {"cpu": "1.5", "memory": 1024, "pods": "110", "storage": "1Gi", "example.com/gpu": "1500m"}
    assert allocatable_amounts(offered) == {"cpu": 1500, "memory": 1024, "pods": 110, "example.com/gpu": 2}


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=4),
    st.integers(0, 3),
)
def test_against_a_model_that_runs_the_containers(
    main: Sequence[int], init: Sequence[tuple[int, bool]], over: int
) -> None:
    """The request is the most that ever runs at a time."""
    running, most = 0, 0
    for amount, is_sidecar in init:
        most = max(most, running + amount)
        running += amount if is_sidecar else 0
    most = max(most, running + sum(main))
    spec = PodSpec(
        containers=tuple(container(amount) for amount in main),
        init_containers=tuple(container(amount, "Always" if is_sidecar else "") for amount, is_sidecar in init),
        overhead={"cpu": over},
    )
    assert pod_request(Pod(spec=spec)).amounts == {"cpu": 1000 * (most + over)}


def container(cpu: int, restart_policy: str = "") -> Container:
    return Container(resources=ResourceRequirements({"cpu": cpu}), restart_policy=restart_policy)
