"""How much of a device a request takes: rounding and refusing by the device's policy."""

from collections.abc import Mapping
from dataclasses import dataclass

from moorage.objects import CapacityPolicy, CapacityRequirements, Device, DeviceCapacity
from moorage.objects.device import QuantityText
from moorage.plugins.dynamic_resources.rules import Rules
from moorage.values.quantity import BINARY, MAX_INT64, MILLI, ONE, canonical, format_of, is_beyond, parse_quantity

_NOT_REPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"


class CapacityError(Exception):
    """A request that cannot be worked out: it ends the attempt."""


@dataclass(frozen=True, slots=True)
class Amount:
    """What is taken of one capacity, in nano units and as it is written, and how much there is."""

    nano: int
    text: str
    there: int


def amounts(asked: CapacityRequirements | None, device: Device, rules: Rules) -> dict[str, Amount] | None:
    """What is taken of each capacity; None where the device or its policy does not have what is asked.

    Raises CapacityError.
    """
    wanted = asked.requests if asked is not None else {}
    if any(name not in device.capacity for name in wanted):
        return None
    taken = {}
    for name, capacity in device.capacity.items():
        nano, text = _taken(wanted.get(name), capacity, name, rules)
        if nano < 0 and rules.strict_capacity:
            raise CapacityError(f'capacity "{name}": capacity value is negative')
        taken[name] = Amount(nano, text, parse_quantity(capacity.value))
    for name, capacity in device.capacity.items():
        if capacity.request_policy is not None and _violates(taken[name], capacity.request_policy, rules):
            return None
    return taken


def fits(taken: Mapping[str, Amount], *used: Mapping[str, int]) -> bool:
    """Whether the amounts fit beside what is used already."""
    return all(one.nano + sum(others.get(name, 0) for others in used) <= one.there for name, one in taken.items())


def _taken(wanted: QuantityText | None, capacity: DeviceCapacity, name: str, rules: Rules) -> tuple[int, str]:
    policy = capacity.request_policy
    if wanted is None:
        whole = policy.default if policy is not None and policy.default is not None else capacity.value
        return parse_quantity(whole), str(whole)
    nano = parse_quantity(wanted)
    if policy is None:
        return nano, str(wanted)
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded(wanted, policy, name, rules)
    for value in policy.valid_values:
        if nano <= parse_quantity(value):
            return parse_quantity(value), str(value)
    return nano, str(wanted)


def _rounded(wanted: QuantityText, policy: CapacityPolicy, name: str, rules: Rules) -> tuple[int, str]:
    """The smallest amount on the range's steps that is enough."""
    range_ = policy.valid_range
    assert range_ is not None
    assert range_.min is not None
    nano, least = parse_quantity(wanted), parse_quantity(range_.min)
    if nano < least:
        return least, str(range_.min)
    if range_.step is None:
        return nano, str(wanted)
    unit, exact = _unit(policy, rules)
    if rules.strict_capacity and (is_beyond(wanted) or (exact and nano % unit)):
        why = f"request {wanted} is not a representable milli value" if exact else f"request {wanted} exceeds MaxInt64"
        raise CapacityError(f'capacity "{name}": {_NOT_REPRESENTABLE}: {why}')
    start, step = _units(least, unit), _units(parse_quantity(range_.step), unit)
    rounded = start + -(-(_units(nano, unit) - start) // step) * step
    if rounded > MAX_INT64 and rules.strict_capacity:
        passes = "the milli-value range" if exact else "MaxInt64"
        why = f"rounding request {wanted} up to the next step passes {passes}"
        raise CapacityError(f'capacity "{name}": {_NOT_REPRESENTABLE}: {why}')
    if not rules.strict_capacity:
        rounded = (rounded + 2**63) % 2**64 - 2**63  # as an int64 wraps around
    form = format_of(range_.step) if rules.strict_capacity else BINARY
    return rounded * unit, canonical(rounded * unit, form)


def _unit(policy: CapacityPolicy, rules: Rules) -> tuple[int, bool]:
    """What a range counts in, and whether requests must be exact in it: whole numbers, or thousandths."""
    range_ = policy.valid_range
    assert range_ is not None
    given = [parse_quantity(one) for one in (range_.min, range_.max, range_.step) if one is not None]
    in_thousandths = all(one % MILLI == 0 for one in given)
    return (MILLI, True) if rules.fractional_ranges and in_thousandths else (ONE, False)


def _units(nano: int, unit: int) -> int:
    return -(-nano // unit)


def _violates(taken: Amount, policy: CapacityPolicy, rules: Rules) -> bool:
    if policy.default is not None and taken.text == str(policy.default):
        return False
    range_ = policy.valid_range
    if range_ is not None:
        if range_.max is not None and taken.nano > parse_quantity(range_.max):
            return True
        if range_.step is None:
            return False
        unit, _ = _unit(policy, rules)
        start = _units(parse_quantity(range_.min or 0), unit)
        return (_units(taken.nano, unit) - start) % _units(parse_quantity(range_.step), unit) != 0
    return bool(policy.valid_values) and all(taken.nano != parse_quantity(value) for value in policy.valid_values)
