"""The embedded API server answers as kube-apiserver does: codes, reasons, causes, and the objects themselves."""

import base64
import contextlib
import json
import ssl
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster import answers, group_answers
from tests.cluster.answers import Call
from tests.cluster.conftest import REAL, choice
from tools.control_plane import binaries
from tools.control_plane.processes import Process
from tools.control_plane.running import Access, ControlPlane, run

Json = dict[str, Any]

#: What differs from one server to the next, and from one moment to the next.
_VARIES = frozenset(
    {
        "uid",
        "controller-uid",
        "batch.kubernetes.io/controller-uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "managedFields",
        "lastTransitionTime",
        "lastProbeTime",
        "clusterIP",
        "clusterIPs",
        "nodePort",
        "message",
    }
)


class Server:
    """An API server, asked one thing after another."""

    def __init__(self, access: Access, namespace: str) -> None:
        self.access = access
        self.namespace = namespace
        self.tls = ssl.create_default_context(cafile=str(access.ca_file))
        self.tls.check_hostname = False

    def __call__(self, call: Call) -> tuple[int, Any]:
        """The code, and the body without what varies."""
        path = call.path.replace("{ns}", self.namespace) + (f"?{call.query}" if call.query else "")
        body = json.dumps(call.body).replace("{ns}", self.namespace).encode() if call.body is not None else None
        headers = {"Authorization": f"Bearer {self.access.token}", "Content-Type": call.content_type}
        request = urllib.request.Request(self.access.url + path, body, headers, method=call.method)
        try:
            with urllib.request.urlopen(request, timeout=30, context=self.tls) as answer:
                return answer.status, steady(json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                return error.code, steady(json.load(error))


def steady(value: Any) -> Any:
    """A value without what varies, and with causes in one order and each once: both servers may repeat themselves."""
    if isinstance(value, dict):
        kept = {key: steady(inner) for key, inner in value.items() if key not in _VARIES and inner is not None}
        if "causes" in kept:
            kept["causes"] = sorted({(each.get("reason", ""), each.get("field", "")) for each in kept["causes"]})
        return kept
    return [steady(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def servers(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    """kube-apiserver and ours, with the same empty namespace."""
    with beside(control_plane, tmp_path_factory.mktemp("embedded"), f"--emulated-version={minor()}") as pair:
        yield pair


def minor() -> str:
    """The version of the real one."""
    return binaries.version().removeprefix("v").rpartition(".")[0]


@contextlib.contextmanager
def beside(control_plane: ControlPlane, home: Path, *flags: str) -> Iterator[tuple[Server, Server]]:
    """kube-apiserver and ours started with these flags, with the same empty namespace."""
    path = home / "kubeconfig"
    command = [sys.executable, "-m", "moorage", "apiserver", "--port", "0", "--kubeconfig-out", str(path), *flags]
    with Process("moorage apiserver", command, home / "apiserver.log") as process:
        process.wait_until(path.exists)
        namespace = f"same-{uuid.uuid4().hex[:8]}"
        pair = (Server(control_plane.access, namespace), Server(_access(path, home), namespace))
        for server in pair:
            server(Call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}))
        yield pair
        for server in pair:
            server(Call("DELETE", "/api/v1/namespaces/{ns}"))


def _access(kubeconfig: Path, home: Path) -> Access:
    config = yaml.safe_load(kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    (home / "ca.crt").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    return Access(cluster["server"], config["users"][0]["user"]["token"], home / "ca.crt", kubeconfig)


@pytest.mark.parametrize("calls", [answers.pods, answers.workloads, answers.others, answers.applies])
def test_both_servers_answer_alike(servers: tuple[Server, Server], calls: Callable[[], Iterator[Call]]) -> None:
    assert not (differing := differences(servers, calls())), "\n".join(differing)


def test_both_servers_answer_alike_about_groups(tmp_path: Path) -> None:
    if choice() != REAL:
        pytest.skip("needs a real control plane: run it with MOORAGE_TEST_CLUSTER=real (make test-cluster)")
    version = minor()
    gates = dict.fromkeys(group_answers.GATES[version], True)
    flags = [f"--emulated-version={version}", *(f"--feature-gates={name}=true" for name in gates)]
    with (
        run(gates=gates, apis=group_answers.APIS[version]) as control_plane,
        beside(control_plane, tmp_path, *flags) as servers,
    ):
        differing = differences(servers, group_answers.groups(version))
    assert not differing, "\n".join(differing)


def differences(servers: tuple[Server, Server], calls: Iterable[Call]) -> list[str]:
    """Where the two answer differently, told call by call."""
    real, embedded = servers
    differing = []
    for call in calls:
        expected, found = real(call), embedded(call)
        if expected != found:
            differing.append(f"{call}\n  kube-apiserver: {expected}\n  embedded:       {found}")
    return differing
