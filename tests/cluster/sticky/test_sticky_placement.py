"""Where the pods of StickyJobs go, with kubectl as a user would do it."""

import json

import pytest
from tests.cluster.sticky.conftest import Town

BOTH = pytest.mark.parametrize("stickiness", ["Preferred", "Required"])


@BOTH
def test_a_deleted_pod_comes_back_to_its_node(town: Town, stickiness: str) -> None:
    town.job(stickiness=stickiness)
    home = town.home()
    # The node is the fullest of all, so that nothing but the plugin brings the pod back.
    town.pod("neighbour", node=home, cpu="1")
    for _ in range(3):
        town.delete_pod()
        assert town.home() == home
    town.kubectl("delete", "stickyjob", "db")
    town.eventually(lambda: not town.get("pod", "db"))


def test_required_waits_for_a_cordoned_node_and_comes_back(town: Town) -> None:
    town.job(stickiness="Required")
    home = town.home()
    town.kubectl("cordon", home)
    town.delete_pod()
    town.waits(f"waiting for sticky node {home}: cordoned")
    town.kubectl("uncordon", home)
    assert town.home() == home


def test_preferred_goes_elsewhere_when_its_node_is_drained_and_then_sticks_there(town: Town) -> None:
    town.job()
    first = town.home()
    town.kubectl("drain", first, "--timeout=60s")
    second = town.eventually(lambda: (node := town.home()) != first and node)
    town.kubectl("uncordon", first)
    town.pod("neighbour", node=second, cpu="1")
    town.delete_pod()
    assert town.home() == second


def test_required_waits_for_a_drained_node(town: Town) -> None:
    town.job(stickiness="Required")
    home = town.home()
    town.kubectl("drain", home, "--timeout=60s")
    town.waits(f"waiting for sticky node {home}: cordoned")
    town.kubectl("uncordon", home)
    assert town.home() == home


@BOTH
def test_a_deleted_node_is_let_go(town: Town, stickiness: str) -> None:
    town.job(stickiness=stickiness)
    first = town.home()
    town.kubectl("delete", "node", first)
    second = town.eventually(lambda: (node := town.home()) != first and node)
    town.pod("neighbour", node=second, cpu="1")
    town.delete_pod()
    assert town.home() == second


def test_required_waits_for_a_full_node_and_preferred_does_not(town: Town) -> None:
    town.job("hard", stickiness="Required")
    hard = town.home("hard")
    town.kubectl("cordon", hard)
    town.delete_pod("hard")
    town.waits("cordoned", "hard")
    town.pod("filler", node=hard, cpu="3")
    town.kubectl("uncordon", hard)
    town.waits(f"waiting for sticky node {hard}: insufficient cpu", "hard")
    town.kubectl("patch", "stickyjob", "hard", "--type=merge", "-p", '{"spec":{"stickiness":"Preferred"}}')
    assert town.home("hard") != hard


def test_a_full_node_that_gets_room_again_is_gone_back_to(town: Town) -> None:
    town.job(stickiness="Required")
    home = town.home()
    town.kubectl("cordon", home)
    town.delete_pod()
    town.waits("cordoned")
    town.pod("filler", node=home, cpu="3")
    town.kubectl("uncordon", home)
    town.waits("insufficient cpu")
    town.kubectl("delete", "pod", "filler", "--wait=false")
    assert town.home() == home


def test_a_node_that_returns_under_its_name_is_another_node(town: Town) -> None:
    town.job(stickiness="Required")
    home = town.home()
    before = town.get("node", home)
    for node in town.nodes:
        town.pod(f"filler-{node}", node=node, cpu="4" if node != home else "1")
    town.kubectl("cordon", home)
    town.delete_pod()
    town.waits(f"waiting for sticky node {home}: cordoned")
    town.kubectl("delete", "node", home)
    town.waits("Insufficient cpu")
    metadata = {key: before["metadata"][key] for key in ("name", "labels", "annotations")}
    again = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": before["status"]}
    town.kubectl("create", "-f", "-", stdin=json.dumps(again))
    assert town.home() == home
    uid = town.get("node", home)["metadata"]["uid"]
    assert uid != before["metadata"]["uid"]
    assert town.get("stickyjob", "db")["status"]["lastNodeUID"] == uid


