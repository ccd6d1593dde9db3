"""Scores nodes by their size: the smallest first, so that big ones stay free for big pods, or the biggest first."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from moorage.framework import MAX_SCORE, CycleState, InputError, NodeInfo, NodeTable, PodInfo, Rows, Scope, Scores


@dataclass(frozen=True)
class AllocatableArgs:
    """What the configuration may say, checked by `moorage config validate`."""

    mode: Literal["Least", "Most"] = "Least"
    #: What a unit of each resource counts: of cpu a thousandth is one, of memory a byte.
    resources: Mapping[str, int] = field(default_factory=lambda: {"cpu": 1 << 20, "memory": 1})

    def __post_init__(self) -> None:
        for name, weight in self.resources.items():
            if weight < 1:
                raise InputError(f"expected a weight above 0, got {weight}", where=f"resources.{name}")


class Allocatable:
    """Score by what nodes offer, whoever is on them. Its verdict on a node stands until the node itself changes."""

    args_type: ClassVar = AllocatableArgs
    score_scope: ClassVar = Scope.NODE
    default_weight: ClassVar = 2

    def __init__(self, args: AllocatableArgs) -> None:
        sign = -1 if args.mode == "Least" else 1
        self.weights = {name: sign * weight for name, weight in args.resources.items()}

    def score(self, _state: CycleState, _pod: PodInfo, node: NodeInfo) -> int:
        """The weighted sum of what the node offers; `normalize_scores` makes it a score."""
        return sum(weight * node.allocatable.get(name, 0) for name, weight in self.weights.items())

    def score_nodes(self, _state: CycleState, _pod: PodInfo, nodes: NodeTable, rows: Rows) -> Scores:
        """The same for many nodes at once."""
        total = np.zeros(len(rows), dtype=np.int64)
        for name, weight in self.weights.items():
            total += weight * nodes.allocatable(name)[rows]
        return total

    def normalize_scores(self, _state: CycleState, _pod: PodInfo, scores: Scores, _rows: Rows) -> Scores:
        """The range from the worst to the best, stretched over 0..100."""
        low, high = int(scores.min()), int(scores.max())
        if low == high:
            return np.zeros_like(scores)
        return (scores - low) * MAX_SCORE // (high - low)
