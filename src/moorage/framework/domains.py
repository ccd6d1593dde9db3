"""The domains of a topology: nodes by the value of one of their labels."""

from collections.abc import Iterable

import numpy as np

from moorage.columns import GroupInfo, PodInfo, Rows, Snapshot
from moorage.framework.grouping import Domain
from moorage.framework.status import Status, error


def domains_by(snapshot: Snapshot, key: str, rows: Rows) -> list[Domain]:
    """A domain for each value of the label among these rows, by name. Nodes without it are in none."""
    found: dict[str, list[int]] = {}
    for row in rows.tolist():
        value = snapshot.nodes[row].labels.get(key)
        if value is not None:
            found.setdefault(value, []).append(row)
    return [Domain(value, np.array(found[value], dtype=np.intp)) for value in sorted(found)]


def domains_for(snapshot: Snapshot, group: GroupInfo, key: str, rows: Rows) -> list[Domain] | Status:
    """The same for a group: members that are scheduled already fix the value. An ERROR where they lie in several."""
    groups = snapshot.groups
    scheduled = [pod for leaf in groups.leaves(group.path) for pod in groups.members(leaf.path).scheduled.values()]
    fixed = _domain_of(snapshot, key, scheduled)
    if isinstance(fixed, Status):
        return fixed
    return [domain for domain in domains_by(snapshot, key, rows) if fixed in (None, domain.name)]


def _domain_of(snapshot: Snapshot, key: str, pods: Iterable[PodInfo]) -> str | Status | None:
    """The one value that these pods lie in; None where there are none."""
    domain: str | None = None
    for pod in pods:
        node = snapshot.nodes.get(pod.spec.node_name)
        value = node.labels.get(key) if node is not None else None
        if value is None:
            return _undecided(f"no topology domain found for pod {pod.key}")
        if domain is not None and value != domain:
            return _undecided(f"more than 1 domain found for pod group: {domain}, {value}")
        domain = value
    return domain


def _undecided(problem: str) -> Status:
    return error(f"cannot determine domain for already scheduled pods: {problem}")
