"""Semantic versions, as strict as Kubernetes reads them."""

import re
from functools import total_ordering
from typing import Any

_STRICT = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-((?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?"
)


@total_ordering
class Semver:
    """A version. Equal are those of the same precedence: build metadata does not count."""

    __slots__ = ("_order", "major", "minor", "patch")

    def __init__(self, major: int, minor: int, patch: int, before: tuple[str, ...]) -> None:
        self.major, self.minor, self.patch = major, minor, patch
        # A version with a pre-release comes before the one without; numbers come before words.
        ranks = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in before)
        self._order: Any = (major, minor, patch, not before, ranks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and bool(self._order == other._order)

    def __lt__(self, other: "Semver") -> bool:
        return bool(self._order < other._order)

    def __hash__(self) -> int:
        return hash(self._order)


def parse(text: str) -> Semver | None:
    """The version, None for anything else."""
    match = _STRICT.fullmatch(text)
    if match is None or any(int(part) >= 2**64 for part in match.group(1, 2, 3)):
        return None
    before = match[4]
    return Semver(int(match[1]), int(match[2]), int(match[3]), tuple(before.split(".")) if before else ())


def parse_normalized(text: str) -> Semver | None:
    """The same for a version with a leading v, missing parts or leading zeros."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and re.search(r"[+-]", parts[-1]):
        return None
    return parse(".".join([*parts, "0", "0"][: max(3, len(parts))]))


def _without_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    bare = part.lstrip("0")
    return bare if bare[:1].isdigit() else f"0{bare}"
