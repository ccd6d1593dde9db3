"""The API server, the schedulers on it, and what each of them takes for a gang."""

import asyncio
import contextlib
import json
import os
import signal
import ssl
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.processes import cpu_seconds, create_all
from tests.cluster.faulty_server import FaultyServer, faulty_server
from tests.cluster.gangs.watching import GANG, NAMESPACE, Watcher, watching
from tools.control_plane import binaries
from tools.control_plane.processes import Process, free_ports
from tools.control_plane.running import run

from moorage.controllers.definitions import POD_GROUPS, ensure_served
from moorage.kube.access import load_access
from moorage.kube.paths import ApiResource, resource_of
from moorage.kube.transport import Client

Json = dict[str, Any]

NODES, PODS = resource_of("Node"), resource_of("Pod")
COSCHEDULING = "MOORAGE_COSCHEDULING"
"""The environment variable that says where a kube-scheduler with scheduler-plugins' Coscheduling is."""

#: By version: the gates that kube-scheduler's gangs need, and the API they are made by.
GATES = {
    "1.36": {"GenericWorkload": True, "GangScheduling": True},
    "1.37": {"GenericWorkload": True},
}
API_VERSIONS = {"1.36": "v1alpha2", "1.37": "v1beta1"}
VERSION = binaries.version().removeprefix("v").rpartition(".")[0]
_CRD_GROUPS = ApiResource("PodGroup", "scheduling.x-k8s.io", "v1alpha1", "podgroups")
_NATIVE_GROUPS = ApiResource("PodGroup", "scheduling.k8s.io", API_VERSIONS[VERSION], "podgroups")
#: How many API servers start at once.
_STARTING = asyncio.Semaphore(3)
_LABEL = "scheduling.x-k8s.io/pod-group"
_COSCHEDULING_PLUGINS = {
    "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
    "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
}


@dataclass(frozen=True)
class Contestant:
    """A scheduler, and the API by which it is told of gangs."""

    name: str
    is_ours: bool
    is_native: bool

    @property
    def program(self) -> str:
        """What to start in place of kube-scheduler; empty for ours."""
        return os.environ.get(COSCHEDULING, "") if not self.is_native else "kube-scheduler"

    @property
    def is_there(self) -> bool:
        return self.is_ours or bool(self.program)

    def group(self, name: str, needed: int, annotations: Mapping[str, str] | None = None) -> tuple[ApiResource, Json]:
        """The object that makes a gang of so many."""
        metadata: Json = {"name": name, "annotations": dict(annotations or {})}
        if self.is_native:
            return _NATIVE_GROUPS, {"metadata": metadata, "spec": {"schedulingPolicy": {"gang": {"minCount": needed}}}}
        body = {"apiVersion": _CRD_GROUPS.api_version, "kind": "PodGroup", "metadata": metadata}
        return _CRD_GROUPS, {**body, "spec": {"minMember": needed}}

    def pod(self, name: str, group: str = "", *, cpu: str = "1") -> Json:
        """A member of a gang, or a single pod."""
        container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}
        spec: Json = {"containers": [container], "terminationGracePeriodSeconds": 0}
        labels = {GANG: group} if group else {}
        if group and self.is_native:
            spec["schedulingGroup"] = {"podGroupName": group}
        elif group:
            labels[_LABEL] = group
        metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def configuration(self, kubeconfig: Path, *, elect: bool = False, qps: int = 5000, burst: int = 0) -> Json:
        """Its KubeSchedulerConfiguration; `burst` is as many as `qps` where it is not given."""
        plugins = {} if self.is_native else _COSCHEDULING_PLUGINS
        lease = {"leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"}
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": elect, **(lease if elect else {})},
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": qps, "burst": burst or qps},
            "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}],
        }


CONTESTANTS = (
    Contestant("moorage-crd", is_ours=True, is_native=False),
    Contestant("moorage-native", is_ours=True, is_native=True),
    Contestant("coscheduling", is_ours=False, is_native=False),
    Contestant("kube-scheduler", is_ours=False, is_native=True),
)


