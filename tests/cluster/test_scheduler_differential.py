"""kube-scheduler and Moorage on the same workloads: the same pods placed and pending, each where the other could have.

Placements that tie may differ, and then everything after them. So both are held against one judge: the engine decides
each pod on the cluster as that scheduler left it. A node it took must be among the best, a refusal must be one word for
word.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from tests.cluster.mixed_workload import MixedWorkload
from tests.cluster.scheduler_world import World, condition, features_of_kube_scheduler, make_world
from tools.control_plane.running import ControlPlane

from moorage.columns import Snapshot
from moorage.engine import Decision, make_engine
from moorage.kube.paths import resource_of
from moorage.objects import KubeObject, Pod, convert_object

NODES, PODS = 12, 60
KINDS = ("Node", "Namespace", "Service")


@asynccontextmanager
async def kube_scheduler(control_plane: ControlPlane, world: World) -> AsyncIterator[None]:
    """The real one, for the world's pods."""
    with control_plane.start_kube_scheduler({"profiles": [{"schedulerName": world.name}]}):
        yield


@asynccontextmanager
async def moorage(_control_plane: ControlPlane, world: World) -> AsyncIterator[None]:
    """Ours."""
    async with world.scheduling(features=features_of_kube_scheduler()):
        yield


async def snapshot(world: World, *, without: str) -> list[KubeObject]:
    """Everything that decides, as the API server has it; the pod in question aside."""
    objects = []
    for kind in KINDS:
        resource = resource_of(kind)
        found = await world.listed(kind)
        objects += [convert_object({**one, "kind": kind, "apiVersion": resource.api_version}) for one in found]
    for one in await world.pods():
        if one["metadata"]["name"] != without:
            objects.append(convert_object({**one, "kind": "Pod", "apiVersion": "v1"}))
    return objects


async def verdict(world: World, name: str) -> dict[str, Any]:
    """The pod, once it is bound or refused."""

    async def look() -> dict[str, Any] | None:
        pod = await world.get("Pod", name)
        return pod if pod["spec"].get("nodeName") or condition(pod, "PodScheduled", "False") else None

    pod: dict[str, Any] = await world.eventually(look)
    return pod


def refusal(pod: dict[str, Any]) -> str:
    """Why the pod was refused, as the API server has it."""
    found = condition(pod, "PodScheduled", "False")
    return str(found["message"]) if found else ""


def judge(objects: list[KubeObject], pod: dict[str, Any], world: World) -> Decision:
    """What the engine says of a pod as it was before it was bound."""
    unbound = {**pod, "spec": {**pod["spec"], "schedulerName": "default-scheduler"}, "status": {}}
    unbound["spec"].pop("nodeName", None)
    item = convert_object({**unbound, "kind": "Pod", "apiVersion": "v1"})
    assert isinstance(item, Pod)
    features = features_of_kube_scheduler()
    engine = make_engine(Snapshot.of(objects, features.request_rules), features=features)
    return engine.explain(engine.snapshot.info(item))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("scheduler", [kube_scheduler, moorage], ids=["kube-scheduler", "moorage"])
async def test_every_placement_is_one_of_the_best(
    control_plane: ControlPlane, world: World, scheduler: Any, seed: int
) -> None:
    workload = MixedWorkload(seed, world.name)
    for number in range(NODES):
        await world.node(f"n{number:02d}", **workload.node(number))
    selector = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    await world.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": selector})
    placed, faults = 0, []
    async with scheduler(control_plane, world):
        for number in range(PODS):
            drawn = workload.pod(number)
            if number == PODS - 1:
                # Whatever ties were broken how: this one fits nowhere.
                drawn["spec"]["nodeSelector"]["disk"] = "none"
            objects = await snapshot(world, without=drawn["name"])
            await world.pod(drawn["name"], metadata=drawn["metadata"], **drawn["spec"])
            pod = await verdict(world, drawn["name"])
            decision = judge(objects, pod, world)
            node = pod["spec"].get("nodeName", "")
            placed += bool(node)
            if node and node not in decision.best:
                faults.append(f"{drawn['name']} went to {node}; best were {decision.best} ({decision.message})")
            elif not node and not refusal(pod).startswith(decision.message or "bound"):
                faults.append(f"{drawn['name']} was refused: {refusal(pod)!r}; not {decision}")
    assert faults == []
    assert 0 < placed < PODS


async def fill(world: World, seed: int) -> None:
    """Put pods of low priorities on nodes, the same for the same seed, without asking any scheduler."""
    draw = Random(seed)
    for number in range(6):
        await world.node(f"n{number}", cpu="4", pods="30")
    classes = [f"{world.name}-{value}" for value in (10, 20, 30)]
    for name in classes:
        value = int(name.rpartition("-")[2])
        tree = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "value": value,
            "metadata": {"name": name},
        }
        await world.create(tree)
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}
    await world.create(
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "guarded"}, "spec": budget}
    )
    for node in range(6):
        for number in range(4):
            await world.pod(
                f"low-{node}-{number}",
                cpu="1",
                metadata={"labels": {"app": draw.choice(("guarded", "free"))}},
                priorityClassName=draw.choice(classes),
                nodeName=f"{world.name}-n{node}",
            )


async def victims(world: World, scheduler: Any, control_plane: ControlPlane, cpu: str) -> list[tuple[int, str]]:
    """Priorities and labels of those who had to leave for a pod of high priority."""
    before = {pod["metadata"]["name"]: pod for pod in await world.pods()}
    async with scheduler(control_plane, world):
        await world.pod("high", cpu=cpu, priorityClassName="system-cluster-critical")
        await world.bound("high")
    left = {pod["metadata"]["name"] for pod in await world.pods()}
    gone = [pod for name, pod in before.items() if name not in left]
    return sorted((pod["spec"]["priority"], pod["metadata"]["labels"]["app"]) for pod in gone)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("cpu", ["1", "2", "3"])
async def test_preemption_costs_the_same(control_plane: ControlPlane, world: World, cpu: str, seed: int) -> None:
    costs = []
    for number, scheduler in enumerate((kube_scheduler, moorage)):
        async with make_world(world.access, f"{world.name}-{number}") as twin:
            await fill(twin, seed)
            costs.append(await victims(twin, scheduler, control_plane, cpu))
    theirs, ours = costs
    assert ours == theirs
    assert len(ours) == int(cpu)
