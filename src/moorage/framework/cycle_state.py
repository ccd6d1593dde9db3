"""What plugins remember within one scheduling cycle."""

from typing import Any


class CycleState:
    """A plugin writes under its own key at PreFilter or PreScore and reads at the later points.

    Reads fall through to `base`: what plugins wrote once for the pod's class. Values that add_pod / remove_pod change
    have a `clone` method; others are shared between clones and must not be changed.
    """

    __slots__ = ("_base", "_values", "skipped_filters", "skipped_scores")

    def __init__(self, base: "CycleState | None" = None) -> None:
        self._values: dict[str, Any] = {}
        self._base = base
        #: Plugins whose Filter (with add_pod and remove_pod) or Score is left out of this cycle.
        self.skipped_filters: frozenset[str] = frozenset()
        self.skipped_scores: frozenset[str] = frozenset()

    def write(self, key: str, value: Any) -> None:
        """Remember a value."""
        self._values[key] = value

    def read(self, key: str) -> Any:
        """The value under a key. Raises KeyError if nothing was written."""
        if key in self._values:
            return self._values[key]
        if self._base is not None:
            return self._base.read(key)
        raise KeyError(f"nothing was written under {key!r} in this cycle")

    def get(self, key: str) -> Any | None:
        """The value under a key, or None."""
        if key in self._values:
            return self._values[key]
        return self._base.get(key) if self._base is not None else None

    def clone(self) -> "CycleState":
        """A state for a dry run."""
        twin = CycleState(self._base)
        twin.skipped_filters = self.skipped_filters
        twin.skipped_scores = self.skipped_scores
        twin._values = {key: value.clone() if hasattr(value, "clone") else value for key, value in self._values.items()}
        return twin
