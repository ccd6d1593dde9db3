"""Which taints drive whom off a device, and when."""

from collections.abc import Iterable, Iterator

from moorage.controllers.claims.releasing import EXTENDED
from moorage.controllers.objects.claims import DeviceTaintRule, ResourceClaim, ResourceSlice
from moorage.objects import DeviceResult, DeviceTaint, Toleration
from moorage.values.taint import NO_EXECUTE, tolerates_device
from moorage.values.time import time_of


def leaving_time(taint: DeviceTaint, tolerations: Iterable[Toleration], now: float) -> float | None:
    """When the users of a device have to leave for this taint, in seconds since 1970; None for never.

    Tolerations count whose effect is spelled out. One without seconds holds for ever; of several the shortest counts.
    """
    since = time_of(taint.time_added or "") or now
    meeting = [one for one in tolerations if one.effect == NO_EXECUTE and tolerates_device(one, taint)]
    patience = [one.toleration_seconds for one in meeting if one.toleration_seconds is not None]
    if len(patience) < len(meeting):
        return None
    return since + max(0, min(patience, default=0))


def devices_of(claim: ResourceClaim) -> tuple[DeviceResult, ...]:
    """The devices that a claim holds."""
    allocation = claim.status.allocation
    return allocation.devices.results if allocation is not None else ()


def evictable_devices(claim: ResourceClaim) -> tuple[DeviceResult, ...]:
    """Those whose taints drive the claim's users out: extended resources are never looked at."""
    return () if EXTENDED in claim.metadata.annotations else devices_of(claim)


def pool_of(item: ResourceSlice) -> str:
    """The pool that a slice belongs to."""
    return f"{item.spec.driver}/{item.spec.pool.name}"


def newest(slices: Iterable[ResourceSlice]) -> Iterator[ResourceSlice]:
    """Of a pool's slices those of the newest generation: only these count."""
    known = list(slices)
    generation = max((one.spec.pool.generation for one in known), default=0)
    return (one for one in known if one.spec.pool.generation == generation)


def selects(rule: DeviceTaintRule, driver: str, pool: str, device: str) -> bool:
    """Whether a rule taints the device. One without a selector taints none."""
    wanted = rule.spec.device_selector
    if wanted is None:
        return False
    asked = ((wanted.driver, driver), (wanted.pool, pool), (wanted.device, device))
    return all(one is None or one == has for one, has in asked)
