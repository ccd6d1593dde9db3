"""Devices that somebody has to make ready before a pod may start: whether they are, failed, or took too long."""

from moorage.objects import AllocatedDeviceStatus, DeviceResult, ResourceClaim
from moorage.values.time import parse_time


class BindingFailed(Exception):
    """A device cannot be made ready."""


def is_ready(claim: ResourceClaim) -> bool:
    """Whether all devices of the claim are ready. Raises BindingFailed."""
    allocation = claim.status.allocation
    for result in allocation.devices.results if allocation is not None else ():
        if not result.binding_conditions:
            continue
        status = _status_of(claim, result)
        if status is None:
            return False
        true = {one.type for one in status.conditions if one.status == "True"}
        for name in result.binding_failure_conditions:
            if name in true:
                condition = next(one for one in status.conditions if one.type == name and one.status == "True")
                raise BindingFailed(
                    f"device binding failed: claim={claim.metadata.name}, reason={condition.reason}, "
                    f'message="{condition.message}"'
                )
        if not true.issuperset(result.binding_conditions):
            return False
    return True


def waits(claim: ResourceClaim) -> bool:
    """Whether a device of the claim has to be made ready at all."""
    allocation = claim.status.allocation
    return allocation is not None and any(one.binding_conditions for one in allocation.devices.results)


def is_overdue(claim: ResourceClaim, timeout: float, now: float) -> bool:
    """Whether the claim was allocated so long ago that it should be ready."""
    allocation = claim.status.allocation
    if allocation is None or not allocation.allocation_timestamp:
        return False
    return parse_time(allocation.allocation_timestamp) + timeout < now


def _status_of(claim: ResourceClaim, result: DeviceResult) -> AllocatedDeviceStatus | None:
    wanted = (result.driver, result.pool, result.device)
    return next((one for one in claim.status.devices if (one.driver, one.pool, one.device) == wanted), None)
