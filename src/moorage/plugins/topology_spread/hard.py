"""Hard constraints: where another pod would not make the domains too uneven."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.columns import LabelGroup, NodeInfo, NodeTable, PodInfo
from moorage.columns.counts import CountTables, DomainCounts
from moorage.framework.status import Status, unresolvable, unschedulable
from moorage.plugins.topology_spread.constraints import Constraint, keys_of
from moorage.values.taint import first_untolerated

_REASON = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL = unresolvable(f"{_REASON} (missing required label)")
TOO_UNEVEN = unschedulable(_REASON)

#: Verdict codes are 1 + the index here.
STATUSES = (MISSING_LABEL, TOO_UNEVEN)
_MISSING, _UNEVEN = 1, 2

_Codes = NDArray[np.int8]
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
        self._tolerations = pod.spec.tolerations
        self._selects: dict[LabelGroup, tuple[bool, ...] | None] = {}
        self._codes: _Codes = np.zeros(0, dtype=np.int8)
        self._codes_for: list[int] = []

    def refresh(self, tables: CountTables) -> None:
        """Bring the tables up to date at the start of a cycle."""
        for table in self.counts:
            tables.use(table)

    def row_codes(self, nodes: NodeTable) -> _Codes:
        """The verdict on every row, for tables just brought up to date. Computed again only after they changed."""
        revisions = [table.revision for table in self.counts]
        if self._codes_for != revisions:
            self._codes_for = revisions
            self._codes = self.evaluate(nodes, None)
        return self._codes

    def evaluate(self, nodes: NodeTable, added: _Added | None) -> _Codes:
        """The verdict on every row: that of the first constraint that refuses it."""
        codes: _Codes | None = None
        for index, (constraint, table) in enumerate(zip(self.constraints, self.counts, strict=True)):
            counts = table.counts
            if added is not None and added[index]:
                counts = counts.copy()
                for domain, pods in added[index].items():
                    if 0 <= domain < len(counts) - 1:
                        counts[domain] += pods
            verdicts: _Codes = (counts > self.highest(index, added)).view(np.int8) * np.int8(_UNEVEN)
            verdicts[-1] = _MISSING  # what a row without the label finds
            of_row: _Codes = verdicts.take(nodes.label(constraint.topology_key).ids[: len(nodes.infos)])
            codes = of_row if codes is None else codes + of_row * (codes == 0)
        assert codes is not None, "a plan has at least one constraint"
        return codes

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

    def row_codes(self) -> _Codes:
        """The verdict on every row."""
        if self._added is None:
            return self.plan.row_codes(self._nodes)
        return self.plan.evaluate(self._nodes, self._added)

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
