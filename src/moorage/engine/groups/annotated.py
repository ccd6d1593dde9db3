"""Topology as a PodGroup's annotations ask for it: in one domain if it must, in as few and tight ones as may be."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from moorage.columns import GroupInfo, PodInfo, Rows
from moorage.engine.groups.outcome import GroupResult, refused
from moorage.engine.groups.slots import Slots, slots_for
from moorage.engine.groups.trial import Trials
from moorage.engine.outcome import Failure, Placement
from moorage.framework.domains import domains_by, domains_for
from moorage.framework.grouping import Domain
from moorage.framework.status import Code, Status, error

#: Tries the members of a group within these rows; what fits stays placed for the block around it.
TryMembers = Callable[[GroupInfo, Rows | None, str], GroupResult]

#: Says, for so many scheduled and so many left to try, what is the matter with the group.
Feasible = Callable[[GroupInfo, int, int], Status | None]

MOST_DOMAINS: Final = 32
"""Domains that are tried, the tightest that may do first."""


class AnnotatedTopology:
    """Places one group."""

    def __init__(self, trials: Trials, members: Sequence[PodInfo], try_members: TryMembers, feasible: Feasible) -> None:
        self._trials = trials
        self._members = members
        self._try_members = try_members
        self._feasible = feasible
        self._snapshot = trials.snapshot

    def place(self, group: GroupInfo, where: str) -> GroupResult:
        """Where it fits it stays placed for the block around this."""
        if not group.topology_required:
            return self._within(group, None, where)
        key = group.topology_required
        domains = domains_for(self._snapshot, group, key, self._snapshot.nodes.rows)
        if isinstance(domains, Status):
            return GroupResult(group, domains)
        if not domains:
            return GroupResult(group, refused(f"no node has the label {key} that all members must share"))
        return self._in_one(group, key, domains, where, self._within)

    def _within(self, group: GroupInfo, rows: Rows | None, where: str) -> GroupResult:
        key = group.topology_preferred
        if not key:
            return self._try_members(group, rows, where)
        every = self._snapshot.nodes.rows if rows is None else rows
        domains = domains_by(self._snapshot, key, every)
        if domains:
            in_one = self._in_one(group, key, domains, where, self._try_members)
            if in_one.status is None and len(in_one.placements) == len(self._members):
                return in_one
            self._take_back(in_one)
        return self._in_few(group, domains, rows, where)

    # ---------------------------------------------------------------------------------------------------- in a domain

    def _in_one(
        self, group: GroupInfo, key: str, domains: Sequence[Domain], where: str, try_within: TryMembers
    ) -> GroupResult:
        """In the domain that takes most of the group, and of those in the tightest."""
        best: GroupResult | None = None
        for domain in self._in_order(group, domains):
            with self._trials.block():
                result = try_within(group, domain.rows, f"{where}/{domain.name}")
            result.domain = domain.name
            if result.status is not None and result.status.code is Code.ERROR:
                return result
            if best is None or _is_better(result, best):
                best = result
            if result.status is None and len(result.placements) == len(self._members):
                break
        assert best is not None, "there is at least one domain"
        if best.status is not None:
            text = f"no domain of {key} takes the group; in {best.domain}: {best.status.reasons[-1]}"
            best.status = refused(text)
            return best
        for placement in best.placements:
            problem = self._trials.place(placement)
            if problem is not None:
                return GroupResult(group, error(f"failed to assume the group: {problem.message}"))
        return best

    def _in_order(self, group: GroupInfo, domains: Sequence[Domain]) -> list[Domain]:
        """Those that may do, the tightest first; where none may, the one with most room."""
        slots = slots_for(self._trials.runner, self._members)
        room = {domain.name: _room(domain, slots) for domain in domains}
        scheduled = len(self._snapshot.groups.members(group.path).scheduled)
        needed = max(1, (group.min_count or 1) - scheduled)
        ordered = sorted(domains, key=lambda domain: room[domain.name])
        if slots is None:
            return ordered[:MOST_DOMAINS]
        # Those that take all of it come before those that take only what is needed.
        able = [domain for domain in ordered if room[domain.name] >= len(self._members)]
        able += [domain for domain in reversed(ordered) if needed <= room[domain.name] < len(self._members)]
        return able[:MOST_DOMAINS] or [ordered[-1]]

    # ------------------------------------------------------------------------------------------------ in a few of them

    def _in_few(self, group: GroupInfo, domains: Sequence[Domain], rows: Rows | None, where: str) -> GroupResult:
        """Domain after domain, that with most room first; the last part goes to the tightest that takes it."""
        result = GroupResult(group)
        found: dict[str, Placement | Failure] = {}
        with self._trials.block() as block:
            left = list(self._members)
            unused = list(domains)
            while left and unused:
                domain = self._next(unused, left)
                unused.remove(domain)
                left = self._fill(left, domain.rows, f"{where}/few/{domain.name}", found)
            self._fill(left, rows, f"{where}/rest", found, tells=True)
            placed = sum(isinstance(one, Placement) for one in found.values())
            scheduled = len(self._snapshot.groups.members(group.path).scheduled)
            broken = next((one for one in found.values() if isinstance(one, Failure) and one.is_error), None)
            status = self._feasible(group, scheduled, 0)
            if broken is not None:
                status = error(f"failed to schedule other pod from a pod group: {broken.message}")
            result.outcomes = [found[pod.uid] for pod in self._members if pod.uid in found]
            result.status = refused(*status.reasons) if status is not None and status.code is Code.WAIT else status
            if result.status is None:
                result.has_placed = bool(placed)
                block.keep()
        return result

    def _next(self, domains: Sequence[Domain], left: Sequence[PodInfo]) -> Domain:
        slots = slots_for(self._trials.runner, left)
        room = {domain.name: _room(domain, slots) for domain in domains}
        enough = [domain for domain in domains if room[domain.name] >= len(left)] if slots is not None else []
        if enough:
            return min(enough, key=lambda domain: room[domain.name])
        return max(domains, key=lambda domain: room[domain.name])

    def _fill(
        self,
        left: Sequence[PodInfo],
        rows: Rows | None,
        where: str,
        found: dict[str, Placement | Failure],
        *,
        tells: bool = False,
    ) -> list[PodInfo]:
        """Place as many as fit; answers those that do not. With `tells` it is put down why."""
        still: list[PodInfo] = []
        refused_classes: set[int] = set()
        for pod in left:
            if id(pod.pod_class) in refused_classes and pod.affinity_class is None and not tells:
                still.append(pod)
                continue
            outcome = self._trials.decide(pod, rows, where)
            if isinstance(outcome, Placement):
                outcome = self._trials.place(outcome) or outcome
            if isinstance(outcome, Placement) or tells:
                found[pod.uid] = outcome
            if isinstance(outcome, Failure):
                refused_classes.add(id(pod.pod_class))
                still.append(pod)
                if tells:
                    break
        return still

    def _take_back(self, result: GroupResult) -> None:
        if result.status is None:
            for placement in reversed(result.placements):
                self._trials.withdraw(placement)


def _room(domain: Domain, slots: Slots | None) -> int:
    return len(domain.rows) if slots is None else slots.within(np.sort(domain.rows))


def _is_better(result: GroupResult, other: GroupResult) -> bool:
    if (result.status is None) != (other.status is None):
        return result.status is None
    return len(result.placements) > len(other.placements)