class Place:
    """An API server of a scenario's own, and a scheduler that can be killed and started again."""

    def __init__(
        self,
        contestant: Contestant,
        *,
        kubeconfig: Path,
        client: Client,
        watcher: Watcher,
        faults: FaultyServer,
        home: Path,
        programs: Path,
    ) -> None:
        self.contestant = contestant
        self.client = client
        self.watcher = watcher
        self.faults = faults
        self._kubeconfig = kubeconfig
        self._home = home
        self._programs = programs
        self._port = 0
        self._process: Process | None = None
        self._earlier: list[Process] = []
        #: When it began to be counted.
        self.begun = 0.0
        self._cpu_before = 0.0
        self._attempts_before = 0.0

    # The cluster.

    async def nodes(self, count: int, *, cpu: int, prefix: str = "node") -> None:
        """Make nodes, ready at once."""
        amounts = {"cpu": str(cpu), "memory": "256Gi", "pods": "250"}
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        bodies = []
        for number in range(count):
            name = f"{prefix}-{number}"
            metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
            bodies.append(json.dumps({"metadata": metadata, "status": status}).encode())
        await create_all(self.client, NODES.path(), bodies)

    async def gang(
        self,
        name: str,
        members: int,
        *,
        needed: int = 0,
        cpu: str = "1",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Make a gang: its group, then its members."""
        needed = needed or members
        self.watcher.expect(name, needed)
        await self.make_group(name, needed, annotations)
        await self.members(name, members, cpu=cpu)

    async def make_group(self, name: str, needed: int, annotations: Mapping[str, str] | None = None) -> None:
        """Make the object alone."""
        resource, body = self.contestant.group(name, needed, annotations)
        await self.client.post(resource.path(NAMESPACE), json.dumps(body).encode())

    async def members(self, name: str, end: int, *, first: int = 0, cpu: str = "1") -> None:
        """Make the members from the first to before the end."""
        pods = [self.contestant.pod(f"{name}-{number}", name, cpu=cpu) for number in range(first, end)]
        await create_all(self.client, PODS.path(NAMESPACE), [json.dumps(pod).encode() for pod in pods])

    async def singles(self, prefix: str, count: int, *, node: str = "", cpu: str = "1") -> None:
        """Make pods that are in no gang; on a node, if one is given."""
        bodies = []
        for number in range(count):
            pod = self.contestant.pod(f"{prefix}-{number}", cpu=cpu)
            if node:
                pod["spec"]["nodeName"] = node
            bodies.append(json.dumps(pod).encode())
        await create_all(self.client, PODS.path(NAMESPACE), bodies)

    async def delete_gang(self, name: str) -> None:
        """Its members go at once; the group stays."""
        gang = self.watcher.gangs[name]
        gang.is_ended = True
        for member in sorted(gang.members):
            await self.delete_pod(member)

    async def group(self, name: str) -> Json:
        """The object that makes a gang, as it is."""
        resource, _ = self.contestant.group(name, 1)
        found: Json = json.loads(await self.client.get(resource.path(NAMESPACE, name)))
        return found

    async def events(self, *names: str) -> list[Json]:
        """The events about objects of these names."""
        found = json.loads(await self.client.get(resource_of("Event").path(NAMESPACE)))["items"]
        return [event for event in found if event["regarding"]["name"] in names]

    async def delete_pod(self, name: str) -> None:
        """It goes at once."""
        await self.client.delete(PODS.path(NAMESPACE, name), b'{"gracePeriodSeconds": 0}')

    async def bind_only(self, prefix: str, count: int) -> float:
        """Make pods and bind them without deciding anything: the seconds that the binds take."""
        await self.singles(prefix, count)
        started = time.monotonic()
        waiting = iter(range(count))

        async def bind_some() -> None:
            for number in waiting:
                name = f"{prefix}-{number}"
                body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": f"node-{number}"}}
                await self.client.post(PODS.path(NAMESPACE, name, "binding"), json.dumps(body).encode())

        async with asyncio.TaskGroup() as group:
            for _ in range(32):
                group.create_task(bind_some())
        return time.monotonic() - started

    # The scheduler.

    async def start(self, *, may_fail: bool = False, elect: bool = False, qps: int = 5000, burst: int = 0) -> None:
        """Start a scheduler and wait until it is ready. Where requests may fail it is given the proxy's address."""
        (self._port,) = free_ports(1)
        kubeconfig = self._kubeconfig
        if may_fail:
            kubeconfig = self._home / "proxy-kubeconfig"
            kubeconfig.write_text(json.dumps(_plain_kubeconfig(self.faults.url)))
        config = self._home / f"config-{self._port}.json"
        config.write_text(json.dumps(self.contestant.configuration(kubeconfig, elect=elect, qps=qps, burst=burst)))
        flags = [f"--config={config}", "--bind-address=127.0.0.1", f"--secure-port={self._port}"]
        flags += ["--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics"]
        if self.contestant.is_native:
            flags.append(_gates())
        if self.contestant.is_ours:
            flags.append(f"--emulated-version={VERSION}")
            command: list[str | Path] = [sys.executable, "-m", "moorage", "scheduler", *flags]
        else:
            command = [self._programs / self.contestant.program, *flags]
        if self._process is not None:
            self._earlier.append(self._process)
        self._process = Process(self.contestant.name, command, self._home / f"scheduler-{self._port}.log")
        while True:
            try:
                # In a thread: a scheduler that starts may keep others waiting who are played beside it.
                if "ok" in await asyncio.to_thread(self._ask, "/readyz"):
                    break
            except OSError:
                await asyncio.sleep(0.1)
        await asyncio.to_thread(self.begin)

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.end()
        self._process = None

    def pause(self) -> None:
        """Let it stand still, as a machine does that swaps."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let all that stand still go on."""
        for process in self._all():
            os.kill(process.pid, signal.SIGCONT)

    def end(self) -> None:
        """Ask all that run to end."""
        self.resume()
        for process in self._all():
            process.end()
        self._process, self._earlier = None, []

    def _all(self) -> list[Process]:
        return [*self._earlier, *([self._process] if self._process is not None else [])]

    def log(self) -> str:
        """What the scheduler started last has logged."""
        return (self._home / f"scheduler-{self._port}.log").read_text()

    def begin(self) -> None:
        """Count CPU and attempts from here."""
        self.begun = time.monotonic()
        self._cpu_before = self._cpu_now()
        self._attempts_before = self._attempts()

    def cpu(self) -> float:
        """The scheduler's CPU since `begin`."""
        return self._cpu_now() - self._cpu_before

    def attempts(self) -> int:
        """Its attempts since `begin`: at pods, and at groups."""
        return int(self._attempts() - self._attempts_before)

    def _cpu_now(self) -> float:
        assert self._process is not None
        return cpu_seconds(self._process.pid)

    def _attempts(self) -> float:
        names = ("scheduler_schedule_attempts_total{", "scheduler_podgroup_schedule_attempts_total{")
        lines = self._ask("/metrics").splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(names))

    def _ask(self, path: str) -> str:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with urllib.request.urlopen(f"https://127.0.0.1:{self._port}{path}", timeout=20, context=context) as answer:
            text: str = answer.read().decode()
        return text


