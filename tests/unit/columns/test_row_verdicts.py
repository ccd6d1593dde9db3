"""Verdicts on rows by domain."""

import numpy as np

from moorage.columns import Snapshot
from moorage.columns.verdicts import Codes, RowVerdicts
from moorage.testing import HOSTNAME, ZONE, a_node


def codes(*values: int) -> Codes:
    return np.array(values, dtype=np.int16)


def cluster(nodes: int = 3) -> Snapshot:
    """Nodes in zone a, all but the last, which has no zone."""
    made = [a_node(f"n{index}").zone("a") for index in range(nodes - 1)]
    snapshot = Snapshot.of(node.build() for node in (*made, a_node(f"n{nodes - 1}")))
    for key in (HOSTNAME, ZONE):
        snapshot.nodes.label(key)
    return snapshot


def test_the_highest_code_of_all_layers_counts() -> None:
    verdicts = RowVerdicts(cluster().nodes, [HOSTNAME, ZONE])
    verdicts.set(0, codes(1, 3, 0, 0))
    verdicts.set(1, codes(2, 4))
    assert verdicts.codes().tolist() == [2, 3, 4]


def test_one_domain_may_change() -> None:
    verdicts = RowVerdicts(cluster().nodes, [HOSTNAME, ZONE])
    verdicts.set(1, codes(2, 0))
    assert verdicts.codes().tolist() == [2, 2, 0]
    verdicts.change(0, 1, 5)
    verdicts.change(0, 2, 1)
    assert verdicts.codes().tolist() == [2, 5, 1]
    verdicts.change(1, 0, 0)
    verdicts.change(0, 1, 0)
    assert verdicts.codes().tolist() == [0, 0, 1]


def test_changes_before_the_codes_were_asked_for_count() -> None:
    verdicts = RowVerdicts(cluster().nodes, [HOSTNAME, ZONE])
    verdicts.set(1, codes(2, 0))
    verdicts.change(0, 0, 5)
    assert verdicts.codes().tolist() == [5, 2, 0]


def test_large_domains() -> None:
    verdicts = RowVerdicts(cluster(200).nodes, [HOSTNAME, ZONE])
    verdicts.change(1, 0, 3)
    verdicts.change(0, 7, 4)
    assert verdicts.codes().tolist() == [3] * 7 + [4] + [3] * 191 + [0]


def test_rows_are_found_by_the_value_of_their_label() -> None:
    snapshot = cluster()
    column = snapshot.nodes.label(ZONE)
    assert column.rows_with(column.find("a")).tolist() == [0, 1]
    snapshot.add(a_node("n2").zone("a").build())
    snapshot.add(a_node("n0").zone("b").build())
    assert column.rows_with(column.find("a")).tolist() == [1, 2]
    assert column.rows_with(column.find("b")).tolist() == [0]
