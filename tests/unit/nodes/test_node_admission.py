"""What a node has left, and whom it refuses."""

import pytest

from moorage.nodes.admission import Refusal, Room, misfit, share_of
from moorage.nodes.objects import HollowNode, HostedPod
from moorage.objects import convert


def pod(cpu: str = "1", *, ports: tuple[int, ...] = (), **spec: object) -> HostedPod:
    requests = {"cpu": cpu, **dict(spec.pop("requests", {}))}  # type: ignore[call-overload]
    container = {
        "name": "main",
        "resources": {"requests": requests},
        "ports": [{"containerPort": port, "hostPort": port} for port in ports],
    }
    return convert({"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}, HostedPod)


def room() -> Room:
    return Room({"cpu": 2000, "memory": 1 << 30, "pods": 3})


def test_a_pod_fits_until_the_node_is_full() -> None:
    node = room()
    for _ in range(2):
        share = share_of(pod("1"))
        assert node.refusal(share) is None
        node.take(share)
    assert node.refusal(share_of(pod("1m"))) == Refusal(
        "OutOfcpu", "Node didn't have enough resource: cpu, requested: 1, used: 2000, capacity: 2000"
    )


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (pod("0", requests={"memory": "2Gi"}), "OutOfmemory"),
        (pod("0", requests={"ephemeral-storage": "1"}), "OutOfephemeral-storage"),
        (pod("0", requests={"hugepages-2Mi": "2Mi"}), "OutOfhugepages-2Mi"),
    ],
)
def test_what_a_node_lacks_names_the_reason(wanted: HostedPod, reason: str) -> None:
    refusal = room().refusal(share_of(wanted))
    assert refusal is not None
    assert refusal.reason == reason


def test_pods_that_ask_for_nothing_still_count() -> None:
    node = room()
    for _ in range(3):
        node.take(share_of(pod("0")))
    refusal = node.refusal(share_of(pod("0")))
    assert refusal is not None
    assert refusal.reason == "OutOfpods"


def test_devices_the_kubelet_knows_nothing_of_are_not_its_business() -> None:
    assert room().refusal(share_of(pod("0", requests={"example.com/gpu": "1"}))) is None


def test_one_host_port_is_held_by_one_pod() -> None:
    node = room()
    first = share_of(pod("0", ports=(80,)))
    node.take(first)
    refusal = node.refusal(share_of(pod("0", ports=(80,))))
    assert refusal is not None
    assert refusal.reason == "NodePorts"
    node.release(first)
    assert node.refusal(share_of(pod("0", ports=(80,)))) is None


def test_what_is_released_can_be_had_again() -> None:
    node = room()
    share = share_of(pod("2"))
    node.take(share)
    node.release(share)
    assert node.used == {"cpu": 0, "pods": 0}
    assert node.refusal(share) is None


def test_a_pod_that_selects_other_nodes_is_refused() -> None:
    node = convert({"metadata": {"name": "n", "labels": {"disk": "hdd"}}}, HollowNode)
    refusal = misfit(pod(nodeSelector={"disk": "ssd"}), node)
    assert refusal is not None
    assert refusal.reason == "NodeAffinity"
    assert misfit(pod(nodeSelector={"disk": "hdd"}), node) is None
