"""How many replicas each ReplicaSet gets: rules by example, and rollouts that keep their promises."""

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.controllers.deployments import sizes
from moorage.controllers.objects.workloads import Deployment, IntOrPercent, ReplicaSet
from moorage.objects import convert


def deployment(replicas: int, surge: IntOrPercent = "25%", unavailable: IntOrPercent = "25%") -> Deployment:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    spec = {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
    return convert({"metadata": {"name": "d"}, "spec": spec}, Deployment)


def replica_set(name: str, replicas: int, available: int | None = None, created: int = 0) -> ReplicaSet:
    return convert(
        {
            "metadata": {"name": name, "creationTimestamp": f"2001-01-01T00:00:{created:02}Z"},
            "spec": {"replicas": replicas},
            "status": {"availableReplicas": replicas if available is None else available},
        },
        ReplicaSet,
    )


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [(4, "25%", "25%", (1, 1)), (5, "25%", "25%", (2, 1)), (1, "25%", "25%", (1, 0)), (10, 0, 0, (0, 1))],
)
def test_shares_round_towards_safety(
    replicas: int, surge: IntOrPercent, unavailable: IntOrPercent, expected: tuple[int, int]
) -> None:
    asked = deployment(replicas, surge, unavailable)
    assert (sizes.max_surge(asked), sizes.max_unavailable(asked)) == expected


def test_the_new_set_grows_into_the_room_the_surge_gives() -> None:
    old, new = replica_set("old", 10), replica_set("new", 0)
    assert sizes.new_size(deployment(10, 3, 0), [old, new], new) == 3


def test_the_new_set_waits_while_there_is_no_room() -> None:
    old, new = replica_set("old", 10), replica_set("new", 3)
    assert sizes.new_size(deployment(10, 3, 0), [old, new], new) == 3


def test_the_new_set_shrinks_with_the_deployment() -> None:
    new = replica_set("new", 8)
    assert sizes.new_size(deployment(5), [new], new) == 5


def test_old_sets_shrink_as_far_as_availability_allows() -> None:
    old, new = replica_set("old", 10), replica_set("new", 3, available=2)
    assert sizes.old_sizes(deployment(10, 3, 2), [old], new) == {"old": 6}


def test_what_does_not_work_goes_first() -> None:
    broken, good = replica_set("broken", 4, available=0, created=2), replica_set("good", 8, created=1)
    new = replica_set("new", 1, available=0)
    assert sizes.old_sizes(deployment(10, 3, 2), [broken, good], new) == {"broken": 0}


def test_nothing_shrinks_while_the_new_pods_are_not_there() -> None:
    old, new = replica_set("old", 10), replica_set("new", 3, available=0)
    assert sizes.old_sizes(deployment(10, 3, 0), [old], new) == {}


def test_the_only_set_takes_the_whole_change() -> None:
    new = replica_set("new", 3)
    assert sizes.resized(deployment(8), [new, replica_set("idle", 0)], new, {}) == {"new": 8}


def test_in_the_middle_of_a_rollout_each_set_takes_its_share() -> None:
    old, new = replica_set("old", 8, created=1), replica_set("new", 5, created=2)
    limits = {"old": 13, "new": 13}
    grown = sizes.resized(deployment(20, 3, 2), [old, new], new, limits)
    assert sum(grown.values()) == 23
    assert grown == {"old": 14, "new": 9}
    shrunk = sizes.resized(deployment(6, 3, 2), [old, new], new, limits)
    assert sum(shrunk.values()) == 9


def test_scaled_to_nothing_all_sets_are_empty() -> None:
    old, new = replica_set("old", 8, created=1), replica_set("new", 5, created=2)
    assert sizes.resized(deployment(0, 3, 2), [old, new], new, {"old": 13, "new": 13}) == {"old": 0, "new": 0}


class Rollout:
    """ReplicaSets whose pods become available, or not, as the test says; the controller's rules move them."""

    def __init__(self, asked: Deployment, old: int) -> None:
        self.asked = asked
        self.old = replica_set("old", old, created=1)
        self.new = replica_set("new", 0, created=2)

    def step(self, ready: int) -> None:
        """Some new pods become available, then the controller acts once on what it sees."""
        self.new = _available(self.new, self.new.status.available_replicas + ready)
        wanted = sizes.new_size(self.asked, [self.old, self.new], self.new)
        if wanted != self.new.spec.replicas:
            self._apply({"new": wanted})
        else:
            self._apply(sizes.old_sizes(self.asked, [self.old], self.new))

    def _apply(self, wanted: Mapping[str, int]) -> None:
        for name, size in wanted.items():
            changed = _resized(getattr(self, name), size)
            setattr(self, name, changed)

    @property
    def total(self) -> int:
        return self.old.spec.replicas + self.new.spec.replicas

    @property
    def available(self) -> int:
        return self.old.status.available_replicas + self.new.status.available_replicas


def _available(item: ReplicaSet, count: int) -> ReplicaSet:
    status = msgspec.structs.replace(item.status, available_replicas=min(count, item.spec.replicas))
    return msgspec.structs.replace(item, status=status)


def _resized(item: ReplicaSet, size: int) -> ReplicaSet:
    item = msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, replicas=size))
    return _available(item, item.status.available_replicas)


shares = st.one_of(st.integers(0, 12), st.integers(0, 100).map(lambda share: f"{share}%"))


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 40), shares, shares, st.lists(st.integers(0, 40), min_size=1, max_size=60))
def test_a_rollout_keeps_within_its_limits_and_comes_to_an_end(
    replicas: int, surge: IntOrPercent, unavailable: IntOrPercent, readiness: list[int]
) -> None:
    asked = deployment(replicas, surge, unavailable)
    rollout = Rollout(asked, replicas)
    most, least = replicas + sizes.max_surge(asked), replicas - sizes.max_unavailable(asked)
    for ready in readiness:
        rollout.step(ready)
        assert rollout.total <= most
        assert rollout.available >= least
    for _ in range(4 * replicas + 4):
        rollout.step(replicas)
    assert (rollout.old.spec.replicas, rollout.new.spec.replicas) == (0, replicas)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 30), min_size=2, max_size=5),
    st.integers(0, 60),
    st.integers(0, 10),
)
def test_resizing_keeps_within_what_is_allowed_and_never_goes_below_nothing(
    counts: list[int], wanted: int, surge: int
) -> None:
    sets = [replica_set(f"s{at}", count, created=at) for at, count in enumerate(counts)]
    asked = deployment(wanted, surge, 1)
    before = max(1, sum(counts))
    after = sizes.resized(asked, sets, None, {each.metadata.name: before for each in sets})
    assert all(size >= 0 for size in after.values())
    if sum(count > 0 for count in counts) > 1:
        ending = {each.metadata.name: each.spec.replicas for each in sets} | after
        assert sum(ending.values()) == (wanted + surge if wanted else 0)


def test_a_deployment_without_sets_has_nothing_to_resize() -> None:
    assert sizes.resized(deployment(3), [], None, {}) == {}
    assert sizes.resized(deployment(3), [replica_set("idle", 0)], None, {}) == {}
