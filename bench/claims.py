"""Devices by claims: what a decision costs, and whole schedulers beside each other.

    python -m bench.claims [--quick]

The families are those of Kubernetes' own scheduler_perf: a device for each pod, the first of several alternatives, two
claims a pod, half of all devices gone already. Where a control plane is at hand, kube-scheduler, Moorage and a client
that merely writes what they write are measured on it, one after the other.
"""

import argparse
import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table
from tools.control_plane.binaries import folder, missing
from tools.control_plane.running import run as run_control_plane

from bench import processes
from moorage.attempt.placing import Placer
from moorage.cluster import ClusterState
from moorage.columns import Snapshot
from moorage.engine import Placement, make_engine
from moorage.kube.access import load_access
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client
from moorage.objects import KubeObject, convert_object
from moorage.values.time import format_micro_time

DRIVER: Final = "gpu.example.com"
CLASS: Final = "gpu"
API: Final = "resource.k8s.io/v1"
CLAIMS, SLICES, CLASSES, EVENTS = (
    resource_of(kind) for kind in ("ResourceClaim", "ResourceSlice", "DeviceClass", "Event")
)
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
SIZES: Final = (1_000, 5_000, 20_000)

Tree = dict[str, Any]


@dataclass(frozen=True)
class Family:
    """What pods ask for: the requests of each of a pod's claims."""

    name: str
    claims: tuple[tuple[Tree, ...], ...]
    #: Whether half of all devices are held already.
    half_full: bool = False


def _request(**more: Any) -> Tree:
    return {"deviceClassName": CLASS, "allocationMode": "ExactCount", "count": 1, **more}


def _picky(index: int) -> Tree:
    expression = f'device.attributes["{DRIVER}"].index >= {index}'
    return _request(selectors=[{"cel": {"expression": expression}}])


_ONE: Final = ({"name": "one", "exactly": _request()},)
_ALTERNATIVES: Final = tuple({"name": f"s{index}", **_picky(100 - 49 * index)} for index in range(3))
FAMILIES: Final = (
    Family("a device for each pod", (_ONE,)),
    Family("the same, half of the devices gone", (_ONE,), half_full=True),
    Family("the third of three alternatives", (({"name": "one", "firstAvailable": list(_ALTERNATIVES)},),)),
    Family("two claims, one with a selector", (_ONE, ({"name": "one", "exactly": _picky(2)},))),
)


# ---------------------------------------------------------------------------------------------------------- objects


def device_class() -> Tree:
    """The class of all devices."""
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": CLASS}, "spec": {"selectors": selectors}}


def slice_of(node: int, devices: int) -> Tree:
    """The devices of a node."""
    name = f"node-{node}"
    listed = [{"name": f"gpu-{index}", "attributes": {"index": {"int": index}}} for index in range(devices)]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": listed}
    return {"apiVersion": API, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def claim(name: str, requests: tuple[Tree, ...]) -> Tree:
    """A claim that has no devices yet."""
    metadata = {"name": name, "namespace": processes.NAMESPACE}
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": {"devices": {"requests": requests}},
    }


def allocation(node: int, device: int) -> Tree:
    """One device of a node."""
    name = f"node-{node}"
    result = {"request": "one", "driver": DRIVER, "pool": name, "device": f"gpu-{device}"}
    by_name = {"key": "metadata.name", "operator": "In", "values": [name]}
    selector = {"nodeSelectorTerms": [{"matchFields": [by_name]}]}
    return {"devices": {"results": [result]}, "nodeSelector": selector}


def pod(name: str, family: Family) -> Tree:
    """A pod and the names of its claims."""
    tree: Tree = json.loads(processes.pod_body(name))
    tree["spec"]["resourceClaims"] = [
        {"name": f"c{index}", "resourceClaimName": f"{name}-{index}"} for index in range(len(family.claims))
    ]
    return tree


# --------------------------------------------------------------------------------------------------------- in memory


