"""Hard constraints: where another pod would not make the domains too uneven."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.columns import LabelGroup, NodeInfo, NodeTable, PodInfo
from moorage.columns.counts import CountTables, DomainCounts
from moorage.columns.labels import ABSENT
from moorage.columns.verdicts import Codes, RowVerdicts
from moorage.framework.status import Status, unresolvable, unschedulable
from moorage.plugins.topology_spread.constraints import Constraint, keys_of
from moorage.values.taint import first_untolerated

_REASON = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL = unresolvable(f"{_REASON} (missing required label)")
TOO_UNEVEN = unschedulable(_REASON)

#: For each constraint what a dry run added: domain id -> pods.
_Added = list[dict[int, int]]


class HardPlan:
    """The hard constraints of pods that are alike, with the tables they need."""

    def __init__(self, constraints: Sequence[Constraint], pod: PodInfo, nodes: NodeTable, tables: CountTables) -> None:
        self.constraints = tuple(constraints)
        self.keys = keys_of(constraints)
        self.namespace = pod.namespace
        self.self_matches = [int(one.selector.matches(pod.labels)) for one in constraints]
        self.counts: list[DomainCounts] = [
            tables.table(one.topology(pod, self.keys), {nodes.tallies.selected(one.selection(pod.namespace)): 1})
            for one in constraints
        ]
        self._affinity = pod.pod_class.node_affinity
        self._tolerations = pod.pod_class.tolerations
        self._selects: dict[LabelGroup, tuple[bool, ...] | None] = {}
        #: Verdict codes are 1 + the index here; a constraint's are higher than those of the constraints after it.
        self.statuses = (TOO_UNEVEN, MISSING_LABEL) * len(self.constraints)
        self._verdicts: RowVerdicts | None = None
        #: For each constraint the revision of its table and the limit that the verdicts were made for.
        self._made_for: list[tuple[int, int]] = []

    def refresh(self, tables: CountTables) -> None:
        """Bring the tables up to date at the start of a cycle."""
        for table in self.counts:
            tables.use(table)

    def row_codes(self, nodes: NodeTable) -> Codes:
        """The verdict on every row, for tables just brought up to date: that of the first constraint that refuses."""
        verdicts = self._verdicts
        if verdicts is None or verdicts.topology_version != nodes.topology_version:
            verdicts = self._verdicts = self._empty_verdicts(nodes)
            self._made_for = [(-1, 0)] * len(self.constraints)
        for index, table in enumerate(self.counts):
            revision, limit = self._made_for[index]
            highest = self.highest(index, None)
            changed = table.changed_since(revision) if limit == highest else None
            if changed is None:
                verdicts.set(index, self._codes_by_domain(index, table.counts, highest))
            else:
                for domain in changed:
                    verdicts.change(index, domain, self._uneven(index) if table.counts[domain] > highest else 0)
            self._made_for[index] = (table.revision, highest)
        return verdicts.codes()

    def dry_row_codes(self, nodes: NodeTable, added: _Added) -> Codes:
        """The same with what a dry run added."""
        verdicts = self._empty_verdicts(nodes)
        for index, table in enumerate(self.counts):
            counts = table.counts.copy()
            for domain, pods in added[index].items():
                if domain != ABSENT:
                    counts[domain] += pods
            verdicts.set(index, self._codes_by_domain(index, counts, self.highest(index, added)))
        return verdicts.codes()

    def _empty_verdicts(self, nodes: NodeTable) -> RowVerdicts:
        return RowVerdicts(nodes, [one.topology_key for one in self.constraints])

    def _codes_by_domain(self, index: int, counts: NDArray[np.int64], highest: int) -> Codes:
        codes: Codes = (counts > highest) * np.int16(self._uneven(index))
        codes[-1] = self._uneven(index) + 1  # what a row without the label finds
        return codes

    def _uneven(self, index: int) -> int:
        """The code of a domain that holds too many; one more is that of a missing label."""
        return 2 * (len(self.constraints) - index) - 1

    def highest(self, index: int, added: _Added | None) -> int:
        """The highest count a domain may have before the pod comes to it."""
        constraint, table = self.constraints[index], self.counts[index]
        if len(table.domain_ids) < constraint.min_domains:
            smallest = 0
        elif added is not None and added[index]:
            smallest = table.minimum_with(added[index])
        else:
            smallest = table.minimum()
        return constraint.max_skew + smallest - self.self_matches[index]

    def selects(self, group: LabelGroup) -> tuple[bool, ...] | None:
        """Which constraints a pod of this group counts for; None where for none."""
        if group not in self._selects:
            if len(self._selects) > 4096:
                self._selects.clear()
            chosen = tuple(one.selector.matches(group.labels) for one in self.constraints)
            self._selects[group] = chosen if group.namespace == self.namespace and any(chosen) else None
        return self._selects[group]

    def takes_part(self, constraint: Constraint, node: NodeInfo) -> bool:
        """Whether the constraint's policies let the node take part."""
        if constraint.honors_affinity and not self._affinity.matches(node.name, node.labels):
            return False
        return not constraint.honors_taints or first_untolerated(node.taints, self._tolerations) is None


class HardState:
    """What Filter reads in one cycle: the plan, and what dry runs added to it."""

    __slots__ = ("_added", "_nodes", "plan")

    def __init__(self, plan: HardPlan, nodes: NodeTable, added: _Added | None = None) -> None:
        self.plan = plan
        self._nodes = nodes
        self._added = added

    def clone(self) -> "HardState":
        """A copy that dry runs may change."""
        return HardState(self.plan, self._nodes, self._added and [dict(one) for one in self._added])

    def row_codes(self) -> Codes:
        """The verdict on every row."""
        if self._added is None:
            return self.plan.row_codes(self._nodes)
        return self.plan.dry_row_codes(self._nodes, self._added)

    def verdict(self, labels: Mapping[str, str]) -> Status | None:
        """The verdict on a node with these labels."""
        plan = self.plan
        for index, constraint in enumerate(plan.constraints):
            value = labels.get(constraint.topology_key)
            if value is None:
                return MISSING_LABEL
            domain = self._nodes.label(constraint.topology_key).find(value)
            count = plan.counts[index].count(domain)
            if self._added is not None:
                count += self._added[index].get(domain, 0)
            if count > plan.highest(index, self._added):
                return TOO_UNEVEN
        return None

    def change(self, pod: PodInfo, node: NodeInfo, delta: int) -> None:
        """A dry run adds a pod to a node, or removes it.

        QUIRK: pods being deleted are not in the tables, yet their removal counts; so it is with an empty selector.
        """
        chosen = self.plan.selects(pod.label_group)
        if chosen is None or not all(key in node.labels for key in self.plan.keys):
            return
        if self._added is None:
            self._added = [{} for _ in self.plan.constraints]
        for constraint, is_selected, added in zip(self.plan.constraints, chosen, self._added, strict=True):
            if is_selected and self.plan.takes_part(constraint, node):
                domain = self._nodes.label(constraint.topology_key).find(node.labels[constraint.topology_key])
                added[domain] = added.get(domain, 0) + delta
