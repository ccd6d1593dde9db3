"""The rules that can keep a pod off a node, and what they say about the domains of one topology key."""

import enum

import numpy as np
from numpy.typing import NDArray

from moorage.columns.counts import DomainCounts
from moorage.columns.labels import ABSENT, LabelColumn
from moorage.columns.verdicts import Codes
from moorage.framework.status import unresolvable, unschedulable

FAR_FROM_AFFINITY = unresolvable("node(s) didn't match pod affinity rules")
NEAR_ANTI_AFFINITY = unschedulable("node(s) didn't match pod anti-affinity rules")
UNWANTED = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")


class Rule(enum.IntEnum):
    """What can keep the pod off a node. Where several do, the highest is told."""

    EXISTING = 1
    ANTI_AFFINITY = 2
    AFFINITY = 3


#: Verdict codes are the rules, that is 1 + the index here.
STATUSES = (UNWANTED, NEAR_ANTI_AFFINITY, FAR_FROM_AFFINITY)

#: What dry runs added: rule, topology key, value of the label -> pods.
Added = dict[tuple[Rule, str, str], int]


class KeyRules:
    """The counts that the rules read for one topology key; None where a rule does not concern it."""

    __slots__ = ("_seen", "_tables", "affinity", "anti_affinity", "existing", "key")

    def __init__(
        self,
        key: str,
        affinity: DomainCounts | None = None,
        anti_affinity: DomainCounts | None = None,
        existing: DomainCounts | None = None,
    ) -> None:
        self.key = key
        self.affinity = affinity
        self.anti_affinity = anti_affinity
        self.existing = existing
        self._tables = [table for table in (affinity, anti_affinity, existing) if table is not None]
        self._seen = [-1] * len(self._tables)

    def changed_domains(self) -> list[int] | None:
        """The domains whose counts changed since this was last asked, None where that is not known."""
        now = [table.revision for table in self._tables]
        if now == self._seen:
            return []
        changed: list[int] | None = []
        for table, revision in zip(self._tables, self._seen, strict=True):
            since = table.changed_since(revision)
            changed = None if since is None or changed is None else changed + since
        self._seen = now
        return changed

    def code_of(self, domain: int, *, anywhere: bool) -> int:
        """The highest rule that a domain breaks, 0 if none. `anywhere`: the affinity terms demand only the label."""
        if self.affinity is not None and not anywhere and self.affinity.count(domain) <= 0:
            return Rule.AFFINITY.value  # a plain number: arrays are slow to compare with members of an enumeration
        if self.anti_affinity is not None and self.anti_affinity.count(domain) > 0:
            return Rule.ANTI_AFFINITY.value
        return Rule.EXISTING.value if self.existing is not None and self.existing.count(domain) > 0 else 0

    def codes(self, column: LabelColumn, added: Added, *, anywhere: bool) -> Codes:
        """The same for every domain and, last, for rows without the label."""
        codes: Codes = np.zeros(len(column.values) + 1, dtype=np.int16)
        for rule, table in ((Rule.EXISTING, self.existing), (Rule.ANTI_AFFINITY, self.anti_affinity)):
            if table is not None or added:
                near = self._counts(rule, table, column, added) > 0
                np.maximum(codes, near * np.int16(rule), out=codes)
        if self.affinity is not None:
            if not anywhere:
                far = self._counts(Rule.AFFINITY, self.affinity, column, added) <= 0
                np.maximum(codes, far * np.int16(Rule.AFFINITY), out=codes)
            codes[-1] = Rule.AFFINITY
        return codes

    def _counts(self, rule: Rule, table: DomainCounts | None, column: LabelColumn, added: Added) -> NDArray[np.int64]:
        counts = np.zeros(len(column.values) + 1, dtype=np.int64) if table is None else table.counts
        if added:
            counts = counts.copy()
            for (changed, key, value), delta in added.items():
                domain = column.find(value)
                if changed is rule and key == self.key and domain != ABSENT:
                    counts[domain] += delta
        return counts