@dataclass
class Ground:
    """Where the scenarios are played: how to have an API server."""

    is_real: bool

    @contextlib.asynccontextmanager
    async def place(self, contestant: Contestant, *, has_definition: bool = True) -> AsyncIterator[Place]:
        """A fresh API server, with a scheduler that has not been started yet."""
        with tempfile.TemporaryDirectory(prefix="moorage-gangs-") as folder:
            home = Path(folder)
            async with (
                _beside(_api_server(home, is_real=self.is_real)) as (kubeconfig, programs),
                Client(load_access(kubeconfig)) as client,
                faulty_server(kubeconfig) as faults,
                watching(client) as watcher,
            ):
                if has_definition:
                    await ensure_served(client, [POD_GROUPS])
                place = Place(
                    contestant,
                    kubeconfig=kubeconfig,
                    client=client,
                    watcher=watcher,
                    faults=faults,
                    home=home,
                    programs=programs,
                )
                try:
                    yield place
                finally:
                    place.end()


@contextlib.asynccontextmanager
async def _beside(server: contextlib.AbstractContextManager[tuple[Path, Path]]) -> AsyncIterator[tuple[Path, Path]]:
    """Nobody waits who has nothing to do with a server that starts or ends."""
    async with _STARTING:
        found = await asyncio.to_thread(server.__enter__)
    try:
        yield found
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


@contextlib.contextmanager
def _api_server(home: Path, *, is_real: bool) -> Iterator[tuple[Path, Path]]:
    if is_real:
        with run(gates=GATES[VERSION], apis=[_NATIVE_GROUPS.api_version]) as plane:
            yield plane.access.kubeconfig, plane.binaries
        return
    kubeconfig = home / "kubeconfig"
    command = [sys.executable, "-m", "moorage", "apiserver", "--port=0", f"--kubeconfig-out={kubeconfig}"]
    command += [f"--emulated-version={VERSION}", _gates()]
    with Process("apiserver", command, home / "apiserver.log") as process:
        process.wait_until(kubeconfig.exists)
        yield kubeconfig, binaries.folder()


def _gates() -> str:
    return f"--feature-gates={','.join(f'{name}=true' for name in GATES[VERSION])}"


def _plain_kubeconfig(url: str) -> Mapping[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": url}}],
        "users": [{"name": "admin", "user": {}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "admin"}}],
        "current-context": "here",
    }
