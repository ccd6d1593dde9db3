"""What a plugin may answer at the points of placing a group, and what a wrong answer becomes: see `answers`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from moorage.columns import PodInfo, Rows
from moorage.framework.answers import unfit, wrong
from moorage.framework.grouping import Domain, PodGroupPostFilterAnswer
from moorage.framework.status import Status


def feasible_verdict(name: str, plugin: Any, answer: Any) -> Status | None:
    """Whether the group is whole, as `plugin`, called `name`, says."""
    if answer is None or isinstance(answer, Status):
        return answer
    raise unfit(name, plugin, "PlacementFeasible", answer, "Status or None")


def placements(name: str, plugin: Any, answer: Any, rows: Rows) -> Sequence[Domain] | Status:
    """The places where the group may lie, all of them within `rows`."""
    if isinstance(answer, Status):
        return answer.by(name)
    if not isinstance(answer, list | tuple):
        raise unfit(name, plugin, "PlacementGenerate", answer, "a list of Domain or Status")
    for one in answer:
        if not isinstance(one, Domain) or not isinstance(one.name, str) or not _are_among(one.rows, rows):
            problem = f"answered {one!r}; expected a Domain of a name and some of the rows it was asked about"
            raise wrong(name, plugin, "PlacementGenerate", problem)
    return answer


def placement_score(name: str, plugin: Any, answer: Any) -> int:
    """How good a place is."""
    if isinstance(answer, bool) or not isinstance(answer, int | np.integer):
        raise unfit(name, plugin, "PlacementScore", answer, "an integer")
    return int(answer)


def normal_placement_scores(name: str, plugin: Any, answer: Any, scores: Sequence[int]) -> Sequence[int] | Status:
    """How good the places are that had `scores`, all of them."""
    if isinstance(answer, Status):
        return answer
    point = "NormalizePlacementScore"
    if not isinstance(answer, list | tuple | np.ndarray):
        raise unfit(name, plugin, point, answer, "a list of integers or Status")
    found = [placement_score(name, plugin, one) for one in answer]
    if len(found) != len(scores):
        raise wrong(name, plugin, point, f"answered {len(found)} scores for {len(scores)} places")
    return found


def group_room_verdict(name: str, plugin: Any, answer: Any) -> PodGroupPostFilterAnswer:
    """What is said after a group fitted nowhere, found whole."""
    point = "PodGroupPostFilter"
    if not isinstance(answer, PodGroupPostFilterAnswer):
        raise unfit(name, plugin, point, answer, "PodGroupPostFilterAnswer")
    if not isinstance(answer.status, Status):
        raise wrong(name, plugin, point, f"answered the status {answer.status!r}; expected Status")
    if not _is_map_of_names(answer.nominations):
        raise wrong(name, plugin, point, f"answered nominations={answer.nominations!r}; expected nodes by uid")
    if not _are_all(answer.victims, PodInfo):
        raise wrong(name, plugin, point, f"answered victims={answer.victims!r}; expected pods")
    if not isinstance(answer.effects, list | tuple) or not all(map(callable, answer.effects)):
        raise wrong(name, plugin, point, f"answered effects={answer.effects!r}; expected functions")
    return answer


def _are_among(said: Any, rows: Rows) -> bool:
    return said is rows or (isinstance(said, np.ndarray) and said.dtype.kind == "i" and bool(np.isin(said, rows).all()))


def _is_map_of_names(said: Any) -> bool:
    return isinstance(said, Mapping) and all(isinstance(text, str) for pair in said.items() for text in pair)


def _are_all(said: Any, kind: type) -> bool:
    return isinstance(said, list | tuple) and all(isinstance(one, kind) for one in said)
