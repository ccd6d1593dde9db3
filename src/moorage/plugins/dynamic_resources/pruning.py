"""Branches of the search that cannot succeed, seen before they are walked.

Only what certainly has no solution is cut, so the first solution stays the first. Errors are part of the answer, too:
nothing is cut unless no device can raise one for any request (`is_calm`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from moorage.columns.devices import DeviceFacts
from moorage.plugins.dynamic_resources.counters import Counters
from moorage.plugins.dynamic_resources.pools import Pool
from moorage.plugins.dynamic_resources.requests import ClaimPlan, Wanted

#: From this step on it is worth looking ahead: most searches are over by then.
LOOK_AHEAD_AFTER = 100


@dataclass(frozen=True, slots=True)
class Pending:
    """Devices that are still to be found: so many for one of these alternatives, from a position on."""

    claim: int
    wanted: Sequence[Wanted]
    need: int
    start: int = 0


class Usable(Protocol):
    """Whether a device could be taken now, for itself."""

    def __call__(self, claim: int, wanted: Wanted, device: DeviceFacts, pool: Pool) -> bool: ...


def pending(plans: Sequence[ClaimPlan], claim: int, request: int, number: int, start: int) -> list[Pending]:
    """All that is to be found once `number` devices of this request are."""
    found = []
    for later in range(claim, len(plans)):
        choices = plans[later].choices
        for index in range(request if later == claim else 0, len(choices)):
            choice = choices[index]
            if later == claim and index == request:
                found.append(Pending(later, (choice.chosen,), choice.chosen.count - number, start))
            else:
                found.append(Pending(later, choice.wanted, min(one.count for one in choice.wanted)))
    return found


def is_hopeless(
    waiting: Iterable[Pending],
    positions: Sequence[tuple[DeviceFacts, Pool]],
    usable: Usable,
    plans: Sequence[ClaimPlan],
    counters: Counters,
) -> bool:
    """Whether what is waiting cannot all be found, whatever is taken first."""
    union: set[DeviceFacts] = set()
    total = 0
    for one in waiting:
        if one.need <= 0:
            continue
        most = 0
        found: set[DeviceFacts] = set()
        for wanted in one.wanted:
            devices = [
                (device, pool) for device, pool in positions[one.start :] if usable(one.claim, wanted, device, pool)
            ]
            found.update(device for device, _ in devices)
            most = max(most, _most(devices, wanted, plans[one.claim], counters))
        if most < one.need:
            return True
        exclusive = not any(device.device.allow_multiple_allocations for device in found)
        if exclusive and not any(wanted.spec.admin_access for wanted in one.wanted):
            union |= found
            total += one.need
    return total > len(union)


def _most(devices: Sequence[tuple[DeviceFacts, Pool]], wanted: Wanted, plan: ClaimPlan, counters: Counters) -> int:
    """How many of the devices one request can have at most."""
    most = len(devices)
    if matched := [one for one in plan.constraints if one.matches and one.concerns(wanted.base_name, wanted.full_name)]:
        values = Counter(tuple(one.value(device) for one in matched) for device, _ in devices)
        most = max(values.values(), default=0)
    for constraint in plan.constraints:
        limit = constraint.most(wanted.base_name, wanted.full_name, [device for device, _ in devices])
        most = min(most, limit) if limit is not None else most
    if not any(device.counters for device, _ in devices):
        return most
    pools: dict[Pool, list[DeviceFacts]] = {}
    for device, pool in devices:
        pools.setdefault(pool, []).append(device)
    return min(most, sum(_most_of_pool(pool, members, counters) for pool, members in pools.items()))


def _most_of_pool(pool: Pool, devices: Sequence[DeviceFacts], counters: Counters) -> int:
    """How many devices of one pool its counters allow at most: those that take least, counter by counter."""
    if any(device.device.allow_multiple_allocations for device in devices):
        return len(devices)  # a share of a device in use takes no more
    most = len(devices)
    for key, left in counters.left(pool).items():
        least = sorted(device.counters.get(key, 0) for device in devices)
        most = min(most, sum(taken <= left for taken in accumulate(least)))
    return most
