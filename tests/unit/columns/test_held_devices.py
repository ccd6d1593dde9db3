"""Which pools are looked at again when claims come to hold devices, and let go of them."""

from msgspec.structs import replace
from tests.unit.plugins.dynamic_resources.builders import DRIVER, a_claim, allocated

from moorage.columns.devices import Claims
from moorage.objects import ResourceClaim

POOL, DEVICE = (DRIVER, "x"), (DRIVER, "x", "d0")


def version_of(claim: ResourceClaim, version: int) -> ResourceClaim:
    return replace(claim, metadata=replace(claim.metadata, resource_version=str(version)))


def test_a_claim_that_lands_changes_nothing() -> None:
    touched: list[tuple[str, str]] = []
    claims = Claims(touched.append)
    claims.set(a_claim("c"))
    holding = a_claim("c", status=allocated("d0", pool="x"))
    claims.begin(holding)
    assert touched == [POOL]
    written = version_of(holding, 2)
    assert claims.assume(written)
    assert claims.end(written.metadata.uid, written=True)
    claims.set(written)
    # It held the device before, and holds it still.
    assert touched == [POOL]
    assert claims.is_held(DEVICE)
    claims.set(version_of(a_claim("c"), 3))
    assert touched == [POOL, POOL]
    assert not claims.is_held(DEVICE)


def test_one_that_was_decided_in_vain_lets_go() -> None:
    touched: list[tuple[str, str]] = []
    claims = Claims(touched.append)
    claims.set(a_claim("c"))
    holding = a_claim("c", status=allocated("d0", pool="x"))
    claims.begin(holding)
    claims.assume(version_of(holding, 2))
    assert claims.end(holding.metadata.uid)
    claims.restore(holding.key)
    assert touched == [POOL, POOL]
    assert not claims.is_held(DEVICE)


def test_shares_count_on_both_sides() -> None:
    """What is used of a capacity is told twice while a claim lands: the pool is looked at again each time."""
    touched: list[tuple[str, str]] = []
    claims = Claims(touched.append)
    claims.set(a_claim("c"))
    holding = a_claim("c", status=allocated("d0", pool="x", shareID="s", consumedCapacity={"memory": "1Gi"}))
    claims.begin(holding)
    claims.assume(version_of(holding, 2))
    claims.end(holding.metadata.uid, written=True)
    assert touched == [POOL, POOL, POOL]
    assert claims.is_taken(DEVICE)
