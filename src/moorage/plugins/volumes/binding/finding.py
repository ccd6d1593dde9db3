"""Volumes for all claims of a pod on a node, or why the node will not do."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from moorage.columns import NodeInfo, NodeTable, ObjectStore, Rows
from moorage.framework.points import Scores, Verdicts
from moorage.framework.status import Status, unresolvable
from moorage.objects import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim
from moorage.plugins.volumes.binding.affinity import Reachability, VolumeAffinities
from moorage.plugins.volumes.binding.claims import DelayedClaim, PodClaims
from moorage.plugins.volumes.binding.matching import Candidates, candidates_for
from moorage.plugins.volumes.binding.provisioning import Provisioning
from moorage.plugins.volumes.label_rows import RowMask

#: In the order in which they are reported.
REASONS = (
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
)
UNREACHABLE, NO_VOLUME, NO_ROOM, VOLUME_GONE = (1 << bit for bit in range(len(REASONS)))

#: One status for every combination of reasons; `_STATUSES[reasons - 1]`.
_STATUSES = tuple(
    unresolvable(*(text for bit, text in enumerate(REASONS) if reasons >> bit & 1))
    for reasons in range(1, 1 << len(REASONS))
)


class Match(NamedTuple):
    """A claim and the existing volume it is to get."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume


class Provision(NamedTuple):
    """A claim whose volume is to be made, and the pool it is made from where the driver tells."""

    claim: PersistentVolumeClaim
    pool: CSIStorageCapacity | None


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """How a pod's unbound claims are served on one node."""

    bindings: tuple[Match, ...] = ()
    provisions: tuple[Provision, ...] = ()


