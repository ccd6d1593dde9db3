"""No module imports, over others, itself: not even for its annotations, behind TYPE_CHECKING."""

from collections.abc import Mapping, Set
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


def _first_cycle(imports: Mapping[str, Set[str]]) -> list[str]:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_modules_import_each_other_one_way() -> None:
    graph = grimp.build_graph("moorage")
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 500
    assert _first_cycle(imports) == []


@pytest.mark.parametrize(("imports", "is_found"), [({"a": {"b"}, "b": {"a"}}, True), ({"a": {"b"}, "b": set()}, False)])
def test_a_cycle_would_be_found(imports: Mapping[str, Set[str]], is_found: bool) -> None:
    assert bool(_first_cycle(imports)) is is_found
