"""How many replicas each ReplicaSet of a Deployment should have. Pure functions: what is, in; what should be, out."""

from collections.abc import Sequence
from math import floor

from moorage.controllers.objects.workloads import Deployment, ReplicaSet, scaled

Sizes = dict[str, int]
"""Replicas by the name of the ReplicaSet; those not in it stay as they are."""

ROLLING = "RollingUpdate"


def max_surge(deployment: Deployment) -> int:
    """How many pods there may be above the wanted number during a rollout."""
    return _fenceposts(deployment)[0]


def max_unavailable(deployment: Deployment) -> int:
    """How many pods may be missing during a rollout, never more than are wanted."""
    return min(_fenceposts(deployment)[1], deployment.spec.replicas)


def _fenceposts(deployment: Deployment) -> tuple[int, int]:
    strategy, replicas = deployment.spec.strategy, deployment.spec.replicas
    if strategy.type != ROLLING:
        return 0, 0
    surge = scaled(strategy.rolling_update.max_surge, replicas, round_up=True)
    unavailable = scaled(strategy.rolling_update.max_unavailable, replicas, round_up=False)
    # Both may round to nothing, and then nothing would ever move.
    return (surge, unavailable) if surge or unavailable else (0, 1)


def new_size(deployment: Deployment, replica_sets: Sequence[ReplicaSet], new: ReplicaSet | None) -> int:
    """How many replicas the ReplicaSet of the present template should have now. `replica_sets` are all of them."""
    wanted = deployment.spec.replicas
    if deployment.spec.strategy.type != ROLLING:
        return wanted
    size = new.spec.replicas if new is not None else 0
    if size > wanted:
        return wanted
    room = wanted + max_surge(deployment) - total(replica_sets)
    return size + max(0, min(room, wanted - size))


def old_sizes(deployment: Deployment, old: Sequence[ReplicaSet], new: ReplicaSet) -> Sizes:
    """How far the others may shrink now: first those that do not work, then as availability allows."""
    active = [each for each in old if each.spec.replicas > 0]
    everything = total(active) + new.spec.replicas
    must_stay = deployment.spec.replicas - max_unavailable(deployment)
    unavailable_new = new.spec.replicas - new.status.available_replicas
    may_go = everything - must_stay - unavailable_new
    if not active or may_go <= 0:
        return {}
    sizes = _without_unhealthy(_by_age(active), may_go)
    # A set that was just told to shrink still shows those it is about to lose.
    available = sum(min(each.status.available_replicas, each.spec.replicas) for each in (*active, new))
    surplus = available - must_stay
    for each in _by_age(active):
        size = sizes.get(each.metadata.name, each.spec.replicas)
        if surplus <= 0:
            break
        taken = min(size, surplus)
        if taken:
            sizes[each.metadata.name] = size - taken
            surplus -= taken
    return sizes


def _without_unhealthy(old: Sequence[ReplicaSet], may_go: int) -> Sizes:
    """Replicas that are not available are nobody's loss."""
    sizes: Sizes = {}
    for each in old:
        unhealthy = min(each.spec.replicas - each.status.available_replicas, may_go)
        if unhealthy > 0:
            sizes[each.metadata.name] = each.spec.replicas - unhealthy
            may_go -= unhealthy
    return sizes


def recreated_sizes(old: Sequence[ReplicaSet]) -> Sizes:
    """All of the old go before any of the new comes."""
    return {each.metadata.name: 0 for each in old if each.spec.replicas > 0}


def resized(
    deployment: Deployment, replica_sets: Sequence[ReplicaSet], new: ReplicaSet | None, former_limits: Sizes
) -> Sizes:
    """The sizes after the Deployment was scaled.

    With one active ReplicaSet that one takes it all. In the middle of a rollout each takes its share;
    `former_limits` says how many replicas the Deployment was allowed when each was last scaled.
    """
    active = [each for each in replica_sets if each.spec.replicas > 0]
    wanted = deployment.spec.replicas
    if len(active) < 2:
        only = active[0] if active else new
        return {only.metadata.name: wanted} if only is not None and only.spec.replicas != wanted else {}
    if new is not None and _is_saturated(deployment, new):
        return {each.metadata.name: 0 for each in active if each is not new}
    if deployment.spec.strategy.type != ROLLING:
        return {}
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    return _shares(active, allowed - total(active), allowed, former_limits)


def _shares(active: Sequence[ReplicaSet], to_add: int, allowed: int, former_limits: Sizes) -> Sizes:
    """Add or take replicas in proportion to size, the largest first; what rounding leaves goes to the first."""
    if to_add == 0:
        return {}
    newest_first = sorted(active, key=lambda each: each.metadata.creation_timestamp, reverse=True)
    if to_add < 0:
        newest_first.reverse()
    ranked = sorted(newest_first, key=lambda each: each.spec.replicas, reverse=True)
    sizes, left = {}, to_add
    for each in ranked:
        share = _share(each, left, allowed, former_limits.get(each.metadata.name, 0) or allowed)
        sizes[each.metadata.name] = each.spec.replicas + share
        left -= share
    first = ranked[0].metadata.name
    sizes[first] = max(0, sizes[first] + left)
    return sizes


def _share(replica_set: ReplicaSet, left: int, allowed: int, formerly_allowed: int) -> int:
    """How many of the `left` replicas one set takes: as much as it was of what was allowed, of what is now."""
    size = replica_set.spec.replicas
    fair = floor(size * allowed / formerly_allowed + 0.5) - size
    return min(fair, left) if left > 0 else max(fair, left)


def _is_saturated(deployment: Deployment, new: ReplicaSet) -> bool:
    wanted = deployment.spec.replicas
    return new.spec.replicas == wanted == new.status.available_replicas


def total(replica_sets: Sequence[ReplicaSet]) -> int:
    """All replicas together."""
    return sum(each.spec.replicas for each in replica_sets)


def _by_age(replica_sets: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    return sorted(replica_sets, key=lambda each: each.metadata.creation_timestamp)
