"""Required terms: the incoming pod's own, and the anti-affinity of the pods already there."""

from collections.abc import Iterable, Iterator

from moorage.columns import LabelGroup, NodeInfo, NodeTable, PodInfo, Snapshot
from moorage.columns.counts import CountTables, DomainCounts
from moorage.columns.domains import Topology
from moorage.columns.heldterms import terms_that_bind
from moorage.columns.pods import AffinityClass
from moorage.columns.tallies import Tally
from moorage.columns.verdicts import Codes, RowVerdicts
from moorage.framework.status import Status
from moorage.plugins.inter_pod_affinity.rules import (
    FAR_FROM_AFFINITY,
    NEAR_ANTI_AFFINITY,
    UNWANTED,
    Added,
    KeyRules,
    Rule,
)
from moorage.plugins.inter_pod_affinity.terms import resolve, select
from moorage.values.selector import Labels

_MAX_EFFECTS = 4096


class FilterPlan:
    """The required terms that concern pods that are alike, with the tables they need, by topology key.

    `affinity` counts the pods that meet all required affinity terms at once; `anti_affinity` those that meet a
    required anti-affinity term; `existing` the pods whose own required anti-affinity speaks of the incoming pod.
    Good for as long as no namespace changes.
    """

    def __init__(self, pod: PodInfo, snapshot: Snapshot, tables: CountTables, *, unrolled: bool) -> None:
        terms = pod.terms
        self._nodes = snapshot.nodes
        self._tables = tables
        self._group = pod.label_group
        self._namespace_labels = snapshot.namespace_labels(pod.namespace)
        self._wanted = select(resolve(term, snapshot, unrolled=unrolled) for term in terms.required_affinity)
        self._hated = [
            (term.topology_key, select((resolve(term, snapshot, unrolled=unrolled),)))
            for term in terms.required_anti_affinity
        ]
        self.has_terms = bool(terms.required_affinity or terms.required_anti_affinity)
        self.matches_itself = bool(terms.required_affinity) and self._wanted.matches(pod.label_group)
        self.affinity = self._affinity_tables({term.topology_key for term in terms.required_affinity})
        self.anti_affinity = self._by_key([(key, snapshot.nodes.tallies.selected(one)) for key, one in self._hated])
        self.existing: dict[str, DomainCounts] = {}
        self._held_version = -1
        self._effects: dict[tuple[AffinityClass | None, LabelGroup], tuple[tuple[Rule, str], ...]] = {}
        self._verdicts: RowVerdicts | None = None
        self._rules: list[KeyRules] = []
        self._was_anywhere = False

    def _affinity_tables(self, keys: set[str]) -> dict[str, DomainCounts]:
        if not keys:
            return {}
        wanted = self._nodes.tallies.selected(self._wanted)
        return self._by_key([(key, wanted) for key in keys])

    def _by_key(self, tallies: Iterable[tuple[str, Tally]]) -> dict[str, DomainCounts]:
        sources: dict[str, dict[Tally, int]] = {}
        for key, tally in tallies:
            weights = sources.setdefault(key, {})
            weights[tally] = weights.get(tally, 0) + 1
        return {key: self._tables.table(Topology(key), weights) for key, weights in sources.items()}

    def refresh(self) -> None:
        """Bring everything up to date at the start of a cycle."""
        held = self._nodes.held_terms
        if self._held_version != held.version:
            self._held_version = held.version
            found = held.anti_affinity(self._group.namespace, self._group.labels, self._namespace_labels)
            self.existing = self._by_key([(one.term.topology_key, one) for one in found])
            self._verdicts = None
        for tables in (self.affinity, self.anti_affinity, self.existing):
            for table in tables.values():
                self._tables.use(table)

    @property
    def is_idle(self) -> bool:
        """Whether no node can be refused."""
        return not self.has_terms and not any(table.pods for table in self.existing.values())

    def row_codes(self) -> Codes:
        """The verdict on every row, for tables just brought up to date: the highest rule that is broken."""
        verdicts = self._verdicts
        if verdicts is None or verdicts.topology_version != self._nodes.topology_version:
            self._rules = self._key_rules(())
            verdicts = self._verdicts = RowVerdicts(self._nodes, [one.key for one in self._rules])
        anywhere = self.may_go_anywhere({})
        for layer, rules in enumerate(self._rules):
            changed = rules.changed_domains()
            if changed is None or anywhere != self._was_anywhere:
                verdicts.set(layer, rules.codes(self._nodes.label(rules.key), {}, anywhere=anywhere))
            else:
                for domain in changed:
                    verdicts.change(layer, domain, rules.code_of(domain, anywhere=anywhere))
        self._was_anywhere = anywhere
        return verdicts.codes()

    def dry_row_codes(self, added: Added) -> Codes:
        """The same with what a dry run added."""
        rules = self._key_rules(key for _, key, _ in added)
        verdicts, anywhere = RowVerdicts(self._nodes, [one.key for one in rules]), self.may_go_anywhere(added)
        for layer, one in enumerate(rules):
            verdicts.set(layer, one.codes(self._nodes.label(one.key), added, anywhere=anywhere))
        return verdicts.codes()

    def _key_rules(self, further: Iterable[str]) -> list[KeyRules]:
        tables = (self.affinity, self.anti_affinity, self.existing)
        keys = dict.fromkeys((*self.affinity, *self.anti_affinity, *self.existing, *further))
        return [KeyRules(key, *(by_key.get(key) for by_key in tables)) for key in keys]

    def may_go_anywhere(self, added: Added) -> bool:
        """Whether the pod is the first of a series: it matches its own affinity terms and no other pod does."""
        if not self.matches_itself:
            return False
        pods = sum(table.pods for table in self.affinity.values())
        return pods + sum(delta for (rule, _, _), delta in added.items() if rule is Rule.AFFINITY) == 0

    def effects(self, pod: PodInfo) -> tuple[tuple[Rule, str], ...]:
        """Which counts a pod adds to (rule and topology key) on a node that has the label."""
        like = (pod.affinity_class, pod.label_group)
        known = self._effects.get(like)
        if known is None:
            if len(self._effects) > _MAX_EFFECTS:
                self._effects.clear()
            known = self._effects[like] = tuple(self._effects_of(pod))
        return known

    def _effects_of(self, pod: PodInfo) -> Iterator[tuple[Rule, str]]:
        group = pod.label_group
        if self.affinity and self._wanted.matches(group):
            for key in self.affinity:
                yield Rule.AFFINITY, key
        for key, hated in self._hated:
            if hated.matches(group):
                yield Rule.ANTI_AFFINITY, key
        incoming = self._group
        for term in terms_that_bind(pod).required_anti_affinity:
            if term.matches(incoming.namespace, incoming.labels, self._namespace_labels):
                yield Rule.EXISTING, term.topology_key


