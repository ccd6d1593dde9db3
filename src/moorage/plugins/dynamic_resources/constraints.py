"""What the devices of a claim must have in common, or must not."""

from typing import Any, Protocol

from moorage.columns.devices import DeviceFacts
from moorage.objects import ResourceClaim
from moorage.plugins.dynamic_resources.errors import BrokenSearch
from moorage.plugins.dynamic_resources.rules import Rules


class Constraint(Protocol):
    """Told of each device that is taken and let go again, in reverse order."""

    def add(self, base_name: str, full_name: str, device: DeviceFacts) -> bool:
        """Whether the device may join those taken; then it has joined."""

    def remove(self, base_name: str, full_name: str, device: DeviceFacts) -> None:
        """The device that joined last is let go."""


class _OnAttribute:
    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        self._attribute = attribute
        self._requests = frozenset(requests)

    def _concerns(self, base_name: str, full_name: str) -> bool:
        return not self._requests or base_name in self._requests or full_name in self._requests


class Match(_OnAttribute):
    """All have the same value; the first one says which."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._value: Any = None
        self._count = 0

    def add(self, base_name: str, full_name: str, device: DeviceFacts) -> bool:
        """Whether the device has the value of the others."""
        if not self._concerns(base_name, full_name):
            return True
        value = device.attribute(self._attribute)
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
        if self._concerns(base_name, full_name):
            self._count -= 1


class Distinct(_OnAttribute):
    """No two of the same type have the same value."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._values: list[Any] = []

    def add(self, base_name: str, full_name: str, device: DeviceFacts) -> bool:
        """Whether the device's value is a new one."""
        if not self._concerns(base_name, full_name):
            return True
        value = device.attribute(self._attribute)
        if value is None or _clashes(value, self._values):
            return False
        self._values.append(value)
        return True

    def remove(self, base_name: str, full_name: str, _device: DeviceFacts) -> None:
        """Its value is free again."""
        if self._concerns(base_name, full_name):
            self._values.pop()


class DistinctRequests(_OnAttribute):
    """As in v1.36: one value is remembered for each request, the latest device's."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._values: dict[str, Any] = {}
        self._count = 0

    def add(self, base_name: str, full_name: str, device: DeviceFacts) -> bool:
        """Whether the device's value is none of the remembered."""
        if not self._concerns(base_name, full_name):
            return True
        value = device.attribute(self._attribute)
        if value is None or (self._count and _clashes(value, self._values.values())):
            return False
        self._values[base_name] = value
        self._count += 1
        return True

    def remove(self, base_name: str, full_name: str, _device: DeviceFacts) -> None:
        """The request's value is forgotten, whichever device it was of."""
        if self._concerns(base_name, full_name):
            self._values.pop(base_name, None)
            self._count -= 1


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
