"""Numbers given as they are or as a share of another: maxSurge: 25%."""

from math import ceil, floor

from moorage.controllers.objects.workloads import IntOrPercent


def scaled(value: IntOrPercent, total: int, *, round_up: bool) -> int:
    """The number meant. What is neither a number nor a percentage counts as none: the API lets it not through."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not (digits.isascii() and digits.isdigit()):
        return 0
    share = int(digits) * total / 100
    return ceil(share) if round_up else floor(share)
