"""Whatever is dumped is read back the same, by us and by the rules of Kubernetes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moorage.values import yaml
from moorage.values.duration import Duration

TRICKY = st.sampled_from(
    ["y", "No", "~", "", "0o7", "010", "1e3", "1_0", ".5", "-", "12:30", "<<", "=", "a: b", "#x", "x\n"]
)
TEXT = st.one_of(TRICKY, st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
)
TREES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner), st.dictionaries(TEXT, inner)), max_leaves=12
)


@given(TREES)
def test_dump_then_load(tree: Any) -> None:
    assert yaml.load(yaml.dump({"tree": tree}), strict=True) == {"tree": tree}


@given(st.integers(-(2**63), 2**63 - 1))
def test_durations(nanoseconds: int) -> None:
    duration = Duration(nanoseconds)
    assert Duration.parse(str(duration)) == duration
