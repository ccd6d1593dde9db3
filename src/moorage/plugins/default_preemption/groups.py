"""Preemption for a group: nothing has to go unless the whole group then fits.

Everything less important is taken away; if the group fits then, what can stay is put back, the most important first.
Members of a group that is disrupted only as a whole go together or stay together.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from moorage.columns import PodInfo, Snapshot
from moorage.config.gates import POD_GROUP_PREEMPTION_POLICY, QUEUED_POD_GROUPS
from moorage.framework.grouping import Assignment, PodGroupPostFilterAnswer, RejectedGroup
from moorage.framework.handle import Handle
from moorage.framework.status import Code, Status, unresolvable, unschedulable
from moorage.objects import PodDisruptionBudget
from moorage.plugins.default_preemption.budgets import Budgets, PreemptionRules
from moorage.plugins.default_preemption.units import Unit, Units, split

PREFIX: Final = "pod group preemption: "
NOBODY: Final = unresolvable("No preemption victims found for incoming preemptor")
NEVER: Final = unschedulable("not eligible due to preemptionPolicy=Never.")
ONGOING: Final = Status(Code.SUCCESS, ("ongoing preemption on nominated nodes",))


class GroupPreemption:
    """Finds what would have to go for a group."""

    def __init__(self, handle: Handle, rules: PreemptionRules) -> None:
        self._handle = handle
        self._rules = rules
        self._snapshot: Snapshot = handle.snapshot
        self._units = Units(handle.snapshot)
        self._by_group = POD_GROUP_PREEMPTION_POLICY in handle.features
        self._is_old = QUEUED_POD_GROUPS not in handle.features

    def of(self, rejected: RejectedGroup) -> PodGroupPostFilterAnswer:
        """Members with the nodes that are promised to them, and who has to go; or why that does not help."""
        is_old = self._is_old and rejected.group.is_native
        answer = self._of(rejected, is_old=is_old)
        if is_old or not answer.status.reasons:
            return answer
        words = Status(answer.status.code, (PREFIX + answer.status.message,))
        return PodGroupPostFilterAnswer(words, answer.nominations, answer.victims)

    def _of(self, rejected: RejectedGroup, *, is_old: bool) -> PodGroupPostFilterAnswer:
        if self._may_not(rejected):
            return PodGroupPostFilterAnswer(NEVER)
        priority = self._priority(rejected)
        if not is_old and self._is_under_way(rejected, priority):
            promised = {pod.uid: self._promised(pod) for pod in rejected.members}
            return PodGroupPostFilterAnswer(ONGOING, promised)
        if not self._units.may_have_below(priority):
            return PodGroupPostFilterAnswer(NOBODY)
        found_units = self._units.before_1_37(self._snapshot.nodes) if is_old else self._units.of(self._snapshot.nodes)
        units = [unit for unit in found_units if unit.priority < priority]
        if not units:
            return PodGroupPostFilterAnswer(NOBODY)
        with self._snapshot.tentative():
            for unit in units:
                self._take(unit.pods)
            found = rejected.place()
            if isinstance(found, Status):
                return PodGroupPostFilterAnswer(found)
            units.sort(key=lambda unit: unit.order)
            must_go = self._reprieve(rejected, units, found, is_old=is_old)
        victims = tuple(pod for unit in sorted(must_go, key=lambda unit: unit.order) for pod in unit.pods)
        text = f"found a placement for podgroup, preempting {len(victims)} victims"
        nominations = {} if is_old else {one.pod.uid: one.node_name for one in found}
        return PodGroupPostFilterAnswer(Status(Code.SUCCESS, (text,)), nominations, victims)

    # ------------------------------------------------------------------------------------------------ who may preempt

    def _may_not(self, rejected: RejectedGroup) -> bool:
        if self._by_group and rejected.group.is_native:
            return rejected.group.preemption_policy == "Never"
        return any(pod.spec.preemption_policy == "Never" for pod in rejected.members)

    def _priority(self, rejected: RejectedGroup) -> int:
        """Of a labelled group that of its least important member: nobody has to go for somebody less important."""
        if rejected.group.is_native:
            return rejected.group.priority or 0
        return min(pod.priority for pod in rejected.members)

    def _promised(self, pod: PodInfo) -> str:
        return self._snapshot.nominations.node_of(pod) or pod.pod.status.nominated_node_name

    def _is_under_way(self, rejected: RejectedGroup, priority: int) -> bool:
        names = {name for pod in rejected.members if (name := self._promised(pod))}
        nodes = (self._snapshot.nodes.get(name) for name in names)
        return any(
            self._units.priority_of(other) < priority and self._is_leaving(other)
            for node in nodes
            if node is not None
            for other in node.pods.values()
        )

    def _is_leaving(self, other: PodInfo) -> bool:
        pod = other.pod
        by_preemption = pod.is_terminating and any(
            one.type == "DisruptionTarget" and one.status == "True" and one.reason == "PreemptionByScheduler"
            for one in pod.status.conditions
        )
        if by_preemption or pod.is_terminating:
            return by_preemption
        return self._handle.has_host and self._handle.host.is_leaving(other)

    # -------------------------------------------------------------------------------------------------- who may stay

    def _reprieve(
        self, rejected: RejectedGroup, units: Sequence[Unit], found: Sequence[Assignment], *, is_old: bool
    ) -> list[Unit]:
        budgets = Budgets(self._snapshot.objects.each(PodDisruptionBudget), self._rules)
        violating, others = split(units, budgets)
        must_go: list[Unit] = []
        for unit in (*(unit for unit, _ in violating), *others):
            stays = self._fits_again(rejected, unit) if is_old else self._fits_beside(unit, found)
            if not stays:
                must_go.append(unit)
        return must_go

    def _fits_again(self, rejected: RejectedGroup, unit: Unit) -> bool:
        """Whether the group, tried all over, fits with these pods back."""
        self._put(unit.pods)
        if not isinstance(rejected.place(), Status):
            return True
        self._take(unit.pods)
        return False

    def _fits_beside(self, unit: Unit, found: Sequence[Assignment]) -> bool:
        """Whether each member still fits where it was placed, one after the other, with these pods back."""
        filters, nodes = self._handle.filters, self._snapshot.nodes
        self._put(unit.pods)
        for pod in unit.pods:
            node = nodes.get(pod.spec.node_name)
            for one in found if node is not None else ():
                assert node is not None
                filters.tell_added(one.state, one.pod, pod, node)
        fits = True
        with self._snapshot.tentative():
            for one in found:
                node = nodes.get(one.node_name)
                if node is None or filters.filter_with_nominated(one.state, one.pod, node) is not None:
                    fits = False
                    break
                nodes.add_pod(one.pod.bound_to(one.node_name), one.node_name)
        if fits:
            return True
        self._take(unit.pods)
        for pod in unit.pods:
            node = nodes.get(pod.spec.node_name)
            for one in found if node is not None else ():
                assert node is not None
                filters.tell_removed(one.state, one.pod, pod, node)
        return False

    def _take(self, pods: Iterable[PodInfo]) -> None:
        for pod in pods:
            self._snapshot.nodes.remove_pod(pod, pod.spec.node_name)

    def _put(self, pods: Iterable[PodInfo]) -> None:
        for pod in pods:
            self._snapshot.nodes.add_pod(pod, pod.spec.node_name)
