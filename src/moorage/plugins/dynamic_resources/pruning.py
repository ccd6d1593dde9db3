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
from moorage.plugins.dynamic_resources.constraints import Constraint
from moorage.plugins.dynamic_resources.counters import Counters, Key
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


@dataclass(frozen=True, slots=True)
class _Sought:
    """What is pending, with the devices that each alternative could have."""

    pending: Pending
    found: Sequence[tuple[Wanted, Sequence[tuple[DeviceFacts, Pool]]]]

    @property
    def is_exclusive(self) -> bool:
        """Whether a device taken for it is not to be had again."""
        if any(wanted.spec.admin_access for wanted, _ in self.found):
            return False
        return not any(device.device.allow_multiple_allocations for _, devices in self.found for device, _ in devices)


def is_hopeless(
    waiting: Iterable[Pending],
    positions: Sequence[tuple[DeviceFacts, Pool]],
    usable: Usable,
    plans: Sequence[ClaimPlan],
    counters: Counters,
) -> bool:
    """Whether what is waiting cannot all be found, whatever is taken first."""
    sought = []
    for one in waiting:
        if one.need <= 0:
            continue
        found = []
        for wanted in one.wanted:
            devices = [pair for pair in positions[one.start :] if usable(one.claim, wanted, *pair)]
            found.append((wanted, devices))
        if max(_most(devices, wanted, plans[one.claim], counters) for wanted, devices in found) < one.need:
            return True
        sought.append(_Sought(one, found))
    exclusive = [one for one in sought if one.is_exclusive]
    return _are_too_few(exclusive) or _match_too_few(exclusive, plans) or _draw_too_much(exclusive, counters)


def _are_too_few(sought: Sequence[_Sought]) -> bool:
    union = {device for one in sought for _, devices in one.found for device, _ in devices}
    return sum(one.pending.need for one in sought) > len(union)


def _match_too_few(sought: Sequence[_Sought], plans: Sequence[ClaimPlan]) -> bool:
    """Whether requests that must have one value between them find it too seldom."""
    together: dict[Constraint, list[_Sought]] = {}
    for one in sought:
        if len(one.found) == 1:
            for constraint in plans[one.pending.claim].constraining(one.found[0][0]):
                if constraint.matches:
                    together.setdefault(constraint, []).append(one)
    for constraint, group in together.items():
        if len(group) > 1:
            union = {device for one in group for _, devices in one.found for device, _ in devices}
            values = Counter(constraint.value(device) for device in union)
            if max(values.values(), default=0) < sum(one.pending.need for one in group):
                return True
    return False


def _draw_too_much(sought: Sequence[_Sought], counters: Counters) -> bool:
    """Whether even the devices that draw least on some counter draw too much on it together."""
    pools = {pool for one in sought for _, devices in one.found for device, pool in devices if device.counters}
    for pool in pools:
        for key, left in counters.left(pool).items():
            drawn = sum(_least(one, pool, key) for one in sought)
            # A device that draws on nothing may be had although a counter is overdrawn.
            if drawn > max(left, 0):
                return True
    return False


def _least(one: _Sought, pool: Pool, key: Key) -> int:
    """What it draws at least on a counter; devices of other pools draw nothing on it."""
    drawn = []
    for wanted, devices in one.found:
        amounts = sorted(device.counters.get(key, 0) if of is pool else 0 for device, of in devices)
        need = one.pending.need if len(one.found) == 1 else min(one.pending.need, wanted.count)
        drawn.append(sum(amounts[:need]))
    return min(drawn)


def _most(devices: Sequence[tuple[DeviceFacts, Pool]], wanted: Wanted, plan: ClaimPlan, counters: Counters) -> int:
    """How many of the devices one request can have at most."""
    most = len(devices)
    if matched := [one for one in plan.constraining(wanted) if one.matches]:
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
    drawing = [device for device in devices if device.counters]
    most = len(drawing)
    for key, left in counters.left(pool).items():
        least = sorted(device.counters.get(key, 0) for device in drawing)
        most = min(most, sum(taken <= left for taken in accumulate(least)))
    return most + len(devices) - len(drawing)
