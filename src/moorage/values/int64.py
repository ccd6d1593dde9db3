"""Integers as Go has them: 64 bits, and sums that leave the range come back in at the other end."""

from typing import Final

LOWEST: Final = -(2**63)
HIGHEST: Final = 2**63 - 1


def wrapped(number: int) -> int:
    """The number that is left of it in 64 bits."""
    return number if LOWEST <= number <= HIGHEST else (number - LOWEST) % 2**64 + LOWEST
