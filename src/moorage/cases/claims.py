"""What DynamicResources reserved for a pod, in the shape of the recorded cases."""

from typing import Any

import msgspec

from moorage.framework.cycle_state import CycleState
from moorage.objects import Allocation, DeviceConfiguration, DeviceResult
from moorage.plugins.dynamic_resources.extended import IN_MEMORY
from moorage.plugins.dynamic_resources.state import KEY, PodDevices


def reserved_claims(state: CycleState) -> dict[str, Any]:
    """`claims` and `requestMappings`, where there are any."""
    devices: PodDevices | None = state.get(KEY)
    if devices is None or not devices.reserved:
        return {}
    data: dict[str, Any] = {
        "claims": [
            {"claim": IN_MEMORY if devices.is_special(place) else devices.claims[place].key, **_data(allocation)}
            for place, allocation in sorted(devices.reserved.items())
        ]
    }
    special = devices.reserved_special
    if special is not None and special.mappings:
        data["requestMappings"] = [
            {"container": one.container_name, "resource": one.resource_name, "request": one.request_name}
            for one in special.mappings
        ]
    return data


def _data(allocation: Allocation) -> dict[str, Any]:
    data: dict[str, Any] = {"devices": [_device(one) for one in allocation.devices.results]}
    if allocation.devices.config:
        data["config"] = [_config(one) for one in allocation.devices.config]
    if allocation.node_selector is not None:
        data["nodeSelector"] = msgspec.to_builtins(allocation.node_selector)
    return data


def _device(result: DeviceResult) -> dict[str, Any]:
    data: dict[str, Any] = {
        "request": result.request,
        "driver": result.driver,
        "pool": result.pool,
        "device": result.device,
    }
    if result.admin_access:
        data["adminAccess"] = True
    if result.share_id is not None:
        data["shared"] = True
    if result.consumed_capacity:
        data["consumedCapacity"] = dict(result.consumed_capacity)
    if result.binding_conditions:
        data["bindingConditions"] = list(result.binding_conditions)
    if result.binding_failure_conditions:
        data["bindingFailureConditions"] = list(result.binding_failure_conditions)
    if result.tolerations:
        data["tolerations"] = len(result.tolerations)
    return data


def _config(config: DeviceConfiguration) -> dict[str, Any]:
    data: dict[str, Any] = {"source": config.source}
    if config.requests:
        data["requests"] = list(config.requests)
    if config.opaque is not None:
        data["driver"] = config.opaque.driver
    return data
