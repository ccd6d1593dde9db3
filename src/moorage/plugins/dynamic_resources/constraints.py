"""What the devices of a claim must have in common, or must not."""

from collections.abc import Sequence
from typing import Any, Protocol

from moorage.columns.devices import DeviceFacts
from moorage.objects import ResourceClaim
from moorage.plugins.dynamic_resources.rules import BrokenSearch, Rules


class Constraint(Protocol):
    """Told of each device that is taken and let go again, in reverse order."""

    is_reversible: bool
    attribute: str
    #: Whether all devices must have one value.
    matches: bool

    def concerns(self, base_name: str, full_name: str) -> bool:
        """Whether it is about devices of this request."""

    def value(self, device: DeviceFacts) -> Any:
        """What a device has of the attribute."""

    def add(self, base_name: str, full_name: str, device: DeviceFacts) -> bool:
        """Whether the device may join those taken; then it has joined."""

    def remove(self, base_name: str, full_name: str, device: DeviceFacts) -> None:
        """The device that joined last is let go."""

    def most(self, base_name: str, full_name: str, devices: Sequence[DeviceFacts]) -> int | None:
        """How many of these devices, each of which may join, may join together at most; None: any number."""


class _OnAttribute:
    #: Whether letting go of a device brings back what was before it.
    is_reversible = True
    matches = False

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        self.attribute = attribute
        self._requests = frozenset(requests)

    def concerns(self, base_name: str, full_name: str) -> bool:
        """Whether it is about devices of this request."""
        return not self._requests or base_name in self._requests or full_name in self._requests

    def value(self, device: DeviceFacts) -> Any:
        """What a device has of the attribute."""
        return device.attribute(self.attribute)


class Match(_OnAttribute):
    """All have the same value; the first one says which."""

    matches = True

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._value: Any = None
        self._count = 0

    def add(self, base_name: str, full_name: str, device: DeviceFacts) -> bool:
        """Whether the device has the value of the others."""
        if not self.concerns(base_name, full_name):
            return True
        value = device.attribute(self.attribute)
        if value is None:
            return False
        if not self._count:
            self._value = value
        elif value[0] == "unknown" or value != self._value:
            return False
        self._count += 1
        return True

    def remove(self, base_name: str, full_name: str, _device: DeviceFacts) -> None:
        """One less."""
        if self.concerns(base_name, full_name):
            self._count -= 1

    def most(self, _base_name: str, _full_name: str, _devices: Sequence[DeviceFacts]) -> int | None:
        """What matches is counted for all constraints together."""
        return None


class Distinct(_OnAttribute):
    """No two of the same type have the same value."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._values: list[Any] = []

    def add(self, base_name: str, full_name: str, device: DeviceFacts) -> bool:
        """Whether the device's value is a new one."""
        if not self.concerns(base_name, full_name):
            return True
        value = device.attribute(self.attribute)
        if value is None or _clashes(value, self._values):
            return False
        self._values.append(value)
        return True

    def remove(self, base_name: str, full_name: str, _device: DeviceFacts) -> None:
        """Its value is free again."""
        if self.concerns(base_name, full_name):
            self._values.pop()

    def most(self, base_name: str, full_name: str, devices: Sequence[DeviceFacts]) -> int | None:
        """One of each value."""
        if not self.concerns(base_name, full_name):
            return None
        return len({device.attribute(self.attribute) for device in devices})


class DistinctRequests(_OnAttribute):
    """As in v1.36: one value is remembered for each request, the latest device's."""

    is_reversible = False

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._values: dict[str, Any] = {}
        self._count = 0

    def add(self, base_name: str, full_name: str, device: DeviceFacts) -> bool:
        """Whether the device's value is none of the remembered."""
        if not self.concerns(base_name, full_name):
            return True
        value = device.attribute(self.attribute)
        if value is None or (self._count and _clashes(value, self._values.values())):
            return False
        self._values[base_name] = value
        self._count += 1
        return True

    def remove(self, base_name: str, full_name: str, _device: DeviceFacts) -> None:
        """The request's value is forgotten, whichever device it was of."""
        if self.concerns(base_name, full_name):
            self._values.pop(base_name, None)
            self._count -= 1

    def most(self, _base_name: str, _full_name: str, _devices: Sequence[DeviceFacts]) -> int | None:
        """What is forgotten may come again: no bound."""
        return None


def _clashes(value: Any, others: Any) -> bool:
    return any(value[0] == "unknown" or value == other for other in others)


def make_constraint(claim: ResourceClaim, index: int, rules: Rules) -> Constraint:
    """A constraint of a claim, with nothing taken yet. Raises BrokenSearch."""
    spec = claim.spec.devices.constraints[index]
    if spec.match_attribute is not None:
        return Match(spec.match_attribute, spec.requests)
    if spec.distinct_attribute is not None:
        kind = Distinct if rules.distinct_devices else DistinctRequests
        return kind(spec.distinct_attribute, spec.requests)
    raise BrokenSearch(f"claim {claim.key}, constraint #{index}: empty constraint (unsupported constraint type?)")
