"""Label conditions over many rows of the node table at once.

Each function answers with one truth value for each of `rows`, the same that the condition's own `matches` would give
for the row's labels.
"""

from collections.abc import Iterable, Set

import numpy as np
from numpy.typing import NDArray

from moorage.columns import NodeTable, Rows
from moorage.columns.labels import ABSENT, LabelColumn
from moorage.values.selector import Requirement

RowMask = NDArray[np.bool_]


def rows_with_value(nodes: NodeTable, rows: Rows, key: str, values: Set[str]) -> RowMask:
    """Where the label is one of `values`."""
    column = nodes.label(key)
    mask: RowMask = _accepted(column, values)[column.ids[rows]]
    return mask


def rows_meeting(nodes: NodeTable, rows: Rows, requirement: Requirement) -> RowMask:
    """Where one requirement holds."""
    column = nodes.label(requirement.key)
    ids = column.ids[rows]
    match requirement.operator:
        case "In":
            mask: RowMask = _accepted(column, requirement.values)[ids]
        case "NotIn":
            mask = ~_accepted(column, requirement.values)[ids]
        case "Exists":
            mask = ids != ABSENT
        case "DoesNotExist":
            mask = ids == ABSENT
        case _:
            accepted = [requirement.accepts(value) for value in column.values]
            mask = np.array([*accepted, requirement.accepts(None)], dtype=bool)[ids]
    return mask


def rows_meeting_any(nodes: NodeTable, rows: Rows, alternatives: Iterable[tuple[Requirement, ...]]) -> RowMask:
    """Where all requirements of at least one alternative hold.

    Alternatives that ask for one label's value alone are taken together by label: thousands of them, one for each
    node, cost no more than a few.
    """
    mask: RowMask = np.zeros(len(rows), dtype=bool)
    values_of: dict[str, set[str]] = {}
    for alternative in alternatives:
        if len(alternative) == 1 and alternative[0].operator == "In":
            values_of.setdefault(alternative[0].key, set()).update(alternative[0].values)
            continue
        met: RowMask = np.ones(len(rows), dtype=bool)
        for requirement in alternative:
            met &= rows_meeting(nodes, rows, requirement)
        mask |= met
    for key, values in values_of.items():
        mask |= rows_with_value(nodes, rows, key, values)
    return mask


def _accepted(column: LabelColumn, values: Set[str]) -> RowMask:
    """By value id, whether the value is wanted; the last entry, which ABSENT indexes, never is."""
    accepted: RowMask = np.zeros(len(column.values) + 1, dtype=bool)
    for value in values:
        known = column.find(value)
        if known != ABSENT:
            accepted[known] = True
    return accepted
