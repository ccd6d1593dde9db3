"""A place for each test: an API server of its own, and Moorage on it, told of gangs in either way."""

from collections.abc import AsyncIterator

import pytest
from tests.cluster.conftest import EMBEDDED, REAL, choice
from tests.cluster.gangs.places import CONTESTANTS, Contestant, Ground, Place

OURS = [one for one in CONTESTANTS if one.is_ours]


@pytest.fixture(params=OURS, ids=["crd", "native"])
def contestant(request: pytest.FixtureRequest) -> Contestant:
    """The API that gangs are made by."""
    found: Contestant = request.param
    return found


@pytest.fixture
async def place(contestant: Contestant) -> AsyncIterator[Place]:
    """Where the test happens; its scheduler is not started yet."""
    if choice() not in (EMBEDDED, REAL):
        pytest.skip("needs an API server of its own")
    async with Ground(is_real=choice() == REAL).place(contestant) as made:
        yield made
