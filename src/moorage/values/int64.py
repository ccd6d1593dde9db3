"""Integers as Go has them: 64 bits, and sums that leave the range come back in at the other end."""

from typing import Final

LOWEST: Final = -(2**63)
HIGHEST: Final = 2**63 - 1

SANE: Final = 2**55
"""Amounts up to this can be added and scaled as scores need it without leaving the range. Nobody has 36 petabytes."""


def divided(number: int, by: int) -> int:
    """The quotient, cut off toward zero as Go has it; Python's own rounds down."""
    return number // by if (number < 0) == (by < 0) else -(-number // by)


def truncated(number: float) -> int:
    """The whole part; beyond 64 bits the lowest number, as on the machines kube-scheduler runs on."""
    whole = int(number)
    return whole if LOWEST <= whole <= HIGHEST else LOWEST


def wrapped(number: int) -> int:
    """The number that is left of it in 64 bits."""
    return number if LOWEST <= number <= HIGHEST else (number - LOWEST) % 2**64 + LOWEST
