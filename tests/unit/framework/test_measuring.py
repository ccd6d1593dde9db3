"""What plugins count and measure."""

from types import MappingProxyType
from typing import Any

import pytest

from moorage.errors import InputError
from moorage.framework import PluginCounter
from moorage.framework.measuring import counters_of, read_counter


def counter(values: Any, name: str = "ships_total") -> PluginCounter:
    return PluginCounter(name, "Ships.", ("harbor",), values)


def test_a_counter_is_read() -> None:
    assert read_counter(counter(MappingProxyType({("Kiel",): 3}))) == {("Kiel",): 3.0}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"Kiel": 3}, "counts by 'Kiel': expected a tuple of 1 texts"),
        ({("Kiel", "Bremen"): 3}, "expected a tuple of 1 texts"),
        ({(7,): 3}, "expected a tuple of 1 texts"),
        ({("Kiel",): "three"}, "counts 'three' by"),
        (7, "not iterable"),
    ],
)
def test_a_counter_that_cannot_be_read(values: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        read_counter(counter(values))


def test_a_name_that_no_metric_can_have() -> None:
    class Mine:
        def counters(self) -> list[PluginCounter]:
            return [counter({}, "ships total")]

    with pytest.raises(InputError, match=r"counters answered the name 'ships total': .* \(at framework/test_measuring"):
        counters_of("Mine", Mine())