def decision(family: Family, nodes: int, *, devices: int = 8, pods: int = 1000) -> float:
    """Microseconds of CPU that a decision and the reservation of its devices take."""
    snapshot = Snapshot()
    for index in range(nodes):
        snapshot.add(_known(json.loads(processes.node_body(index))))
        snapshot.add(_known(slice_of(index, devices)))
    snapshot.add(_known(device_class()))
    for index in range(nodes * devices // 2 if family.half_full else 0):
        held = claim(f"held-{index}", _ONE)
        held["status"] = {"allocation": allocation(index % nodes, index // nodes)}
        snapshot.add(_known(held))
    waiting = []
    for number in range(pods + 1):
        for index, requests in enumerate(family.claims):
            snapshot.add(_known(claim(f"p{number}-{index}", requests)))
        waiting.append(snapshot.info(_known(pod(f"p{number}", family))))
    engine = make_engine(snapshot)
    placer = Placer(cluster=ClusterState(snapshot), engine=engine)
    _place(placer, engine.schedule(waiting[0]))
    gc.collect()
    gc.freeze()
    started = time.process_time()
    for one in waiting[1:]:
        _place(placer, engine.schedule(one))
    spent = time.process_time() - started
    gc.unfreeze()
    return spent / pods * 1e6


def _known(tree: Tree) -> Any:
    item: KubeObject = convert_object(tree)
    name = item.metadata.name
    return msgspec.structs.replace(item, metadata=msgspec.structs.replace(item.metadata, uid=f"uid-{name}"))


def _place(placer: Placer, outcome: Any) -> None:
    if not isinstance(outcome, Placement):
        raise RuntimeError(f"the benchmark's pods must fit: {outcome.full_message}")
    placer.reserve(outcome)


def hopeless() -> float:
    """Milliseconds until a search says no that kube-scheduler gives up after ten seconds.

    Sixteen partitions draw on counters; three requests with a constraint each can be met in many ways, but never
    together with the fourth, which wants all of what is left in one piece.
    """
    snapshot = Snapshot()
    snapshot.add(_known(json.loads(processes.node_body(0))))
    listed = [
        {
            "name": f"part-{index:02}",
            "attributes": {"root": {"int": index % 2}, "numa": {"int": index % 3}, "kind": {"int": index // 8}},
            "consumesCounters": [{"counterSet": "card", "counters": {"memory": {"value": "4Gi"}}}],
        }
        for index in range(24)
    ]
    of_all = {
        "name": "whole",
        "attributes": {"kind": {"int": 9}},
        "consumesCounters": [{"counterSet": "card", "counters": {"memory": {"value": "64Gi"}}}],
    }
    pool = {"name": "node-0", "generation": 1, "resourceSliceCount": 2}
    where = {"driver": DRIVER, "nodeName": "node-0", "pool": pool}
    counters = [{"name": "card", "counters": {"memory": {"value": "100Gi"}}}]
    for name, spec in (("a", {"sharedCounters": counters}), ("b", {"devices": [*listed, of_all]})):
        snapshot.add(
            _known({"apiVersion": API, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": {**where, **spec}})
        )
    snapshot.add(_known(device_class()))
    small = [{"cel": {"expression": f'device.attributes["{DRIVER}"].kind < 9'}}]
    whole = [{"cel": {"expression": f'device.attributes["{DRIVER}"].kind == 9'}}]
    requests = (
        *({"name": f"r{index}", "exactly": _request(count=4, selectors=small)} for index in range(3)),
        {"name": "rest", "exactly": _request(allocationMode="All", count=0, selectors=whole)},
    )
    asks = claim("p-0", requests)
    asks["spec"]["devices"]["constraints"] = [
        {"requests": [f"r{index}"], "matchAttribute": f"{DRIVER}/{name}"}
        for index, name in enumerate(("root", "numa", "kind"))
    ]
    snapshot.add(_known(asks))
    waiting = snapshot.info(_known(pod("p", FAMILIES[0])))
    engine = make_engine(snapshot)
    started = time.process_time()
    outcome = engine.schedule(waiting)
    spent = time.process_time() - started
    if isinstance(outcome, Placement) or outcome.is_error:
        raise RuntimeError(f"the search was to be hopeless: {outcome}")
    return spent * 1000


# --------------------------------------------------------------------------------------------------- whole processes


@dataclass(frozen=True)
class Figures:
    """What one of them did."""

    pods_per_second: float
    cpu_us_a_pod: float


@asynccontextmanager
async def _filled(kubeconfig: Path, family: Family, *, nodes: int, devices: int, pods: int) -> AsyncIterator[Client]:
    """A cluster with devices, claims, and pods that wait."""
    async with Client(load_access(kubeconfig)) as client:
        encode = msgspec.json.encode
        await processes.create_all(client, processes.NODES.path(), [processes.node_body(i) for i in range(nodes)])
        await processes.create_all(client, CLASSES.path(), [encode(device_class())])
        await processes.create_all(client, SLICES.path(), [encode(slice_of(i, devices)) for i in range(nodes)])
        path = CLAIMS.path(processes.NAMESPACE)
        wanted = [
            encode(claim(f"p{number}-{index}", requests))
            for number in range(pods)
            for index, requests in enumerate(family.claims)
        ]
        await processes.create_all(client, path, wanted)
        waiting = [encode(pod(f"p{number}", family)) for number in range(pods)]
        await processes.create_all(client, processes.PODS.path(processes.NAMESPACE), waiting)
        yield client


async def _drain(
    kubeconfig: Path, start: processes.StartScheduler, family: Family, size: dict[str, int], most: int
) -> Figures:
    """What the first so many pods cost."""
    async with _filled(kubeconfig, family, **size) as client, processes.following(client) as bound:
        with start() as pid:
            await bound.wait_for(1)
            began, cpu = time.monotonic(), processes.cpu_seconds(pid)
            already = len(bound.times)
            await bound.wait_for(min(most, size["pods"]))
            seconds, spent = time.monotonic() - began, processes.cpu_seconds(pid) - cpu
            drained = len(bound.times) - already
    return Figures(drained / seconds, spent / drained * 1e6)


async def _only_write(kubeconfig: Path, family: Family, size: dict[str, int]) -> float:
    """Pods a second of a client that knows where everything goes, and only writes it."""
    devices = size["devices"]
    async with _filled(kubeconfig, family, **size) as client:
        pods = json.loads(await client.get(processes.PODS.path(processes.NAMESPACE)))["items"]
        waiting = iter(list(enumerate(pods)))

        async def write_some() -> None:
            for number, tree in waiting:
                node, device = number // (devices // 2), number % (devices // 2)
                await _write(client, tree, len(family.claims), node, device)

        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(16):
                group.create_task(write_some())
        return len(pods) / (time.monotonic() - began)


async def _write(client: Client, tree: Tree, claims: int, node: int, device: int) -> None:
    name, uid = tree["metadata"]["name"], tree["metadata"]["uid"]
    path = processes.PODS.path(processes.NAMESPACE)
    merge = "application/merge-patch+json"
    nominated = msgspec.json.encode({"status": {"nominatedNodeName": f"node-{node}"}})
    await client.patch(f"{path}/{name}/status", nominated, content_type=merge)
    for index in range(claims):
        where = f"{CLAIMS.path(processes.NAMESPACE)}/{name}-{index}"
        await client.patch(where, msgspec.json.encode({"metadata": {"finalizers": [FINALIZER]}}), content_type=merge)
        reserved = [{"resource": "pods", "name": name, "uid": uid}]
        status = {"allocation": allocation(node, device * claims + index), "reservedFor": reserved}
        await client.patch(f"{where}/status", msgspec.json.encode({"status": status}), content_type=merge)
    target = {"kind": "Node", "name": f"node-{node}"}
    binding = msgspec.json.encode({"metadata": {"name": name}, "target": target})
    await client.post(f"{path}/{name}/binding", binding)
    await client.post(EVENTS.path(processes.NAMESPACE), msgspec.json.encode(_event(name, uid, f"node-{node}")))


def _event(name: str, uid: str, node: str) -> Tree:
    """That a pod was scheduled, as every scheduler tells it: it is a write as any other."""
    return {
        "metadata": {"name": f"{name}.{time.time_ns():x}"},
        "eventTime": format_micro_time(time.time()),
        "reportingController": "nobody",
        "reportingInstance": "nobody-0",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {"kind": "Pod", "namespace": processes.NAMESPACE, "name": name, "uid": uid},
        "note": f"Successfully assigned {processes.NAMESPACE}/{name} to {node}",
        "type": "Normal",
    }


def kube_scheduler(family: Family, size: dict[str, int], most: int) -> Figures:
    """The stock kube-scheduler, until it has bound so many pods."""
    with run_control_plane() as plane:

        @contextmanager
        def start() -> Iterator[int]:
            with plane.start_kube_scheduler({"clientConnection": {"qps": 5000, "burst": 5000}}) as process:
                yield process.pid

        return asyncio.run(_drain(plane.access.kubeconfig, start, family, size, most))


def moorage_scheduler(family: Family, size: dict[str, int]) -> Figures:
    """Ours."""
    with run_control_plane() as plane:
        kubeconfig = plane.access.kubeconfig
        return asyncio.run(_drain(kubeconfig, processes.moorage_process(kubeconfig), family, size, size["pods"]))


def only_writes(family: Family, size: dict[str, int]) -> float:
    """The client that only writes, on a control plane of its own, too."""
    with run_control_plane() as plane:
        return asyncio.run(_only_write(plane.access.kubeconfig, family, size))


# ------------------------------------------------------------------------------------------------------------ tables


def decisions_table(sizes: tuple[int, ...]) -> Table:
    """Decisions in memory, by number of nodes."""
    table = Table(title="claims: a decision in microseconds of CPU, by number of nodes with 8 devices each")
    for heading in ("what", *(f"{nodes:,}" for nodes in sizes)):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for family in FAMILIES:
        table.add_row(family.name, *(f"{decision(family, nodes):,.0f}" for nodes in sizes))
    table.add_row("a hopeless search, milliseconds (target < 100)", f"{hopeless():.1f}")
    return table


def processes_table(families: tuple[Family, ...], size: dict[str, int], *, most_of_kube: int) -> Table:
    """Whole schedulers on a real control plane; kube-scheduler is measured on the first of the pods."""
    said = f"{size['nodes']:,} nodes with {size['devices']} devices, {size['pods']:,} pods waiting"
    table = Table(title=f"claims: whole processes, {said}")
    for heading in ("what", "pods/s", "kube's", "a mere writer's", "ratio", "CPU a pod, us", "kube's", "ratio"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for family in families:
        kube = kube_scheduler(family, size, most_of_kube)
        ours, writes = moorage_scheduler(family, size), only_writes(family, size)
        table.add_row(
            family.name,
            f"{ours.pods_per_second:,.0f}",
            f"{kube.pods_per_second:,.0f}",
            f"{writes:,.0f}",
            f"{ours.pods_per_second / writes:.2f}",
            f"{ours.cpu_us_a_pod:,.0f}",
            f"{kube.cpu_us_a_pod:,.0f}",
            f"{ours.cpu_us_a_pod / kube.cpu_us_a_pod:.2f}",
        )
    return table


def show(console: Console, *, quick: bool) -> None:
    """Measure and print."""
    console.print(decisions_table(SIZES[:2] if quick else SIZES))
    if missing(folder()):
        console.print("whole processes were not measured: `make control-plane` builds what that needs")
        return
    families = tuple(family for family in FAMILIES if not family.half_full)
    few = {"nodes": 500, "devices": 10, "pods": 200 if quick else 1000}
    console.print(processes_table(families, few, most_of_kube=200))
    if not quick:
        many = {"nodes": 5000, "devices": 8, "pods": 10_000}
        console.print(processes_table(FAMILIES[:1], many, most_of_kube=200))


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--quick", action="store_true", help="fewer nodes and pods")
    show(Console(), quick=options.parse_args().quick)


if __name__ == "__main__":
    main()
