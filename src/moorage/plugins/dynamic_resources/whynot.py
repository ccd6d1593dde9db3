"""Why a node has no devices for a pod's claims, as data: which request, which device came closest, what it lacks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from moorage.columns.devices import DeviceFacts
from moorage.errors import InputError
from moorage.objects import DeviceClass, DeviceSelector, ResourceClaim
from moorage.plugins.dynamic_resources.capacity import CapacityError, amounts, fits
from moorage.plugins.dynamic_resources.pools import Pool
from moorage.plugins.dynamic_resources.requests import Wanted, plan
from moorage.plugins.dynamic_resources.rules import BrokenSearch
from moorage.plugins.dynamic_resources.search import Search, untolerated


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One test that a device does not pass.

    `kind` is `selector`, `node`, `inUse`, `capacity`, `counters`, `taint` or `constraint`; of a request as a whole it
    may be `error` (it cannot be worked out) or `together` (enough for each request, but not for all at once).
    """

    kind: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A request that finds too few devices on a node, and the device that passes most of the tests."""

    claim: str
    request: str
    wanted: int
    found: int
    device: str = ""
    obstacles: tuple[Obstacle, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """What is known of it, for people and programs."""
        return {name: value for name, value in asdict(self).items() if value or name in ("wanted", "found")}


class Inspection(Search):
    """Looks at every device for every request, each by itself."""

    def shortfalls(
        self, claims: Sequence[ResourceClaim], class_of: Callable[[str], DeviceClass | None]
    ) -> tuple[Shortfall, ...]:
        """The requests of which every alternative finds too few; if there are none, that they do not fit together."""
        try:
            self._plans = plan(claims, class_of, self._every, self._rules)
        except BrokenSearch as problem:
            return (Shortfall("", "", 0, 0, obstacles=(Obstacle("error", str(problem)),)),)
        found: list[Shortfall] = []
        for index, one in enumerate(self._plans):
            for choice in one.choices:
                lacking = [self._lacking(index, wanted) for wanted in choice.wanted]
                if all(lacking):
                    found += [short for short in lacking if short is not None]
        return tuple(found) or tuple(
            Shortfall(one.claim.key, "", 0, 0, obstacles=(Obstacle("together"),)) for one in self._plans
        )

    def _lacking(self, claim: int, wanted: Wanted) -> Shortfall | None:
        meant = self._positions
        if wanted.every:
            meant = [(device, self._pool_of[device.id[:2]]) for device in wanted.every]
        tested = [(tuple(self._obstacles(claim, wanted, device, pool)), device) for device, pool in meant]
        free = sum(not obstacles for obstacles, _ in tested)
        count = wanted.count if wanted.every is None else max(len(wanted.every), 1)
        if free >= count:
            return None
        key = self._plans[claim].claim.key
        refused = [(len(obstacles), place) for place, (obstacles, _) in enumerate(tested) if obstacles]
        if not refused:
            return Shortfall(key, wanted.full_name, count, free)
        obstacles, device = tested[min(refused)[1]]
        return Shortfall(key, wanted.full_name, count, free, "/".join(device.id), obstacles)

    def _obstacles(self, claim: int, wanted: Wanted, device: DeviceFacts, pool: Pool) -> Iterator[Obstacle]:
        yield from _refusing(f"class {wanted.class_.metadata.name}", wanted.class_.spec.selectors, device)
        yield from _refusing("request", wanted.spec.selectors, device)
        if device.slice.spec.per_device_node_selection and not self._reaches(device):
            yield Obstacle("node")
        if self._is_in_use(claim, wanted, device.id):
            yield Obstacle("inUse", self._holder_of(device))
        if self._rules.consumable:
            yield from self._lack_of_room(wanted, device)
        if device.device.consumes_counters:
            if self._counters.take(device, pool):
                self._counters.give_back(device, pool)
            else:
                yield Obstacle(
                    "counters", ", ".join(sorted({one.counter_set for one in device.device.consumes_counters}))
                )
        for taint in untolerated(wanted, device) if self._rules.taints else ():
            yield Obstacle("taint", f"{taint.key}={taint.value}:{taint.effect}")
        for constraint in self._plans[claim].constraining(wanted):
            if constraint.add(wanted.base_name, wanted.full_name, device):
                constraint.remove(wanted.base_name, wanted.full_name, device)
            else:
                yield Obstacle("constraint", constraint.attribute)

    def _reaches(self, device: DeviceFacts) -> bool:
        try:
            return device.rule.matches(self._node.name, self._node.labels)
        except InputError:
            return False

    def _lack_of_room(self, wanted: Wanted, device: DeviceFacts) -> Iterator[Obstacle]:
        try:
            taken = amounts(wanted.spec.capacity, device.device, self._rules)
        except CapacityError as problem:
            yield Obstacle("capacity", str(problem))
            return
        if taken is None:
            yield Obstacle("capacity", "not to be had, or not in such amounts")
        elif not fits(taken, self._held.used(device.id)):
            used = self._held.used(device.id)
            short = [name for name, one in taken.items() if one.nano + used.get(name, 0) > one.there]
            yield Obstacle("capacity", ", ".join(short))

    def _holder_of(self, device: DeviceFacts) -> str:
        for claim in self._held:
            allocation = claim.status.allocation
            results = allocation.devices.results if allocation is not None else ()
            if any((one.driver, one.pool, one.device) == device.id for one in results):
                return claim.key
        return ""


def _refusing(whose: str, selectors: Sequence[DeviceSelector], device: DeviceFacts) -> Iterator[Obstacle]:
    for index, selector in enumerate(selectors):
        expression = selector.cel.expression if selector.cel is not None else ""
        answer = device.answer(expression)
        if answer is not True:
            broken = "" if answer is False else f" ({answer})"
            yield Obstacle("selector", f"{whose} #{index}: {expression}{broken}")
