"""Counters: what the devices of a pool draw on together."""

from collections.abc import Mapping

from moorage.columns.devices import Claims, DeviceFacts
from moorage.plugins.dynamic_resources.pools import Pool, PoolId
from moorage.plugins.dynamic_resources.rules import Rules

Key = tuple[str, str]


class Counters:
    """What is left of each pool's counters during one search."""

    def __init__(self, held: Claims, rules: Rules) -> None:
        self._held = held
        self._rules = rules
        self._left: dict[PoolId, dict[Key, int]] = {}

    def take(self, device: DeviceFacts, pool: Pool) -> bool:
        """Draw what the device needs. One counter of the pool below zero, whichever, and nothing is drawn."""
        left = self._of(pool)
        for key, amount in device.counters.items():
            left[key] -= amount
        if min(left.values(), default=0) >= 0:
            return True
        self.give_back(device, pool)
        return False

    def give_back(self, device: DeviceFacts, pool: Pool) -> None:
        """Undo `take`."""
        left = self._left[pool.id]
        for key, amount in device.counters.items():
            left[key] += amount

    def left(self, pool: Pool) -> Mapping[Key, int]:
        """What is left of a pool's counters now."""
        return self._of(pool)

    def _of(self, pool: Pool) -> dict[Key, int]:
        left = self._left.get(pool.id)
        if left is None:
            left = self._left[pool.id] = dict(pool.counters)
            for device in pool.drawing():
                if self._held.is_taken(device.id):
                    for key, amount in device.counters.items():
                        left[key] -= amount
        return left
