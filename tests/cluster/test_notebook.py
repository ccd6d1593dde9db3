"""`moorage.connect()` on a running cluster: what kubectl created is what is decided on."""

import asyncio
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.conftest import Kubectl
from tools.control_plane.running import Access

import moorage
from moorage.errors import ApiError, InputError
from moorage.objects import Pod


@pytest.fixture
def name(kubectl: Kubectl) -> Iterator[str]:
    """A node and a pending pod of this name; gone again afterwards."""
    name = f"notebook-{uuid.uuid4().hex[:8]}"
    node: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"only": name}},
        "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedulerName": "nobody",
            "nodeSelector": {"only": name},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}],
        },
    }
    try:
        kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, pod]}))
        yield name
    finally:
        kubectl("delete", "--ignore-not-found", "--wait=false", f"node/{name}", f"pod/{name}")


def test_a_pod_of_the_cluster_is_decided(cluster: Access, name: str) -> None:
    seen = moorage.connect(str(cluster.kubeconfig))
    assert name in seen.nodes
    assert f"default/{name}" in seen.pending
    pod = next(item for item in seen.objects if isinstance(item, Pod) and item.key == f"default/{name}")
    decided = seen.decide(
        pod,
        config={
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "nobody"}],
        },
    )
    assert decided.feasible == (name,)


async def test_it_works_where_a_loop_runs_already_as_in_jupyter(cluster: Access, name: str) -> None:
    assert asyncio.get_running_loop().is_running()
    assert name in moorage.connect(str(cluster.kubeconfig)).nodes


def test_no_cluster_is_one_clear_line(tmp_path: Path, cluster: Access) -> None:
    with pytest.raises(InputError, match=r"No such file|does not exist|cannot be read"):
        moorage.connect(str(tmp_path / "none"))
    text = Path(cluster.kubeconfig).read_text()
    deaf = tmp_path / "deaf"
    deaf.write_text(text.replace(cluster.url, "https://127.0.0.1:1"))
    with pytest.raises(ApiError, match=r"127\.0\.0\.1"):
        moorage.connect(str(deaf))
