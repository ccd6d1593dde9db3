"""Claims as they count, and the devices they hold.

The newest version of a claim counts, whether the API server told it or we wrote it: an older one that arrives late
changes nothing. What is decided but not written is in flight, beside the objects, so that no update can drop it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from moorage.columns.tentative import UndoLog
from moorage.objects import Allocation, DeviceResult, KubeObject, ResourceClaim
from moorage.values.quantity import parse_quantity

#: (driver, pool, device)
DeviceId = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _InFlight:
    claim: ResourceClaim
    sharers: int


class TakenDevices:
    """Which devices are held: wholly, or in shares, and how much of each capacity.

    That two claims hold a whole device is known only where it is `counted`: else the first to let go frees it, as
    in kube-scheduler.
    """

    def __init__(self, *, counted: bool) -> None:
        self._counted = counted
        self.whole: dict[DeviceId, int] = {}
        self.shares: Counter[DeviceId] = Counter()
        #: Nano units by capacity.
        self.used: dict[DeviceId, dict[str, int]] = {}
        self._share_ids: set[tuple[DeviceId, str]] = set()

    def add(self, claim: ResourceClaim) -> None:
        """The claim holds its devices."""
        for result, device in _held(claim):
            if result.share_id is None:
                self.whole[device] = self.whole.get(device, 0) + 1 if self._counted else 1
                continue
            if (device, result.share_id) not in self._share_ids:
                self._share_ids.add((device, result.share_id))
                self.shares[device] += 1
            if result.consumed_capacity:
                used = self.used.setdefault(device, {})
                for name, amount in result.consumed_capacity.items():
                    used[name] = used.get(name, 0) + parse_quantity(amount)

    def remove(self, claim: ResourceClaim) -> None:
        """The claim lets go of them."""
        for result, device in _held(claim):
            if result.share_id is None:
                left = self.whole.pop(device, 0) - 1
                if left > 0:
                    self.whole[device] = left
                continue
            if (device, result.share_id) in self._share_ids:
                self._share_ids.remove((device, result.share_id))
                self.shares[device] -= 1
                if not self.shares[device]:
                    del self.shares[device]
            used = self.used.get(device)
            if used is not None and result.consumed_capacity:
                for name, amount in result.consumed_capacity.items():
                    used[name] = used.get(name, 0) - parse_quantity(amount)
                if not any(used.values()):
                    del self.used[device]

    def is_taken(self, device: DeviceId) -> bool:
        """Whether anybody holds any of it."""
        return device in self.whole or device in self.shares or device in self.used


def _held(claim: ResourceClaim) -> Iterator[tuple[DeviceResult, DeviceId]]:
    """The devices a claim keeps others from; administrators' access keeps nobody from anything."""
    allocation = claim.status.allocation
    for result in allocation.devices.results if allocation is not None else ():
        if not result.admin_access:
            yield result, (result.driver, result.pool, result.device)