class FilterState:
    """What Filter reads in one cycle: the plan, and what dry runs added to it."""

    __slots__ = ("_added", "_nodes", "plan")

    def __init__(self, plan: FilterPlan, nodes: NodeTable, added: Added | None = None) -> None:
        self.plan = plan
        self._nodes = nodes
        self._added: Added = {} if added is None else added

    def clone(self) -> "FilterState":
        """A copy that dry runs may change."""
        return FilterState(self.plan, self._nodes, self._added.copy())

    def row_codes(self) -> Codes:
        """The verdict on every row."""
        return self.plan.dry_row_codes(self._added) if self._added else self.plan.row_codes()

    def verdict(self, labels: Labels) -> Status | None:
        """The verdict on a node with these labels."""
        plan = self.plan
        if plan.affinity and not self._is_near_affinity(labels):
            return FAR_FROM_AFFINITY
        if any(self._count(Rule.ANTI_AFFINITY, key, table, labels) > 0 for key, table in plan.anti_affinity.items()):
            return NEAR_ANTI_AFFINITY
        if any(self._count(Rule.EXISTING, key, table, labels) > 0 for key, table in plan.existing.items()):
            return UNWANTED
        for (rule, key, value), delta in self._added.items():
            if rule is Rule.EXISTING and key not in plan.existing and delta > 0 and labels.get(key) == value:
                return UNWANTED
        return None

    def change(self, pod: PodInfo, node: NodeInfo, delta: int) -> None:
        """A dry run adds a pod to a node, or removes it."""
        for rule, key in self.plan.effects(pod):
            value = node.labels.get(key)
            if value is not None:
                place = (rule, key, value)
                self._added[place] = self._added.get(place, 0) + delta

    def _is_near_affinity(self, labels: Labels) -> bool:
        """Whether the node has every topology key and each of its domains holds a pod that meets all terms."""
        tables = self.plan.affinity
        if not all(key in labels for key in tables):
            return False
        if all(self._count(Rule.AFFINITY, key, table, labels) > 0 for key, table in tables.items()):
            return True
        return self.plan.may_go_anywhere(self._added)

    def _count(self, rule: Rule, key: str, table: DomainCounts, labels: Labels) -> int:
        """The pods in the node's domain; none where it has no such label."""
        value = labels.get(key)
        if value is None:
            return 0
        count = table.count(self._nodes.label(key).find(value))
        return count + self._added.get((rule, key, value), 0) if self._added else count
