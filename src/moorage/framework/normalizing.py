"""Score normalisation by the highest score: the way most plugins do it."""

from typing import Any

import numpy as np

from moorage.columns import Rows
from moorage.framework.points import MAX_SCORE, Scores


class NormalizeByMax:
    """Scales scores to 0..100 by the highest; `reverse` makes small ones good.

    Assigned to `normalize_scores` in a plugin's class. The runner knows it and normalises anew only when the highest
    score among the feasible nodes has changed.
    """

    def __init__(self, *, reverse: bool = False) -> None:
        self.reverse = reverse

    def __call__(self, _state: Any, _pod: Any, scores: Scores, _rows: Rows) -> Scores:
        """Normalise as an ordinary NormalizeScore would."""
        return self.scale(scores, int(scores.max()) if len(scores) else 0)

    def scale(self, scores: Scores, highest: int) -> Scores:
        """The scores scaled by a highest score that is known."""
        if highest == 0:
            return np.full_like(scores, MAX_SCORE) if self.reverse else scores
        scaled = scores * MAX_SCORE // highest
        return MAX_SCORE - scaled if self.reverse else scaled

    def scale_one(self, score: int, highest: int) -> int:
        """The same for one score."""
        if highest == 0:
            return MAX_SCORE if self.reverse else score
        scaled = score * MAX_SCORE // highest
        return MAX_SCORE - scaled if self.reverse else scaled
