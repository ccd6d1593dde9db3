"""The embedded API server in a process of its own, for clients that somebody else wrote."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.control_plane.binaries import any_kubectl, every_kubectl, folder
from tools.control_plane.processes import Process

HERE = Path(__file__).parent

Json = dict[str, Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.peer)


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An API server for the whole session; the kubeconfig of its admin."""
    home = tmp_path_factory.mktemp("peers")
    path = home / "kubeconfig"
    command = [sys.executable, "-m", "moorage", "apiserver", "--port", "0", "--kubeconfig-out", str(path)]
    with Process("moorage apiserver", command, home / "apiserver.log") as server:
        server.wait_until(path.exists)
        yield path


@pytest.fixture
def program() -> Callable[[str], Path]:
    """A program of a real control plane; the test is skipped where it is not built."""

    def find(name: str) -> Path:
        path = folder() / name
        if not path.exists():
            pytest.skip(f"needs {name} in {folder()} (make control-plane)")
        return path

    return find


class Kubectl:
    """kubectl as a user runs it, in a namespace of its own."""

    def __init__(self, path: str, kubeconfig: Path, namespace: str) -> None:
        self.path = path
        self.namespace = namespace
        self.environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "KUBE_EDITOR": "false"}

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run kubectl whatever comes of it."""
        command = [self.path, "--namespace", self.namespace, *arguments]
        return subprocess.run(
            command, input=stdin, env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """What kubectl prints; the test fails if kubectl does."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def apply(self, *objects: Json) -> str:
        """Apply objects. Several as one list: older versions read no JSON documents one after the other."""
        document = objects[0] if len(objects) == 1 else {"apiVersion": "v1", "kind": "List", "items": objects}
        return self("apply", "-f", "-", stdin=json.dumps(document))

    def get(self, *arguments: str) -> Json:
        """Get as JSON."""
        found: Json = json.loads(self("get", *arguments, "-o", "json"))
        return found

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start kubectl and leave it running, for the test to read from and to end."""
        command = [self.path, "--namespace", self.namespace, *arguments]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def namespace() -> str:
    """A namespace that no other test uses."""
    return f"peer-{uuid.uuid4().hex[:8]}"


@pytest.fixture(params=sorted(every_kubectl()) or ["any"])
def kubectl(kubeconfig: Path, namespace: str, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """kubectl of every version that is built; where none is, whatever is installed."""
    path = every_kubectl().get(request.param) or any_kubectl()
    if path is None:
        pytest.skip("needs kubectl (make control-plane)")
    found = Kubectl(str(path), kubeconfig, namespace)
    found("create", "namespace", namespace)
    yield found
    found("delete", "namespace", namespace, "--wait=false")


def node(name: str, **labels: str) -> Json:
    """A node that is ready, with room for a few pods."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {
            "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {"kubeletVersion": "v1.36.4"},
        },
    }


def pod(name: str, **spec: Any) -> Json:
    """A pod with one container."""
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [container], **spec},
    }
