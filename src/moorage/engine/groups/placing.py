"""A group placed, or a tree of groups: within all nodes, or within the best of the domains it may lie in."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from moorage.columns import GroupInfo, PodInfo, Rows
from moorage.config import Features
from moorage.config.gates import TOPOLOGY_AWARE_WORKLOAD_SCHEDULING
from moorage.engine.groups.annotated import AnnotatedTopology
from moorage.engine.groups.outcome import GroupResult, GroupWork, quoted, refused
from moorage.engine.groups.slots import slots_for
from moorage.engine.groups.trial import Trials
from moorage.engine.outcome import Failure, Placement
from moorage.framework.answers import blame
from moorage.framework.groupanswers import feasible_verdict, normal_placement_scores, placement_score, placements
from moorage.framework.grouping import Assignment, Domain, Progress
from moorage.framework.profile import Named
from moorage.framework.status import Code, Status, error

#: From so many members on it is worked out first whether nodes take them.
MANY: Final = 16

#: What trying came to, by the path of each group; those that were not reached are not in it.
Results = dict[str, GroupResult]

#: Tries a group within these rows and puts down what came of it; `where` tells trials apart.
TryWithin = Callable[[Rows | None, str, Results], GroupResult]


class TreePlacing:
    """Tries a tree of groups. `domains` tells what was tried in each domain of the topmost group that names one."""

    def __init__(self, trials: Trials, work: GroupWork, features: Features) -> None:
        self._trials = trials
        self._work = work
        self._profile = trials.runner.compiled
        self._snapshot = trials.snapshot
        self._in_domains = TOPOLOGY_AWARE_WORKLOAD_SCHEDULING in features and work.root.is_native
        self._is_tree = work.root.is_composite
        self.domains: dict[str, list[Placement | Failure]] | None = None
        self.attempts: list[Placement | Failure] = []

    def run(self, where: str = "", *, keeps: bool = False) -> Results:
        """Try all of it; nothing of it stays, but with `keeps` what makes the group whole."""
        results: Results = {}
        root = self._work.root
        with self._trials.block() as block:
            block.alone(self._work.pods)
            if self._is_plain(root):
                # Nothing else is tried in this block: it does for the members, too.
                result = results[root.path] = GroupResult(root)
                self._try_members(result, None, where)
                result.has_placed = result.has_placed and result.status is None
            else:
                result = self._group(root, None, where, results)
            if keeps and result.status is None and result.has_placed:
                block.keep()
        if result.status is None and not result.has_placed:
            result.status = refused()
        return results

    def _is_plain(self, group: GroupInfo) -> bool:
        """Whether there is one way to place it: its members, on all nodes."""
        in_domains = self._in_domains if group.is_native else group.topology_required or group.topology_preferred
        return not group.is_composite and not in_domains

    def _group(self, group: GroupInfo, within: Rows | None, where: str, results: Results) -> GroupResult:
        """Try a group; where it fits it stays placed for the block around it."""
        if group.is_composite:
            result = self._best_domain(group, within, where, results, self._children_of(group))
        elif not group.is_native and (group.topology_required or group.topology_preferred):
            members = self._work.members.get(group.path, ())
            result = AnnotatedTopology(self._trials, members, self._within_rows, self._feasible).place(group, where)
        elif self._in_domains:
            result = self._best_domain(group, within, where, results, self._members_of(group))
        else:
            result = self._members_of(group)(within, where, results)
        results[group.path] = result
        return result

    # ------------------------------------------------------------------------------------------------- its members

    def _members_of(self, group: GroupInfo) -> TryWithin:
        def within(rows: Rows | None, where: str, _results: Results) -> GroupResult:
            result = GroupResult(group)
            with self._trials.block() as block:
                self._try_members(result, rows, where)
                if result.status is None:
                    block.keep()
                else:
                    result.has_placed = False
            return result

        return within

    def _within_rows(self, group: GroupInfo, rows: Rows | None, where: str) -> GroupResult:
        return self._members_of(group)(rows, where, {})

    def _try_members(self, result: GroupResult, rows: Rows | None, where: str) -> None:
        group = result.group
        members = self._work.members.get(group.path, ())
        scheduled, remaining = len(self._snapshot.groups.members(group.path).scheduled), len(members)
        status = self._feasible(group, scheduled, remaining)
        if status is not None and status.code is not Code.WAIT:
            result.status = status if status.code is Code.ERROR else refused(*status.reasons)
            return
        if self._lacks_slots(result, members, rows, where):
            return
        for pod in members:
            outcome = self._trials.decide(pod, rows, where)
            if isinstance(outcome, Placement):
                outcome = self._trials.place(outcome) or outcome
            result.outcomes.append(outcome)
            if isinstance(outcome, Failure) and outcome.is_error:
                result.status = error(f"failed to schedule other pod from a pod group: {outcome.message}")
                return
            remaining -= 1
            scheduled += isinstance(outcome, Placement)
            status = self._feasible(group, scheduled, remaining)
            if status is not None and status.code is not Code.WAIT:
                result.status = status
                return
            result.has_placed |= isinstance(outcome, Placement)
        result.status = None if status is None else refused(*status.reasons)

    def _lacks_slots(self, result: GroupResult, members: Sequence[PodInfo], rows: Rows | None, where: str) -> bool:
        """Whether the group cannot fit because nodes do not take so many members that are alike.

        That is known without a try. What is said of it is what the first member is told that finds all slots taken.
        """
        group = result.group
        scheduled = len(self._snapshot.groups.members(group.path).scheduled)
        slots = slots_for(self._trials.runner, members, rows) if len(members) >= MANY else None
        if slots is None or slots.total + scheduled >= (group.min_count or 1) or slots.total >= len(members):
            return False
        with self._trials.block():
            taken = iter(members)
            for row, count in zip(slots.rows.tolist(), slots.counts.tolist(), strict=True):
                name = self._snapshot.nodes[row].name
                for _ in range(count):
                    self._trials.count(next(taken), name)
            outcome = self._trials.decide(next(taken), rows, where)
        if isinstance(outcome, Placement) or outcome.is_error:
            return False
        result.outcomes.append(outcome)
        result.fitting = slots.total
        # As many as are left when one try after the other has shown that it cannot be whole.
        left = min(len(members) - slots.total, (group.min_count or 1) - scheduled - slots.total) - 1
        result.status = self._feasible(group, scheduled + slots.total, left)
        return result.status is not None

    def _feasible(self, group: GroupInfo, scheduled: int, remaining: int) -> Status | None:
        found: Status | None = None
        for one in self._profile.feasibles:
            with blame(one.name, "PlacementFeasible"):
                answer = one.plugin.placement_feasible(group, Progress(scheduled, remaining))
                status = feasible_verdict(one.name, one.plugin, answer)
            if status is None or status.is_success:
                continue
            if status.code is Code.WAIT:
                found = status
            elif status.code is Code.UNSCHEDULABLE:
                return status
            else:
                return error(
                    "failed to evaluate placement feasibility: running PlacementFeasible plugin: " + status.message
                )
        return found

    # -------------------------------------------------------------------------------------------- groups within it

    def _children_of(self, group: GroupInfo) -> TryWithin:
        def within(rows: Rows | None, where: str, results: Results) -> GroupResult:
            result = results[group.path] = GroupResult(group)
            with self._trials.block() as block:
                self._try_children(result, rows, where, results)
                if result.status is None:
                    block.keep()
                else:
                    result.has_placed = False
            return result

        return within

    def _try_children(self, result: GroupResult, rows: Rows | None, where: str, results: Results) -> None:
        group = result.group
        children = self._snapshot.groups.children(group.path)
        scheduled, remaining = 0, len(children)
        status = self._feasible(group, scheduled, remaining)
        if status is not None and status.code is not Code.WAIT:
            result.status = status
            return
        for child in children:
            found = self._group(child, rows, where, results)
            if found.status is not None and found.status.code is Code.ERROR:
                text = f"composite pod group evaluation failed due to child error: {found.status.message}"
                result.status = error(text)
                return
            result.has_placed |= found.has_placed
            remaining -= 1
            scheduled += found.status is None
            status = self._feasible(group, scheduled, remaining)
            if status is not None and status.code is not Code.WAIT:
                break
        is_waiting = status is not None and status.code is Code.WAIT
        result.status = refused(*status.reasons) if status is not None and is_waiting else status

    # ------------------------------------------------------------------------------------------------- its domains

    def _best_domain(
        self, group: GroupInfo, within: Rows | None, where: str, results: Results, try_within: TryWithin
    ) -> GroupResult:
        domains = self._domains(group, within)
        if isinstance(domains, Status):
            return GroupResult(group, domains)
        tells = group is self._work.root and not self._is_tree and not where and bool(group.topology_required)
        told: dict[str, list[Placement | Failure]] = {}
        first: Results | None = None
        fitting: list[tuple[Domain, Results]] = []
        for domain in domains:
            found: Results = {}
            with self._trials.block():
                result = try_within(self._rows(domain), f"{where}/{domain.name}", found)
            found[group.path] = result
            told[domain.name] = result.outcomes
            if result.status is not None and result.status.code is Code.ERROR:
                return result
            first = first or found
            if result.status is None:
                fitting.append((domain, found))
        if tells and any(len(domain.rows) < len(self._snapshot.nodes) for domain in domains):
            self.domains = told
        if not fitting:
            assert first is not None, "there is at least one domain"
            results.update(first)
            failed = first[group.path]
            assert failed.status is not None, "it does not fit"
            text = f"0/{len(domains)} placements are available, first placement status: {quoted(failed.status)}"
            failed.status = refused(text)
            return failed
        best = self._best(group, fitting)
        if isinstance(best, Status):
            return GroupResult(group, best)
        results.update(best)
        problem = self._place_again(group, best)
        return best[group.path] if problem is None else GroupResult(group, problem)

    def _rows(self, domain: Domain) -> Rows | None:
        """None where it is all there are: that is quicker."""
        return None if domain.rows is self._snapshot.nodes.rows else domain.rows

    def _domains(self, group: GroupInfo, within: Rows | None) -> Sequence[Domain] | Status:
        rows = self._snapshot.nodes.rows if within is None else within
        generators = self._profile.placement_generators
        if not generators:
            return [Domain("", rows)]
        one = generators[0]
        with blame(one.name, "PlacementGenerate"):
            found = placements(one.name, one.plugin, one.plugin.generate_placements(group, rows), rows)
        if isinstance(found, Status):
            return found
        return found or Status(Code.UNSCHEDULABLE, ("no feasible placements found",), one.name)

    def _best(self, group: GroupInfo, fitting: Sequence[tuple[Domain, Results]]) -> Results | Status:
        """The domain with the highest score, by chance among equals."""
        if len(fitting) == 1:
            return fitting[0][1]
        totals = [0] * len(fitting)
        assigned = [self._assignments(group, found) for _, found in fitting]
        for one in self._profile.placement_scores:
            normal = scored(one, group, [(domain, some) for (domain, _), some in zip(fitting, assigned, strict=True)])
            if isinstance(normal, Status):
                return error(f'plugin "{one.name}" failed with: {normal.message}')
            weight = self._profile.configured.placement_weights.get(one.name, 1)
            totals = [total + score * weight for total, score in zip(totals, normal, strict=True)]
        best = [found for total, (_, found) in zip(totals, fitting, strict=True) if total == max(totals)]
        return best[self._trials.answers.seed * len(best) >> 64]

    def _assignments(self, group: GroupInfo, results: Results) -> list[Assignment]:
        return [Assignment(one.pod, one.node_name, one.state) for one in placed_in(group, results, self._children)]

    def _children(self, group: GroupInfo) -> Sequence[GroupInfo]:
        return self._snapshot.groups.children(group.path) if group.is_composite else ()

    def _place_again(self, group: GroupInfo, results: Results) -> Status | None:
        """Let what was found in the best domain stay, so that other groups see it."""
        for placement in placed_in(group, results, self._children):
            problem = self._trials.place(placement)
            if problem is not None:
                return error(f"failed to assume the subtree: {problem.message}")
        return None


def scored(
    one: Named, group: GroupInfo, places: Iterable[tuple[Domain, Sequence[Assignment]]]
) -> Sequence[int] | Status:
    """How good a plugin finds the places."""
    with blame(one.name, "PlacementScore"):
        scores = [
            placement_score(one.name, one.plugin, one.plugin.score_placement(group, domain, some))
            for domain, some in places
        ]
    normalize = getattr(one.plugin, "normalize_placement_scores", None)
    if normalize is None:
        return scores
    with blame(one.name, "NormalizePlacementScore"):
        return normal_placement_scores(one.name, one.plugin, normalize(scores), scores)


def placed_in(
    group: GroupInfo, results: Results, children: Callable[[GroupInfo], Sequence[GroupInfo]]
) -> list[Placement]:
    """The members of a group and of those in it that found a node. Of groups that do not fit no member counts."""
    result = results.get(group.path)
    if result is None or result.status is not None:
        return []
    return [*(one for child in children(group) for one in placed_in(child, results, children)), *result.placements]
