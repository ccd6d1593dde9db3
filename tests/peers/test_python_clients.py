"""The public Python clients, unmodified: each creates, reads, patches, watches and deletes."""

import asyncio
import gc
import importlib
import uuid
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

# Their own warnings are their own business.
pytestmark = pytest.mark.filterwarnings("ignore")

Json = dict[str, Any]


def package(name: str) -> Any:
    """Somebody else's package; its types are not our concern."""
    return importlib.import_module(name)


@pytest.fixture(autouse=True)
def leftovers() -> Iterator[None]:
    """What a client leaves open is let go here, before the collector warns of it in somebody else's test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


@pytest.fixture
def name() -> str:
    return f"pod-{uuid.uuid4().hex[:8]}"


def manifest(name: str) -> Json:
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": "0.5"}}}
    metadata = {"name": name, "namespace": "default", "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


@pytest.fixture
def kubernetes_api(kubeconfig: Path) -> Iterator[Any]:
    api_client = package("kubernetes.config").new_client_from_config(str(kubeconfig))
    yield package("kubernetes.client").CoreV1Api(api_client)
    api_client.close()


def test_kubernetes(kubernetes_api: Any, name: str) -> None:
    api = kubernetes_api
    created = api.create_namespaced_pod("default", manifest(name))
    assert created.spec.scheduler_name == "default-scheduler"
    assert created.spec.containers[0].resources.requests["cpu"] == "500m"
    api.patch_namespaced_pod(name, "default", {"metadata": {"labels": {"tier": "web"}}})
    listed = api.list_namespaced_pod("default", label_selector=f"app={name}")
    assert [pod.metadata.labels["tier"] for pod in listed.items] == ["web"]
    stream = (
        package("kubernetes.watch")
        .Watch()
        .stream(
            api.list_namespaced_pod,
            "default",
            field_selector=f"metadata.name={name}",
            resource_version=created.metadata.resource_version,
            timeout_seconds=20,
        )
    )
    assert next(stream)["type"] == "MODIFIED"
    api.delete_namespaced_pod(name, "default")
    assert next(stream)["type"] == "DELETED"
    with pytest.raises(package("kubernetes.client").ApiException) as missing:
        api.read_namespaced_pod(name, "default")
    assert missing.value.status == 404


def test_kubernetes_dynamic(kubeconfig: Path, name: str) -> None:
    with package("kubernetes.config").new_client_from_config(str(kubeconfig)) as api_client:
        pods = package("kubernetes.dynamic").DynamicClient(api_client).resources.get(api_version="v1", kind="Pod")
        pods.create(body=manifest(name), namespace="default")
        applied = pods.server_side_apply(
            body={**manifest(name), "metadata": {"name": name, "annotations": {"by": "dynamic"}}},
            namespace="default",
            field_manager="test",
            force_conflicts=True,
        )
        assert applied.metadata.annotations["by"] == "dynamic"
        pods.delete(name=name, namespace="default")


@pytest.fixture
async def asyncio_api(kubeconfig: Path) -> AsyncIterator[Any]:
    client = package("kubernetes_asyncio.client")
    configuration = client.Configuration()
    await package("kubernetes_asyncio.config").load_kube_config(str(kubeconfig), client_configuration=configuration)
    async with client.ApiClient(configuration) as api_client:
        yield client.CoreV1Api(api_client)


async def test_kubernetes_asyncio(asyncio_api: Any, name: str) -> None:
    api = asyncio_api
    created = await api.create_namespaced_pod("default", manifest(name))
    await api.patch_namespaced_pod(name, "default", {"metadata": {"labels": {"tier": "web"}}})
    seen = []
    async with (
        package("kubernetes_asyncio.watch")
        .Watch()
        .stream(
            api.list_namespaced_pod,
            "default",
            field_selector=f"metadata.name={name}",
            resource_version=created.metadata.resource_version,
            timeout_seconds=20,
        ) as stream
    ):
        async for event in stream:
            seen.append(event["type"])
            if len(seen) == 1:
                await api.delete_namespaced_pod(name, "default")
            else:
                break
    assert seen == ["MODIFIED", "DELETED"]


async def test_kr8s(kubeconfig: Path, name: str) -> None:
    api = await package("kr8s.asyncio").api(kubeconfig=str(kubeconfig))
    pod = await package("kr8s.asyncio.objects").Pod(manifest(name), api=api)
    await pod.create()
    await pod.label({"tier": "web"})
    found = [each async for each in api.get("pods", namespace="default", label_selector={"app": name})]
    assert [each.labels["tier"] for each in found] == ["web"]
    await pod.patch({"metadata": {"annotations": {"by": "kr8s"}}})
    await pod.refresh()
    assert pod.annotations["by"] == "kr8s"
    await pod.delete()
    async with asyncio.timeout(20):
        await pod.wait("delete")
    assert not await pod.exists()


def test_lightkube(kubeconfig: Path, name: str) -> None:
    lightkube, from_dict = package("lightkube"), package("lightkube.codecs").from_dict
    pod = package("lightkube.resources.core_v1").Pod
    client = lightkube.Client(config=lightkube.KubeConfig.from_file(kubeconfig), field_manager="lightkube")
    created = client.create(from_dict(manifest(name)))
    assert created.spec.schedulerName == "default-scheduler"
    client.patch(pod, name, {"metadata": {"labels": {"tier": "web"}}})
    assert [p.metadata.labels["tier"] for p in client.list(pod, labels={"app": name})] == ["web"]
    version = created.metadata.resourceVersion
    events = client.watch(pod, fields={"metadata.name": name}, resource_version=version, server_timeout=20)
    assert next(events)[0] == "MODIFIED"
    wanted = manifest(name)
    wanted["metadata"]["annotations"] = {"by": "lightkube"}
    applied = client.apply(from_dict(wanted), force=True)
    assert applied.metadata.annotations["by"] == "lightkube"
    client.delete(pod, name)
    with pytest.raises(lightkube.ApiError) as missing:
        client.get(pod, name)
    assert missing.value.status.code == 404
