"""Slices, classes and claims, as short as tests want them."""

from typing import Any

from moorage.objects import DeviceClass, ResourceClaim, ResourceSlice, convert

DRIVER = "gpu.example.com"


def a_slice(name: str, *devices: dict[str, Any] | str, **spec: Any) -> ResourceSlice:
    """A slice that is a whole pool of its own, for all nodes unless said otherwise."""
    listed = [{"name": one} if isinstance(one, str) else one for one in devices]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1, **spec.pop("pool", {})}
    where = {} if spec.keys() & {"nodeName", "nodeSelector", "perDeviceNodeSelection"} else {"allNodes": True}
    tree = {"driver": DRIVER, "pool": pool, "devices": listed, **where, **spec}
    return convert({"metadata": {"name": name}, "spec": tree}, ResourceSlice)


def a_class(name: str = "gpu", *selectors: str, **spec: Any) -> DeviceClass:
    """A class with these expressions."""
    cel = [{"cel": {"expression": one}} for one in selectors]
    return convert({"metadata": {"name": name}, "spec": {"selectors": cel, **spec}}, DeviceClass)


def a_request(name: str = "one", *selectors: str, **fields: Any) -> dict[str, Any]:
    """A request for exactly one device of class gpu, unless said otherwise."""
    cel = [{"cel": {"expression": one}} for one in selectors]
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, "selectors": cel, **fields}
    if exactly["allocationMode"] == "All":
        exactly["count"] = 0
    return {"name": name, "exactly": exactly}


def a_claim(
    name: str, *requests: dict[str, Any], status: dict[str, Any] | None = None, **devices: Any
) -> ResourceClaim:
    """A claim in namespace default."""
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "1"}
    spec = {"devices": {"requests": list(requests or (a_request(),)), **devices}}
    return convert({"metadata": metadata, "spec": spec, "status": status or {}}, ResourceClaim)


def allocated(*devices: str, pool: str, node: str = "", **result: Any) -> dict[str, Any]:
    """The status of a claim that holds these devices, reachable from one node or from all."""
    results = [{"request": "one", "driver": DRIVER, "pool": pool, "device": one, **result} for one in devices]
    allocation: dict[str, Any] = {"devices": {"results": results}}
    if node:
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"allocation": allocation}
