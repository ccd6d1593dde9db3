"""Verdicts on rows that follow from the domains they lie in, brought up to date by domain."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.columns.table import NodeTable

Codes = NDArray[np.int16]

#: A domain with more rows than this is not worth going through by itself.
_FEW_ROWS = 64


class RowVerdicts:
    """The highest of several codes for each row. Each layer is a label key: rows alike in its value share a code.

    Good for one version of the topology.
    """

    def __init__(self, nodes: NodeTable, keys: Sequence[str]) -> None:
        self.topology_version = nodes.topology_version
        rows = len(nodes.infos)
        self._columns = [nodes.label(key) for key in keys]
        self._ids = [column.ids[:rows] for column in self._columns]
        self._by_domain: list[Codes] = [np.zeros(len(column.values) + 1, dtype=np.int16) for column in self._columns]
        self._by_row: list[Codes] = [np.zeros(rows, dtype=np.int16) for _ in keys]
        self._codes: Codes = np.zeros(rows, dtype=np.int16)
        self._is_settled = True

    def set(self, layer: int, by_domain: Codes) -> None:
        """Take over the codes of a whole layer by domain id; the last is for rows without the label."""
        self._by_domain[layer] = by_domain
        self._by_row[layer] = by_domain.take(self._ids[layer])
        self._is_settled = False

    def change(self, layer: int, domain: int, code: int) -> None:
        """Take over the code of one domain."""
        by_domain = self._by_domain[layer]
        if by_domain[domain] == code:
            return
        by_domain[domain] = code
        rows = self._columns[layer].rows_with(domain)
        if len(rows) > _FEW_ROWS:
            self.set(layer, by_domain)
            return
        self._by_row[layer][rows] = code
        if self._is_settled:
            for row in rows.tolist():
                self._codes[row] = max([by_row.item(row) for by_row in self._by_row])

    def codes(self) -> Codes:
        """The highest code of each row. Do not change it."""
        if not self._is_settled:
            self._is_settled = True
            first, *others = self._by_row
            self._codes = first.copy() if others else first
            for by_row in others:
                np.maximum(self._codes, by_row, out=self._codes)
        return self._codes
