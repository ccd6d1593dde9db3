"""Which rows a node selector or a pod's tolerations let in, answered for all rows at once."""

from collections.abc import Iterable, Sequence

import numpy as np

from moorage.columns.table import Mask, NodeTable, Rows
from moorage.objects import Toleration
from moorage.values.nodeselector import RequiredNodeAffinity, Term
from moorage.values.selector import Requirement
from moorage.values.taint import first_untolerated


def matching_affinity(nodes: NodeTable, wanted: RequiredNodeAffinity, rows: Rows) -> Mask:
    """Which of `rows` meet nodeSelector and required node affinity."""
    mask = np.ones(len(rows), dtype=bool)
    if wanted.node_selector is not None:
        mask &= _matching_all(nodes, wanted.node_selector.requirements, rows)
    if wanted.affinity is not None:
        mask &= matching_any_term(nodes, wanted.affinity.terms, rows)
    return mask


def matching_any_term(nodes: NodeTable, terms: Iterable[Term], rows: Rows) -> Mask:
    """Which of `rows` meet at least one of the terms."""
    mask = np.zeros(len(rows), dtype=bool)
    for term in terms:
        mask |= matching_term(nodes, term, rows)
    return mask


def matching_term(nodes: NodeTable, term: Term, rows: Rows) -> Mask:
    """Which of `rows` meet every requirement of a term."""
    mask = _matching_all(nodes, term.labels, rows)
    for requirement in term.names:
        named = np.isin(rows, [nodes.row_of.get(name, -1) for name in requirement.values])
        mask &= named if requirement.operator == "In" else ~named
    return mask


def tolerated_rows(nodes: NodeTable, tolerations: Sequence[Toleration], rows: Rows) -> Mask:
    """Which of `rows` have no NoSchedule or NoExecute taint that the tolerations leave out."""
    free = [first_untolerated(taints, tolerations) is None for taints in nodes.taint_sets]
    mask: Mask = np.array(free, dtype=bool)[nodes.taint_set[rows]]
    return mask


def _matching_all(nodes: NodeTable, requirements: Iterable[Requirement], rows: Rows) -> Mask:
    mask = np.ones(len(rows), dtype=bool)
    for requirement in requirements:
        mask &= _matching(nodes, requirement, rows)
    return mask


def _matching(nodes: NodeTable, requirement: Requirement, rows: Rows) -> Mask:
    """Judge each distinct value of the label once; the last entry stands for an absent label (id -1)."""
    column = nodes.label(requirement.key)
    answers = np.array([*map(requirement.accepts, column.values), requirement.accepts(None)], dtype=bool)
    mask: Mask = answers[column.ids[rows]]
    return mask