class Claims:
    """Every claim, newest version first, those in flight, and the devices all of them hold."""

    def __init__(self, touch: Callable[[tuple[str, str]], None] = lambda _pool: None) -> None:
        #: Told of each pool of which devices come to be held, or are let go.
        self._touch = touch
        self._told: dict[str, ResourceClaim] = {}
        self._latest: dict[str, ResourceClaim] = {}
        self._in_flight: dict[str, _InFlight] = {}
        self._settled = TakenDevices(counted=False)
        self._pending = TakenDevices(counted=True)
        #: Moves with every change of what is held.
        self.version = 0
        self.undo: UndoLog | None = None
        self.undoes = True

    # As the object store is told.

    def set(self, item: KubeObject) -> None:
        """The API server has the claim in this version."""
        assert isinstance(item, ResourceClaim)
        latest = self._latest.get(item.key)
        if latest is not None and _version(item) < _version(latest):
            return
        self._save(item.key)
        self._told[item.key] = item
        self._count(item)

    def remove(self, item: KubeObject) -> None:
        """The claim is gone."""
        self._save(item.key)
        self._told.pop(item.key, None)
        self._drop(item.key)

    # What we have written, or undone.

    def assume(self, claim: ResourceClaim) -> bool:
        """Count the claim as it was just written. False where it is not known, or is newer already."""
        latest = self._latest.get(claim.key)
        if latest is None or _version(claim) < _version(latest):
            return False
        self._save(claim.key)
        self._count(claim)
        return True

    def restore(self, key: str) -> None:
        """Count what the API server last told of the claim again."""
        told = self._told.get(key)
        if told is not None and self._latest.get(key) is not told:
            self._save(key)
            self._count(told)

    def _count(self, claim: ResourceClaim) -> None:
        before = self._latest.get(claim.key)
        self._latest[claim.key] = claim
        was = before is not None and before.status.allocation is not None
        now = claim.status.allocation is not None
        same = before is not None and before.metadata.uid == claim.metadata.uid
        # An allocation never turns into another one: only its coming and going count.
        if before is not None and was and (not now or not same):
            self._settled.remove(before)
            self._changed(before)
        if now and not (was and same):
            self._settled.add(claim)
            flying = self._in_flight.get(claim.metadata.uid)
            if flying is None or not _hold_alike(flying.claim, claim):
                self._changed(claim)

    # Reading.

    def get(self, key: str) -> ResourceClaim | None:
        """The claim `namespace/name` as it counts."""
        return self._latest.get(key)

    def __iter__(self) -> Iterator[ResourceClaim]:
        return iter(self._latest.values())

    # In flight.

    def begin(self, claim: ResourceClaim) -> None:
        """The claim will be written with this allocation. A second pod on it shares the first one's allocation."""
        known = self._in_flight.get(claim.metadata.uid)
        shared = _InFlight(known.claim, known.sharers + 1) if known is not None else _InFlight(claim, 1)
        self._fly(claim.metadata.uid, shared)

    def end(self, uid: str, *, written: bool = False) -> bool:
        """One pod less needs the claim in flight; `written` means none does. True if it is in flight no more."""
        known = self._in_flight.get(uid)
        if known is None:
            return False
        if known.sharers > 1 and not written:
            self._fly(uid, _InFlight(known.claim, known.sharers - 1))
            return False
        self._fly(uid, None)
        return True

    def pending(self, uid: str) -> Allocation | None:
        """The allocation in flight for a claim."""
        known = self._in_flight.get(uid)
        return known.claim.status.allocation if known is not None else None

    def _fly(self, uid: str, now: _InFlight | None) -> None:
        """A claim goes into flight, out of it, or has another number of sharers there."""
        before = self._in_flight.pop(uid, None)
        if now is not None:
            self._in_flight[uid] = now
        if self.undo is not None:
            self.undo.record(lambda: self._fly(uid, before))
        if before is None and now is not None:
            self._pending.add(now.claim)
            self._changed(now.claim)
        elif before is not None and now is None:
            self._pending.remove(before.claim)
            landed = self._latest.get(before.claim.key)
            if landed is None or landed.metadata.uid != uid or not _hold_alike(landed, before.claim):
                self._changed(before.claim)

    def _drop(self, key: str) -> None:
        latest = self._latest.pop(key, None)
        if latest is not None:
            self._settled.remove(latest)
            self._changed(latest)

    def _save(self, key: str) -> None:
        """Remember the way back, if a tentative block is open."""
        if self.undo is None:
            return
        told, latest = self._told.get(key), self._latest.get(key)

        def back() -> None:
            self._drop(key)
            self._told.pop(key, None)
            if told is not None:
                self._told[key] = told
            if latest is not None:
                self._count(latest)

        self.undo.record(back)

    def _changed(self, claim: ResourceClaim) -> None:
        self.version += 1
        for pool in {device[:2] for _, device in _held(claim)}:
            self._touch(pool)

    # Devices.

    # One claim may be settled and in flight.

    def is_held(self, device: DeviceId) -> bool:
        """Whether somebody has the device to themselves."""
        return device in self._settled.whole or device in self._pending.whole

    def is_taken(self, device: DeviceId) -> bool:
        """Whether anybody holds any of it."""
        return self._settled.is_taken(device) or self._pending.is_taken(device)

    def is_measured(self, device: DeviceId) -> bool:
        """Whether somebody holds a share of it that says how much."""
        return device in self._settled.used or device in self._pending.used

    def is_shared(self, device: DeviceId) -> bool:
        """Whether somebody holds a share of it."""
        return device in self._settled.shares or device in self._pending.shares

    def used(self, device: DeviceId) -> Mapping[str, int]:
        """How much of its capacities is taken, in nano units."""
        settled, pending = self._settled.used.get(device), self._pending.used.get(device)
        if not settled or not pending:
            return settled or pending or {}
        return {name: settled.get(name, 0) + pending.get(name, 0) for name in settled.keys() | pending.keys()}


def _hold_alike(one: ResourceClaim, other: ResourceClaim) -> bool:
    """Whether two versions of a claim hold the same devices, each wholly: shares count on both sides."""
    held = [(device, result.share_id) for result, device in _held(one)]
    return held == [(device, result.share_id) for result, device in _held(other)] and all(
        share is None for _, share in held
    )


def _version(claim: ResourceClaim) -> int:
    text = claim.metadata.resource_version
    return int(text) if text.isdigit() else 0
