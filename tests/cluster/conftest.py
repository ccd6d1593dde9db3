"""The API server under the cluster tests. MOORAGE_TEST_CLUSTER chooses it:

unset or `embedded`   Moorage's own API server, started for the session
`real`                etcd and kube-apiserver, from $KUBEBUILDER_ASSETS or `make control-plane`
a path                whatever cluster that kubeconfig reaches; tests then leave nothing behind but events
"""

import base64
import contextlib
import os
import re
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.scheduler_world import World, make_world
from tools.control_plane.binaries import any_kubectl
from tools.control_plane.processes import Process
from tools.control_plane.running import Access, ControlPlane, kubectl, run

HERE = Path(__file__).parent
EMBEDDED, REAL = "embedded", "real"

Kubectl = Callable[..., str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)


def choice() -> str:
    return os.environ.get("MOORAGE_TEST_CLUSTER") or EMBEDDED


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Access]:
    """The API server to test against, as its administrator."""
    if choice() == REAL:
        control_plane: ControlPlane = request.getfixturevalue("control_plane")
        yield control_plane.access
    elif choice() == EMBEDDED:
        with start_embedded() as access:
            yield access
    else:
        yield reach(Path(choice()), tmp_path_factory.mktemp("cluster"))


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """The real control plane, for tests that start kube-scheduler or kube-controller-manager beside us."""
    if choice() != REAL:
        pytest.skip("needs a real control plane: run it with MOORAGE_TEST_CLUSTER=real (make test-cluster)")
    with run() as started:
        yield started


@pytest.fixture(name="kubectl", scope="session")
def kubectl_fixture(cluster: Access) -> Kubectl:
    """kubectl against the cluster under test: `kubectl("get", "pods", stdin="...")` gives what it prints."""
    program = any_kubectl()
    if program is None:
        pytest.skip("needs kubectl (make control-plane)")
    return lambda *arguments, stdin="": kubectl(program, cluster, *arguments, stdin=stdin)


@contextlib.contextmanager
def start_embedded(*flags: str) -> Iterator[Access]:
    """Moorage's own API server in a process of its own, as a user would start it."""
    with tempfile.TemporaryDirectory(prefix="moorage-embedded-") as home:
        kubeconfig = Path(home, "kubeconfig")
        command = [sys.executable, "-m", "moorage", "apiserver", "--port", "0", "--kubeconfig-out", str(kubeconfig)]
        command += flags
        with Process("moorage apiserver", command, Path(home, "apiserver.log")) as server:
            server.wait_until(kubeconfig.exists)
            yield reach(kubeconfig, Path(home))


def reach(kubeconfig: Path, scratch: Path) -> Access:
    """What the current context of a kubeconfig says; credentials other than a token stay in the file."""
    config = yaml.safe_load(kubeconfig.read_text())
    context = _named(config["contexts"], config["current-context"])["context"]
    server = _named(config["clusters"], context["cluster"])["cluster"]
    user = _named(config["users"], context["user"])["user"]
    ca_file = scratch / "ca.crt"
    if data := server.get("certificate-authority-data"):
        ca_file.write_bytes(base64.b64decode(data))
    elif path := server.get("certificate-authority"):
        ca_file = kubeconfig.parent / path
    return Access(server["server"], user.get("token", ""), ca_file, kubeconfig)


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


@pytest.fixture
async def world(cluster: Access, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Nodes and pods of the test's own, and a scheduler to run on them."""
    name = re.sub("[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))[:40].strip("-")
    async with make_world(cluster, f"{name}-{secrets.token_hex(3)}") as made:
        yield made