def test_a_taint_that_drives_out_is_waited_for_or_not(town: Town) -> None:
    town.job("hard", stickiness="Required", cpu="1")
    hard = town.home("hard")
    town.kubectl("taint", "node", hard, "repair=now:NoExecute")
    town.waits(f"waiting for sticky node {hard}: tainted repair=now:NoExecute", "hard")
    town.kubectl("taint", "node", hard, "repair-")
    assert town.home("hard") == hard
    town.job("soft", cpu="1")
    soft = town.home("soft")
    town.kubectl("taint", "node", soft, "repair=now:NoExecute")
    town.eventually(lambda: town.home("soft") != soft)


def test_a_node_that_is_only_silent_is_not_let_go(town: Town) -> None:
    town.job(stickiness="Required")
    home = town.home()
    # Its kubelet stands still, so that nobody reports the node ready again before the test does.
    town.kubectl("annotate", "node", home, "moorage.dev/stopped=true")
    patch_ready(town, home, "Unknown")
    town.kubectl("delete", "pod", "db", "--force", "--grace-period=0", "--wait=false")
    town.waits(f"waiting for sticky node {home}: NotReady for ")
    town.kubectl("annotate", "node", home, "moorage.dev/stopped-")
    patch_ready(town, home, "True")
    assert town.home() == home


def patch_ready(town: Town, node: str, status: str) -> None:
    stamp = "2020-01-01T00:00:00Z"
    ready = {"type": "Ready", "status": status, "lastTransitionTime": stamp, "lastHeartbeatTime": stamp}
    patch = json.dumps({"status": {"conditions": [ready]}})
    town.kubectl("patch", "node", node, "--subresource=status", "--type=strategic", "-p", patch)


def test_it_waits_no_longer_than_it_is_told_to(town: Town) -> None:
    town.job(stickiness="Required", waitSeconds=4)
    home = town.home()
    town.kubectl("cordon", home)
    town.delete_pod()
    town.waits(f"waiting for sticky node {home}: cordoned")
    assert town.home() != home


def test_a_seat_is_kept_from_equals_and_taken_by_the_more_important(town: Town) -> None:
    town.job(seatSeconds=3600)
    home = town.home()
    here = {"kubernetes.io/hostname": home, "world": town.name}
    town.pod("equal", nodeSelector=here)
    town.waits("Insufficient cpu", "equal")
    town.delete_pod()
    assert town.home() == home
    town.waits("Insufficient cpu", "equal")
    # Its pod stays away: then the seat alone keeps the room.
    town.kubectl("cordon", home)
    town.kubectl("patch", "stickyjob", "db", "--type=merge", "-p", '{"spec":{"stickiness":"Required"}}')
    town.delete_pod()
    town.waits("cordoned")
    unminding = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
    town.pod("guest", nodeSelector=here, tolerations=unminding)
    town.waits("node(s) had their room kept for a sticky job", "guest")
    important = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": town.name}}
    town.kubectl("create", "-f", "-", stdin=json.dumps({**important, "value": 1000}))
    town.pod("vip", nodeSelector=here, tolerations=unminding, priorityClassName=town.name)
    town.eventually(lambda: town.get("pod", "vip")["spec"].get("nodeName") == home)
    town.kubectl("delete", "priorityclass", town.name)


def test_a_seat_that_is_over_is_given_away(town: Town) -> None:
    town.job(stickiness="Required", seatSeconds=4)
    home = town.home()
    town.kubectl("cordon", home)
    town.delete_pod()
    town.waits("cordoned")
    unminding = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
    town.pod("guest", nodeSelector={"kubernetes.io/hostname": home, "world": town.name}, tolerations=unminding)
    town.waits("node(s) had their room kept for a sticky job", "guest")
    town.eventually(lambda: town.get("pod", "guest")["spec"].get("nodeName") == home)
