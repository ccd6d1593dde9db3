"""What is decided, written: allocations and reservations of claims, and the special claim."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from moorage.columns import PodInfo
from moorage.columns.devices import Claims
from moorage.errors import ApiError
from moorage.objects import Allocation, ContainerResourceRequest, KubeObject, ResourceClaim
from moorage.plugins.dynamic_resources.extended import IN_MEMORY
from moorage.plugins.dynamic_resources.podclaims import FINALIZER, is_reserved_for
from moorage.plugins.dynamic_resources.readiness import is_overdue, is_ready, waits
from moorage.plugins.dynamic_resources.rules import Rules
from moorage.plugins.dynamic_resources.state import PodDevices
from moorage.values.time import format_time

Kind = TypeVar("Kind", bound=KubeObject)

#: How often a write is tried where somebody else keeps changing the claim, and how long it waits between.
TRIES = 5
RETRY_SECONDS = 0.01
POLL_SECONDS = 5.0
_CONFLICT, _NOT_FOUND = 409, 404
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_PREFIX = 58


class BindingRefused(Exception):
    """A claim cannot be written as it was decided."""


class Writer(Protocol):
    """Who reads and writes objects. Every method raises ApiError where that cannot be done."""

    async def read(self, kind: type[Kind], name: str, namespace: str = "") -> Kind:
        """An object as the API server has it now."""

    async def create(self, item: Kind) -> Kind:
        """Make an object."""

    async def patch(self, item: Kind, patch: dict[str, Any], *, subresource: str = "") -> Kind:
        """Merge into an object."""

    async def delete(self, item: KubeObject) -> None:
        """Delete an object."""

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""


class ClaimBinding:
    """Writes the claims of one pod, one after the other."""

    def __init__(
        self, pod: PodInfo, devices: PodDevices, claims: Claims, writer: Writer, rules: Rules, now: Callable[[], float]
    ) -> None:
        self._pod = pod
        self._devices = devices
        self._claims = claims
        self._writer = writer
        self._rules = rules
        self._now = now

    async def write(self, random_suffix: Callable[[], str]) -> None:
        """Write all claims that are not reserved for the pod yet. Raises BindingRefused."""
        done: list[str] = []
        for place, claim in enumerate(self._devices.claims):
            if is_reserved_for(claim, self._pod.pod):
                continue
            allocation = self._devices.reserved.get(place)
            if self._devices.is_special(place) and allocation is None and not claim.spec.devices.requests:
                continue  # device plugins serve all of it
            uids = [claim.metadata.uid]
            if self._devices.is_special(place) and claim.metadata.name == IN_MEMORY:
                claim = self._devices.claims[place] = self._devices.special = await self._create(random_suffix())
            written = await self._write_one(claim, allocation)
            self._devices.claims[place] = written
            if self._devices.is_special(place):
                self._devices.special = written
            await self._assume(written, is_special=self._devices.is_special(place))
            if self._devices.is_special(place):
                await self._write_mappings(written)
            if allocation is not None:
                done += uids
                if not self._rules.in_flight_until_bound:
                    self._land(uids)
        self._land(done)

    def _land(self, uids: list[str]) -> None:
        for uid in uids:
            self._claims.end(uid, written=True)

    async def _write_one(self, claim: ResourceClaim, allocation: Allocation | None) -> ResourceClaim:
        for left in range(TRIES - 1, -1, -1):
            try:
                return await self._try(claim, allocation)
            except ApiError as refusal:
                if refusal.code != _CONFLICT or not left:
                    what = "allocation and reservation" if allocation is not None else "reservation"
                    raise BindingRefused(f"add {what} to claim {claim.key}: {refusal}") from None
            await self._writer.sleep(RETRY_SECONDS)
            try:
                claim = await self._writer.read(ResourceClaim, claim.metadata.name, claim.metadata.namespace)
            except ApiError as refusal:
                raise BindingRefused(f"get updated claim {claim.key} after conflict: {refusal}") from None
        raise AssertionError("the last try either wrote or refused")

    async def _try(self, claim: ResourceClaim, allocation: Allocation | None) -> ResourceClaim:
        """One round: the finalizer by itself, then the status. Raises ApiError for what may be tried again."""
        where = f"claim {claim.key} got"
        if claim.metadata.deletion_timestamp:
            raise BindingRefused(f"{where} deleted in the meantime")
        if allocation is not None:
            if claim.status.allocation is not None:
                raise BindingRefused(f"{where} allocated elsewhere in the meantime")
            if FINALIZER not in claim.metadata.finalizers:
                claim = await self._add_finalizer(claim)
        holds = allocation or claim.status.allocation
        if holds is None:
            raise BindingRefused(f"{where} deallocated elsewhere in the meantime")
        consumer = {"resource": "pods", "name": self._pod.name, "uid": self._pod.uid}
        reserved = [msgspec.to_builtins(one) for one in claim.status.reserved_for]
        status: dict[str, Any] = {"reservedFor": [*reserved, consumer]}
        if self._rules.binding_conditions and not holds.allocation_timestamp:
            holds = replace(holds, allocation_timestamp=format_time(self._now()))
        if holds != claim.status.allocation:
            status["allocation"] = msgspec.to_builtins(holds)
        patch = {"metadata": _precondition(claim), "status": status}
        return await self._writer.patch(claim, patch, subresource="status")

    async def _add_finalizer(self, claim: ResourceClaim) -> ResourceClaim:
        metadata = {**_precondition(claim), "finalizers": [*claim.metadata.finalizers, FINALIZER]}
        try:
            return await self._writer.patch(claim, {"metadata": metadata})
        except ApiError as refusal:
            if refusal.code == _CONFLICT:
                raise
            raise BindingRefused(f"add finalizer to claim {claim.key}: {refusal}") from None

    async def _assume(self, claim: ResourceClaim, *, is_special: bool) -> None:
        """Count the claim as written. A special one is new, and may not have been told yet."""
        if not self._claims.assume(claim) and is_special:
            self._claims.set(claim)

    # ---------------------------------------------------------------------------------------------- the special claim

    async def _create(self, suffix: str) -> ResourceClaim:
        special = self._devices.reserved_special
        assert special is not None, "a special claim in memory is allocated before it is written"
        prefix = f"{self._pod.name}-extended-resources-"[:_LONGEST_PREFIX]
        meta = replace(special.claim.metadata, name=prefix + suffix, uid="", resource_version="")
        try:
            return await self._writer.create(ResourceClaim(meta, special.claim.spec))
        except ApiError as refusal:
            where = f"{meta.namespace}/{prefix}"
            raise BindingRefused(f"create claim for extended resources {where}: {refusal}") from None

    async def _write_mappings(self, claim: ResourceClaim) -> None:
        special = self._devices.reserved_special
        mappings: tuple[ContainerResourceRequest, ...] = special.mappings if special is not None else ()
        where = f"pod {self._pod.key} ExtendedResourceClaimStatus"
        if not mappings:
            raise BindingRefused(f"nil or empty request mappings, no update of {where}")
        status = {"resourceClaimName": claim.metadata.name, "requestMappings": msgspec.to_builtins(mappings)}
        try:
            patch = {"status": {"extendedResourceClaimStatus": status}}
            await self._writer.patch(self._pod.pod, patch, subresource="status")
        except ApiError as refusal:
            raise BindingRefused(f"update {where}: {refusal}") from None

    # -------------------------------------------------------------------------------------------------------- waiting

    @property
    def must_wait(self) -> bool:
        """Whether a device has to be made ready before the pod may be bound."""
        return self._rules.binding_conditions and any(waits(claim) for claim in self._devices.claims)

    async def wait(self, seconds: float) -> None:
        """Wait until all devices are ready. Raises BindingRefused, and BindingFailed where one cannot be."""
        deadline = self._now() + seconds
        while not self._are_ready(seconds):
            if self._now() >= deadline:
                raise BindingRefused("device binding timeout: context deadline exceeded")
            await self._writer.sleep(POLL_SECONDS)

    def _are_ready(self, timeout: float) -> bool:
        for claim in self._devices.claims:
            current = self._claims.get(claim.key) or claim
            if is_ready(current):
                continue
            if waits(current) and is_overdue(current, timeout, self._now()):
                raise BindingRefused(f"device binding timeout: claim={current.metadata.name}")
            return False
        return True


async def give_back(claim: ResourceClaim, writer: Writer) -> None:
    """Deallocate a claim that nobody uses. Raises ApiError."""
    status = {"allocation": None, "reservedFor": None, "devices": None}
    await writer.patch(claim, {"metadata": _precondition(claim), "status": status}, subresource="status")


async def unreserve(claim: ResourceClaim, pod: PodInfo, writer: Writer) -> None:
    """Take the pod off those that may use the claim, whoever else changed it meanwhile. Raises ApiError."""
    for left in range(TRIES - 1, -1, -1):
        claim = await writer.read(ResourceClaim, claim.metadata.name, claim.metadata.namespace)
        others = [msgspec.to_builtins(one) for one in claim.status.reserved_for if one.uid != pod.uid]
        if len(others) == len(claim.status.reserved_for):
            return
        try:
            patch = {"metadata": _precondition(claim), "status": {"reservedFor": others}}
            await writer.patch(claim, patch, subresource="status")
        except ApiError as refusal:
            if refusal.code != _CONFLICT or not left:
                raise
        else:
            return


async def delete(claim: ResourceClaim, writer: Writer) -> None:
    """Delete a claim of the scheduler's own. One that is gone already is as good. Raises ApiError."""
    for left in range(TRIES - 1, -1, -1):
        try:
            if FINALIZER in claim.metadata.finalizers:
                kept = [one for one in claim.metadata.finalizers if one != FINALIZER]
                claim = await writer.patch(claim, {"metadata": {**_precondition(claim), "finalizers": kept}})
            await writer.delete(claim)
        except ApiError as refusal:
            if refusal.code == _NOT_FOUND:
                return
            if refusal.code != _CONFLICT or not left:
                raise
            claim = await writer.read(ResourceClaim, claim.metadata.name, claim.metadata.namespace)
        else:
            return


def _precondition(claim: ResourceClaim) -> dict[str, Any]:
    """The claim as it was read, or nothing is written."""
    meta = claim.metadata
    found = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    return {name: value for name, value in found.items() if value}


def suffix(random_below: Callable[[int], int]) -> str:
    """Five characters at the end of a name, as the API server makes them."""
    return "".join(_SUFFIX[random_below(len(_SUFFIX))] for _ in range(5))
