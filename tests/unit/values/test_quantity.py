"""Quantities: Kubernetes' own rules, and an exact model."""

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.errors import InputError
from moorage.values.quantity import MAX_INT64, ONE, milli, parse_quantity, whole

FACTORS = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("2", 2),
        ("+2", 2),
        ("-2", -2),
        ("0.5", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("1.5Gi", Fraction(3, 2) * 2**30),
        ("100m", Fraction(1, 10)),
        ("1u", Fraction(1, 10**6)),
        ("1n", Fraction(1, 10**9)),
        ("1k", 1000),
        ("1E", 10**18),
        ("1Ei", 2**60),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e+3", 1000),
        ("1.5e-3", Fraction(3, 2000)),
        ("12e-1", Fraction(12, 10)),
        ("007", 7),
        ("0Ki", 0),
        (3, 3),
        (0.25, Fraction(1, 4)),
        (1e21, 10**21),
    ],
)
def test_read_exactly(text: str | float, value: Fraction | int) -> None:
    assert parse_quantity(text) == value * ONE


GARBAGE = (
    *("", " ", "Ei", "+Pi", "1 Gi", " 1", "1 ", "1Gi ", "1gi", "1K", "1Kb", "1mi", "1e", "1e1.5", "1,5"),
    *("0x10", "1_000", "--1", "1.2.3", "1i", "1GiB", "½", "١", "1\n", "inf", "NaN", "1e3m", "1ee3"),
)


@pytest.mark.parametrize("text", GARBAGE)
def test_garbage_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=re.escape(f'"{text}" is not a quantity')):
        parse_quantity(text)


def test_the_refusal_shows_what_was_expected() -> None:
    with pytest.raises(
        InputError, match=r'^"1 Gi" is not a quantity \(expected a number like 2, 500m, 1.5Gi or 1e3\)$'
    ):
        parse_quantity("1 Gi")


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("0.1n", 1),
        ("1.0000000001", ONE + 1),
        ("1e-30", 1),
        ("1e-999999999999", 1),
        ("-0.1n", -1),
        ("0e999999999999", 0),
    ],
)
def test_finer_than_nano_is_rounded_up_away_from_zero(text: str, nano: int) -> None:
    assert parse_quantity(text) == nano


@pytest.mark.parametrize("text", ["-", "+", ".", "k", "e3", "Gi", ".Ti"])
def test_nothing_but_a_suffix_is_nothing(text: str) -> None:
    assert parse_quantity(text) == 0


@pytest.mark.parametrize("text", ["9223372036854775807", "100Ei", "8Ei"])
def test_powers_of_1024_are_capped_at_the_largest_int64(text: str) -> None:
    assert whole(parse_quantity(text)) == MAX_INT64
    assert whole(parse_quantity(f"-{text}")) == -MAX_INT64


@pytest.mark.parametrize(
    ("text", "as_whole", "as_milli", "with_a_hundred"),
    [
        ("12E", 0, 0, -6446744073709551516),
        ("1e19", 0, 0, -8446744073709551516),
        ("1e30", 0, 0, 5076944270305263716),
        ("1e+21", 0, 0, 3875820019684212836),
        ("0.5E", 500000000000000000, 0, 500000000000000100),
        ("10Pi", 11258999068426240, -7187745005283311616, 11258999068426340),
        ("100000000000000000000", 7766279631452241920, 200376420520689664, 7766279631452242020),
        ("9223372036854775808", -9223372036854775808, 0, -9223372036854775708),
        ("999999999999999999", 999999999999999999, 3875820019684211736, 1000000000000000099),
    ],
)
def test_too_much_is_read_as_go_reads_it(text: str, as_whole: int, as_milli: int, with_a_hundred: int) -> None:
    """As Value and MilliValue of apimachinery v0.37.1 give them, and Value after adding 100."""
    nano = parse_quantity(text)
    assert (whole(nano), milli(nano), whole(nano + 100 * ONE)) == (as_whole, as_milli, with_a_hundred)
    assert whole(nano + 0) == whole(0 + nano) == as_whole


@pytest.mark.parametrize(
    ("text", "as_whole", "as_milli"),
    [
        ("1", 1, 1000),
        ("100m", 1, 100),
        ("1500m", 2, 1500),
        ("1u", 1, 1),
        ("0", 0, 0),
        ("0.0005", 1, 1),
        ("1.1Ki", 1127, 1126400),
    ],
)
def test_whole_and_milli_round_up(text: str, as_whole: int, as_milli: int) -> None:
    nano = parse_quantity(text)
    assert (whole(nano), milli(nano)) == (as_whole, as_milli)


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [
        ("9223372036854775807", -1000),
        ("9223372036854775", 9223372036854775000),
        ("9223372036854776", -9223372036854775616),
        ("7Ei", -(2**63)),
    ],
)
def test_thousandths_wrap_as_an_int64_does(text: str, thousandths: int) -> None:
    """As Quantity.MilliValue of apimachinery v0.36.4 gives them."""
    assert milli(parse_quantity(text)) == thousandths


digits = st.text("0123456789", max_size=12)
suffixes = (
    st.sampled_from(sorted(FACTORS)) | st.integers(-30, 30).map("e{}".format) | st.integers(0, 30).map("E{}".format)
)


@given(st.sampled_from(["", "+", "-"]), digits, st.none() | digits, suffixes)
def test_against_an_exact_model(sign: str, integer: str, part: str | None, suffix: str) -> None:
    text = sign + integer + ("" if part is None else f".{part}") + suffix
    if not integer and not part:
        return
    factor = FACTORS[suffix] if suffix in FACTORS else Fraction(10) ** int(suffix[1:])
    number = Fraction(int(integer or "0")) + (Fraction(int(part), 10 ** len(part)) if part else 0)
    nano = math.ceil(number * factor * ONE)
    if suffix.endswith("i"):
        nano = min(nano, MAX_INT64 * ONE)
    assert parse_quantity(text) == (-nano if sign == "-" else nano)


@given(st.integers(0, MAX_INT64 * ONE))
def test_rounding_against_an_exact_model(nano: int) -> None:
    assert whole(nano) == math.ceil(Fraction(nano, ONE))
    thousandths = math.ceil(Fraction(nano * 1000, ONE))
    assert -(2**63) <= milli(nano) <= MAX_INT64
    assert (milli(nano) - thousandths) % 2**64 == 0


@given(st.text(max_size=8))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert isinstance(parse_quantity(text), int)
    except InputError:
        assert not re.fullmatch(r"[0-9]+", text, re.ASCII)
