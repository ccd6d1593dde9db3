"""The search for devices on one node: first fit, with backtracking, in kube-scheduler's order.

The first solution in the order of (claims, requests, alternatives, device positions) is the answer. Which error is met
first depends on that order, too, so nothing is looked at before its turn.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from moorage.cel import CompileError
from moorage.columns import NodeInfo
from moorage.columns.devices import Claims, DeviceFacts, DeviceId
from moorage.errors import InputError
from moorage.objects import DeviceClass, DeviceSelector, DeviceTaint, ResourceClaim
from moorage.plugins.dynamic_resources.capacity import Amount, CapacityError, amounts, fits
from moorage.plugins.dynamic_resources.counters import Counters
from moorage.plugins.dynamic_resources.pools import Pool
from moorage.plugins.dynamic_resources.pruning import LOOK_AHEAD_AFTER, is_hopeless, pending
from moorage.plugins.dynamic_resources.requests import MOST_DEVICES, Choice, ClaimPlan, Wanted, plan
from moorage.plugins.dynamic_resources.rules import BrokenSearch, Rules, SearchTooLong
from moorage.values.taint import NO_EXECUTE, NO_SCHEDULE, tolerates_device

_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)


@dataclass(frozen=True, slots=True)
class Taken:
    """A device for a request; a shared one with what is taken of it."""

    wanted: Wanted
    device: DeviceFacts
    amounts: dict[str, Amount] | None = None


class _LookAhead(Exception):
    """The search takes long, and may be begun again by looking ahead."""


#: Neither found nor not: the claim would have more devices than its status can hold.
_TOO_MANY = object()


class Search:
    """One search. Claims, pools and what is held do not change meanwhile."""

    def __init__(
        self,
        node: NodeInfo,
        pools: Sequence[Pool],
        held: Claims,
        rules: Rules,
        *,
        most_steps: int | None = None,
        look_ahead_after: int = LOOK_AHEAD_AFTER,
    ) -> None:
        self._node = node
        self._pools = pools
        self._held = held
        self._rules = rules
        self._steps_left = most_steps if most_steps is not None else -1
        self._steps = 0
        self._look_ahead_after: float = look_ahead_after
        self._looks_ahead = False
        #: The last request (claim, request) whose turn may still end in an error.
        self._calm_after = (0, -1)
        self._plans: list[ClaimPlan] = []
        self._results: list[list[Taken]] = []
        self._forget()
        #: Every device that may be taken, in order, with its pool.
        self._positions = [
            (device, pool) for pool in pools if not (pool.is_incomplete or pool.is_invalid) for device in pool.devices
        ]
        self._pool_of = {pool.id: pool for pool in pools}

    def find(
        self, claims: Sequence[ResourceClaim], class_of: Callable[[str], DeviceClass | None]
    ) -> list[tuple[ClaimPlan, list[Taken]]] | None:
        """Devices for every claim, None where there are not enough. Raises BrokenSearch and SearchTooLong."""
        try:
            found = self._run(claims, class_of)
        except _LookAhead:
            # It takes long. From the beginning again, with an eye on what cannot succeed.
            self._looks_ahead = True
            found = self._run(claims, class_of)
        return list(zip(self._plans, self._results, strict=True)) if found else None

    def _run(self, claims: Sequence[ResourceClaim], class_of: Callable[[str], DeviceClass | None]) -> bool:
        self._forget()  # what mode All lists may depend on what is taken
        self._plans = plan(claims, class_of, self._every, self._rules)
        self._results = [[] for _ in self._plans]
        return self._claim(0) is True

    def _forget(self) -> None:
        """Nothing is taken."""
        self._results = []
        #: Device -> the claims of this search that have it, by index.
        self._taken: dict[DeviceId, set[int]] = {}
        self._used: dict[DeviceId, dict[str, int]] = {}
        self._shares: dict[DeviceId, int] = {}
        self._counters = Counters(self._held, self._rules)

    # ------------------------------------------------------------------------------------------------ the recursion

    def _step(self) -> None:
        if self._steps_left == 0:
            raise SearchTooLong
        self._steps_left -= 1
        self._steps += 1
        if self._steps > self._look_ahead_after and not self._looks_ahead:
            if self._is_calm():
                raise _LookAhead
            self._look_ahead_after = math.inf

    def _claim(self, index: int) -> bool | object:
        self._step()
        return True if index == len(self._plans) else self._request(index, 0)

    def _request(self, claim: int, index: int) -> bool | object:
        self._step()
        choices = self._plans[claim].choices
        if index == len(choices):
            # Other claims may have too many devices for one reason or another; for this one that is just a no.
            return self._claim(claim + 1) is True
        choice = choices[index]
        return self._alternatives(claim, index, choice) if choice.is_list else self._devices(claim, index, choice, 0, 0)

    def _alternatives(self, claim: int, index: int, choice: Choice) -> bool | object:
        always_too_many = True
        for taken in range(len(choice.wanted)):
            choice.taken = taken
            found = self._devices(claim, index, choice, 0, 0)
            if found is True:
                choice.taken = taken
                return True
            always_too_many = always_too_many and found is _TOO_MANY
        choice.taken = 0
        return _TOO_MANY if always_too_many else False

    def _devices(self, claim: int, index: int, choice: Choice, number: int, start: int) -> bool | object:
        """The devices of a request from the `number`th on; those before position `start` were passed over."""
        self._step()
        wanted = choice.chosen
        if wanted.every is not None and not wanted.every:
            return False
        if number >= wanted.count:
            return self._request(claim, index + 1)
        if wanted.count - number > MOST_DEVICES - len(self._results[claim]):
            return _TOO_MANY
        if self._looks_ahead and (claim, index) > self._calm_after and self._is_hopeless(claim, index, number, start):
            return False
        if wanted.every is not None:
            device = wanted.every[number]
            undo = self._take(claim, wanted, device, self._pool_of[device.id[:2]], must=True)
            if undo is None:
                return False
            found = self._devices(claim, index, choice, number + 1, 0)
            if found is not True:
                undo()
            return found
        for position in range(start, len(self._positions)):
            device, pool = self._positions[position]
            if not self._is_usable(claim, wanted, device):
                continue
            undo = self._take(claim, wanted, device, pool, must=False)
            if undo is None:
                continue
            found = self._devices(claim, index, choice, number + 1, position + 1)
            if found is True:
                return True
            undo()
            if found is _TOO_MANY:
                return found
        return False

    # ------------------------------------------------------------------------------------------------- looking ahead

    def _is_hopeless(self, claim: int, index: int, number: int, start: int) -> bool:
        """Whether the search cannot succeed from here on. Asked only where it cannot end in an error either."""
        waiting = pending(self._plans, claim, index, number, start)
        return is_hopeless(waiting, self._positions, self._could_take, self._plans, self._counters)

    def _is_calm(self) -> bool:
        """Whether no device can raise an error for any request after the first ones, which leave no choice."""
        self._calm_after = (0, -1)
        chosen = False
        for claim, one in enumerate(self._plans):
            if not all(constraint.is_reversible for constraint in one.constraints):
                return False  # nothing can be tried without leaving a trace
            for index, choice in enumerate(one.choices):
                chosen = chosen or choice.is_list
                for wanted in choice.wanted:
                    if wanted.every is not None and one.constraining(wanted):
                        # Its devices may break a constraint. They do so at once, or, if none was chosen before, never.
                        if chosen:
                            return False
                        self._calm_after = (claim, index)
                    if not self._is_calm_about(claim, wanted):
                        return False
                chosen = chosen or any(wanted.every is None for wanted in choice.wanted)
        return True

    def _is_calm_about(self, claim: int, wanted: Wanted) -> bool:
        try:
            for device, _ in self._positions:
                if self._is_selectable(claim, wanted, device) and self._rules.consumable:
                    self._amounts(claim, wanted, device, "")
        except BrokenSearch:
            return False
        return True

    def _could_take(self, claim: int, wanted: Wanted, device: DeviceFacts, pool: Pool) -> bool:
        """Whether the device could be taken now, for itself."""
        if not self._is_usable(claim, wanted, device):
            return False
        undo = self._take(claim, wanted, device, pool, must=False)
        if undo is None:
            return False
        undo()
        return True

    # ------------------------------------------------------------------------------------------------- one device

    def _is_usable(self, claim: int, wanted: Wanted, device: DeviceFacts) -> bool:
        """The tests that cost little, and those that may break the search, in kube-scheduler's order."""
        if self._is_in_use(claim, wanted, device.id) or not self._is_selectable(claim, wanted, device):
            return False
        return not self._rules.consumable or self._has_room(claim, wanted, device, f"{'/'.join(device.id)}")

    def _is_in_use(self, claim: int, wanted: Wanted, device: DeviceId) -> bool:
        takers = self._taken.get(device)
        if wanted.spec.admin_access:
            return takers is not None and claim in takers
        return bool(takers) or self._held.is_held(device)

    def _is_shared(self, device: DeviceFacts) -> bool:
        return self._rules.consumable and device.device.allow_multiple_allocations

    def _take(
        self, claim: int, wanted: Wanted, device: DeviceFacts, pool: Pool, *, must: bool
    ) -> Callable[[], None] | None:
        """Take a device that is wanted; returns how to let go of it again, None where it cannot be had."""
        shared = self._is_shared(device)
        id_ = device.id
        if not (shared and wanted.spec.admin_access) and self._is_in_use(claim, wanted, id_):
            return None
        if not self._rules.partitionable and device.device.consumes_counters:
            return None
        charged = bool(device.device.consumes_counters) and not (shared and self._is_share_in_use(id_))
        if charged and not self._counters.take(device, pool):
            return None
        if self._rules.taints and any(untolerated(wanted, device)):
            self._give_back(device, pool, charged)
            return None
        if not self._join(claim, wanted, device):
            self._give_back(device, pool, charged)
            if must:
                key = self._plans[claim].claim.key
                text = f"cannot add device {'/'.join(id_)} because a claim constraint would not be satisfied"
                raise BrokenSearch(f"claim {key}, request {wanted.name}: {text}")
            return None
        taken = self._amounts(claim, wanted, device, "/".join(id_)) if self._rules.consumable else None
        if self._rules.consumable and (taken is None or not self._is_enough(id_, taken)):
            self._leave(claim, wanted, device)
            self._give_back(device, pool, charged)
            return None
        self._mark(claim, wanted, device, taken if shared else None)

        def undo() -> None:
            self._unmark(claim, device, taken if shared else None)
            self._leave(claim, wanted, device)
            self._give_back(device, pool, charged)

        return undo

    def _mark(self, claim: int, wanted: Wanted, device: DeviceFacts, share: dict[str, Amount] | None) -> None:
        self._results[claim].append(Taken(wanted, device, share))
        if share is None:
            self._taken.setdefault(device.id, set()).add(claim)
            return
        self._shares[device.id] = self._shares.get(device.id, 0) + 1
        used = self._used.setdefault(device.id, {})
        for name, amount in share.items():
            used[name] = used.get(name, 0) + amount.nano

    def _unmark(self, claim: int, device: DeviceFacts, share: dict[str, Amount] | None) -> None:
        self._results[claim].pop()
        if share is None:
            self._taken[device.id].discard(claim)
            return
        self._shares[device.id] -= 1
        for name, amount in share.items():
            self._used[device.id][name] -= amount.nano

    def _join(self, claim: int, wanted: Wanted, device: DeviceFacts) -> bool:
        constraints = self._plans[claim].constraints
        for index, constraint in enumerate(constraints):
            if not constraint.add(wanted.base_name, wanted.full_name, device):
                for joined in reversed(constraints[:index]):
                    joined.remove(wanted.base_name, wanted.full_name, device)
                return False
        return True

    def _leave(self, claim: int, wanted: Wanted, device: DeviceFacts) -> None:
        for constraint in reversed(self._plans[claim].constraints):
            constraint.remove(wanted.base_name, wanted.full_name, device)

    def _give_back(self, device: DeviceFacts, pool: Pool, charged: bool) -> None:
        if charged:
            self._counters.give_back(device, pool)

    def _is_share_in_use(self, device: DeviceId) -> bool:
        if self._shares.get(device) or self._held.is_measured(device):
            return True
        return self._rules.shares_charged_once and self._held.is_shared(device)

    # ----------------------------------------------------------------------------------------------------- capacity

    def _has_room(self, claim: int, wanted: Wanted, device: DeviceFacts, where: str) -> bool:
        taken = self._amounts(claim, wanted, device, where)
        return taken is not None and self._is_enough(device.id, taken)

    def _is_enough(self, device: DeviceId, taken: dict[str, Amount]) -> bool:
        return fits(taken, self._held.used(device), self._used.get(device, {}))

    def _amounts(self, claim: int, wanted: Wanted, device: DeviceFacts, where: str) -> dict[str, Amount] | None:
        try:
            return amounts(wanted.spec.capacity, device.device, self._rules)
        except CapacityError as problem:
            text = f"checking capacity for device {where}: {problem}"
            raise BrokenSearch(f"claim {self._plans[claim].claim.key}, request {wanted.name}: {text}") from None

    # ---------------------------------------------------------------------------------------------------- selectors

    def _every(self, claim: ResourceClaim, wanted: Wanted) -> list[DeviceFacts]:
        """The devices of mode All: who holds them does not matter yet."""
        where = f"claim {claim.key}, request {wanted.name}"
        found: list[DeviceFacts] = []
        for pool in self._pools:
            if pool.is_incomplete or pool.is_invalid:
                state = "being updated" if pool.is_incomplete else "invalid"
                raise BrokenSearch(f"{where}: asks for all devices, but resource pool {pool} is currently {state}")
            found += [
                device
                for device in pool.devices
                if self._selects(claim, wanted, device) and self._is_large_enough(where, wanted, device)
            ]
        return found

    def _is_large_enough(self, where: str, wanted: Wanted, device: DeviceFacts) -> bool:
        if not self._rules.consumable:
            return True
        try:
            taken = amounts(wanted.spec.capacity, device.device, self._rules)
        except CapacityError as problem:
            raise BrokenSearch(f"{where}: checking capacity for device {device.device.name}: {problem}") from None
        if taken is None:
            return False
        return fits(taken) if self._rules.all_keeps_full_devices else self._is_enough(device.id, taken)

    def _is_selectable(self, claim: int, wanted: Wanted, device: DeviceFacts) -> bool:
        return self._selects(self._plans[claim].claim, wanted, device)

    def _selects(self, claim: ResourceClaim, wanted: Wanted, device: DeviceFacts) -> bool:
        known = wanted.selectable.get(device)
        if known is None:
            known = wanted.selectable[device] = self._select(claim, wanted, device)
        return known

    def _select(self, claim: ResourceClaim, wanted: Wanted, device: DeviceFacts) -> bool:
        if device.device.binding_conditions and not self._rules.binding_conditions:
            return False
        class_ = wanted.class_
        if not self._all_match(f"class {class_.metadata.name}", class_.spec.selectors, device):
            return False
        if not self._all_match(f"claim {claim.key}", wanted.spec.selectors, device):
            return False
        if not device.slice.spec.per_device_node_selection:
            return True
        try:
            return device.rule.matches(self._node.name, self._node.labels)
        except InputError as problem:
            raise BrokenSearch(str(problem)) from None

    def _all_match(self, where: str, selectors: Sequence[DeviceSelector], device: DeviceFacts) -> bool:
        for index, selector in enumerate(selectors):
            answer = device.answer(selector.cel.expression if selector.cel is not None else "")
            if answer is False:
                return False
            if isinstance(answer, CompileError):
                raise BrokenSearch(f"{where}: selector #{index}: CEL compile error: {answer}")
            if answer is not True:
                on = f" on device {'/'.join(device.id)}" if self._rules.errors_name_devices else ""
                hint = _HINT if self._rules.errors_name_devices and "no such key:" in str(answer) else ""
                raise BrokenSearch(f"{where}: selector #{index}{on}: CEL runtime error: {answer}{hint}")
        return True


def untolerated(wanted: Wanted, device: DeviceFacts) -> Iterator[DeviceTaint]:
    """The taints that keep new users off and are not tolerated."""
    for taint in device.taints:
        tolerated = any(tolerates_device(toleration, taint) for toleration in wanted.spec.tolerations)
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated:
            yield taint
