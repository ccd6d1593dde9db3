"""The scheduling cycle told top to bottom: prefilter, filter, score, pick, reserve, permit; preemption; diagnosis.

Synchronous and deterministic: no sockets, no clock, no randomness of its own. Start reading at `cycle`.
"""

from moorage.engine.asking import Answers, Question
from moorage.engine.cycle import Cycle
from moorage.engine.decision import Decision
from moorage.engine.engine import Engine, make_engine
from moorage.engine.groups import GroupAnswers, GroupOutcome, GroupQuestion, GroupVerdict, GroupWork
from moorage.engine.outcome import Failure, Placement

__all__ = [
    "Answers",
    "Cycle",
    "Decision",
    "Engine",
    "Failure",
    "GroupAnswers",
    "GroupOutcome",
    "GroupQuestion",
    "GroupVerdict",
    "GroupWork",
    "Placement",
    "Question",
    "make_engine",
]