class VolumeSearch:
    """The search of one scheduling cycle: what holds for all nodes is worked out once, when first needed."""

    def __init__(self, claims: PodClaims, objects: ObjectStore, affinities: VolumeAffinities) -> None:
        self._claims = claims
        self._objects = objects
        self._affinities = affinities
        self._reachability = Reachability(objects, affinities)
        self._provisionings: dict[str, Provisioning] = {}

    def on_node(self, node: NodeInfo) -> PodVolumes | Status:
        """The volumes for the pod on a node, or every reason why there are none."""
        reasons = self._bound_reasons(node)
        found = self._unbound_on(node)
        if isinstance(found, PodVolumes):
            return found if not reasons else _STATUSES[reasons - 1]
        return _STATUSES[(reasons | found) - 1]

    def on_rows(self, nodes: NodeTable, rows: Rows) -> Verdicts:
        """The reasons against each of many rows."""
        reasons = np.zeros(len(rows), dtype=np.intp)
        self._bound_on_rows(nodes, rows, reasons)
        if not self._claims.delayed:
            return Verdicts(reasons, _STATUSES)
        if self._is_left_to_provisioning:
            self._provisioned_on_rows(nodes, rows, reasons)
        else:
            for at, row in enumerate(rows.tolist()):
                found = self._unbound_on(nodes.infos[row])
                if not isinstance(found, PodVolumes):
                    reasons[at] |= found
        return Verdicts(reasons, _STATUSES)

    @property
    def may_differ(self) -> bool:
        """Whether there is anything to find that could be better on one node than on another."""
        return bool(self._claims.delayed)

    def scores(self, nodes: NodeTable, rows: Rows, score: Callable[[PodVolumes], int]) -> Scores:
        """How good what each of many rows that fit would serve the pod with is."""
        if self._is_left_to_provisioning:
            return self._scores_by_pool(nodes, rows, score)
        scores = np.zeros(len(rows), dtype=np.int64)
        for at, row in enumerate(rows.tolist()):
            found = self.on_node(nodes.infos[row])
            if isinstance(found, PodVolumes):
                scores[at] = score(found)
        return scores

    def _scores_by_pool(self, nodes: NodeTable, rows: Rows, score: Callable[[PodVolumes], int]) -> Scores:
        """The same where only the pools matter that volumes would be made from: few, against many rows."""
        provisionings = [self._provisioning_of(claim) for claim, _ in self._to_match]
        pools = np.array([one.rows_pool(nodes, rows) for one in provisionings], dtype=np.intp)
        served, of_row = np.unique(pools, axis=1, return_inverse=True)
        scores = [
            score(PodVolumes((), tuple(self._provisions(provisionings, indices)))) for indices in served.T.tolist()
        ]
        found: Scores = np.array(scores, dtype=np.int64)[of_row.reshape(-1)]
        return found

    def _provisions(self, provisionings: Sequence[Provisioning], indices: Sequence[int]) -> Iterator[Provision]:
        for (claim, _), provisioning, index in zip(self._to_match, provisionings, indices, strict=True):
            yield Provision(claim.claim, provisioning.published(index))

    def _bound_reasons(self, node: NodeInfo) -> int:
        """What is wrong with the first bound claim whose volume the node cannot have."""
        for claim in self._claims.bound:
            volume = self._objects.get(PersistentVolume, claim.spec.volume_name)
            if volume is None:
                return VOLUME_GONE
            if not self._reachability.reaches(node, volume):
                return UNREACHABLE
        return 0

    def _bound_on_rows(self, nodes: NodeTable, rows: Rows, reasons: Rows) -> None:
        good: RowMask = np.ones(len(rows), dtype=bool)
        for claim in self._claims.bound:
            volume = self._objects.get(PersistentVolume, claim.spec.volume_name)
            if volume is None:
                reasons[good] |= VOLUME_GONE
                return
            reached = np.zeros(len(rows), dtype=bool)
            # Only rows still good are asked: a volume that cannot be translated is an error only where it matters.
            reached[good] = self._reachability.rows_reaching(nodes, rows[good], volume)
            reasons[good & ~reached] |= UNREACHABLE
            good &= reached

    def _unbound_on(self, node: NodeInfo) -> PodVolumes | int:
        """Volumes for the unbound claims, or the reason against the node."""
        selected = [claim for claim in self._claims.delayed if claim.selected_node is not None]
        if any(claim.selected_node != node.name for claim in selected):
            return NO_VOLUME
        bindings, unmatched = self._matched(node)
        provisions = []
        for claim in (*selected, *unmatched):
            provisioning = self._provisioning_of(claim)
            if not provisioning.is_allowed(node.labels):
                return NO_VOLUME
            if not provisioning.has_room(node.labels):
                return NO_ROOM
            pool = provisioning.pool_for(node.labels)
            provisions.append(Provision(claim.claim, pool.published if pool is not None else None))
        return PodVolumes(bindings, tuple(provisions))

    def _matched(self, node: NodeInfo) -> tuple[tuple[Match, ...], list[DelayedClaim]]:
        """Existing volumes for claims that are not being provisioned, the smallest claim first; and the rest."""
        bindings: list[Match] = []
        unmatched = []
        taken: set[str] = set()
        for claim, candidates in self._to_match:
            volume = candidates.first(node.labels, taken)
            if volume is None:
                unmatched.append(claim)
            else:
                taken.add(volume.metadata.name)
                bindings.append(Match(claim.claim, volume))
        return tuple(bindings), unmatched

    @cached_property
    def _to_match(self) -> list[tuple[DelayedClaim, Candidates]]:
        claims = sorted(
            (claim for claim in self._claims.delayed if claim.selected_node is None), key=lambda claim: claim.size
        )
        return [(claim, candidates_for(claim.claim, self._objects, self._affinities)) for claim in claims]

    @property
    def _is_left_to_provisioning(self) -> bool:
        """Whether no claim is being provisioned yet and no existing volume will do anywhere."""
        return len(self._to_match) == len(self._claims.delayed) and all(
            candidates.is_empty for _, candidates in self._to_match
        )

    def _provisioned_on_rows(self, nodes: NodeTable, rows: Rows, reasons: Rows) -> None:
        good: RowMask = np.ones(len(rows), dtype=bool)
        for claim, _ in self._to_match:
            provisioning = self._provisioning_of(claim)
            allowed = provisioning.rows_allowed(nodes, rows)
            reasons[good & ~allowed] |= NO_VOLUME
            good &= allowed
            room = provisioning.rows_with_room(nodes, rows)
            reasons[good & ~room] |= NO_ROOM
            good &= room

    def _provisioning_of(self, claim: DelayedClaim) -> Provisioning:
        known = self._provisionings.get(claim.claim.key)
        if known is None:
            known = self._provisionings[claim.claim.key] = Provisioning(claim, self._objects)
        return known
