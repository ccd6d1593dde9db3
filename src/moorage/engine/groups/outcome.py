"""How an attempt at a group ends: what becomes of each member, and what is said of the group."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from moorage.columns import GroupInfo, PodInfo
from moorage.engine.asking import Answer, Answers, Question
from moorage.engine.outcome import Failure, Placement
from moorage.framework.points import Nomination
from moorage.framework.status import Code, Status

UNSCHEDULABLE: Final = "pod group is unschedulable"
"""Leads the words of a group that was refused as a whole, and stands for all of them where they are quoted."""

_MASK: Final = (1 << 64) - 1
_STEP: Final = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class GroupWork:
    """What is to be placed: a group or a tree of groups, with the pods of each that have no node, in order."""

    root: GroupInfo
    #: By the path of their group.
    members: Mapping[str, Sequence[PodInfo]]

    @property
    def pods(self) -> list[PodInfo]:
        """All of them."""
        return [pod for members in self.members.values() for pod in members]


@dataclass(frozen=True, slots=True)
class GroupAnswers:
    """What belongs to one attempt at a group; see engine.asking.Answers."""

    seed: int = 0
    start: int = 0
    #: By where the member is tried, and its uid.
    given: Mapping[tuple[str, str], Answers] = field(default_factory=dict)
    may_ask: bool = True

    def of(self, where: str, uid: str, place: int, start: int) -> Answers:
        """Those of one member, the `place`-th that is tried."""
        known = self.given.get((where, uid))
        return known or Answers((self.seed + place * _STEP) & _MASK, start, may_ask=self.may_ask)

    def answered(self, asked: "GroupQuestion", answer: Answer) -> "GroupAnswers":
        """These answers and one more."""
        known = asked.answers.answered(asked.question, answer)
        return replace(self, given={**self.given, (asked.where, asked.question.pod.uid): known})


@dataclass(frozen=True, slots=True)
class GroupQuestion:
    """What has to be asked about a member before the group can be decided."""

    where: str
    answers: Answers
    question: Question


@dataclass(slots=True, eq=False)
class GroupResult:
    """What trying one group came to."""

    group: GroupInfo
    #: None where it was placed.
    status: Status | None = None
    #: Of the members that were tried, in their order.
    outcomes: list[Placement | Failure] = field(default_factory=list)
    has_placed: bool = False
    is_waiting: bool = False
    #: How many members would fit, where more is known than was tried.
    fitting: int | None = None
    #: The domain that it was tried in last.
    domain: str = ""

    @property
    def placements(self) -> list[Placement]:
        """The members that found a node."""
        return [one for one in self.outcomes if isinstance(one, Placement)]


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """What the condition of a group says; `status` None where it was placed."""

    group: GroupInfo
    status: Status | None

    @property
    def message(self) -> str:
        """The words of the condition."""
        return "" if self.status is None else self.status.message


@dataclass(frozen=True, slots=True)
class Blocking:
    """The member that a group did not get past."""

    pod: PodInfo
    #: Its own words.
    message: str
    #: How many of how many members would fit, and how many are needed.
    fitting: int
    members: int
    wanted: int
    #: The domain of the topology in which it got stuck, "" where there is none.
    domain: str = ""

    @property
    def text(self) -> str:
        """All of it in a line."""
        message = self.message if self.message.endswith(".") else f"{self.message}."
        needed = f", {self.wanted} are needed" if self.wanted != self.members else ""
        where = f" in domain {self.domain}" if self.domain else ""
        return (
            f"pod {self.pod.key} blocks its group{where}: {message} {self.fitting} of {self.members} would fit{needed}"
        )


@dataclass(slots=True, eq=False)
class GroupOutcome:
    """An attempt at a group."""

    root: GroupInfo
    #: What the queue goes by: None where the group was placed.
    status: Status | None
    #: What becomes of each member: a place to be taken now, or why not.
    members: list[Placement | Failure]
    verdicts: list[GroupVerdict]
    #: What was tried, in order; where there are domains, in each.
    attempts: list[Placement | Failure] = field(default_factory=list)
    domains: dict[str, list[Placement | Failure]] | None = None
    #: Room is being made: for pods, each by itself, or (None) for the group, and who has to go.
    evictions: list[tuple[PodInfo | None, Nomination]] = field(default_factory=list)
    effects: list[Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=list)
    is_waiting: bool = False
    next_start: int | None = None
    #: Where it was refused: who stands in the way, and what was said of making room.
    blocking: Blocking | None = None
    room_message: str = ""
    #: The members that were left where they were placed, reserved, as they are counted; by uid.
    assumed: Mapping[str, PodInfo] = field(default_factory=dict)
    #: The members (uid) that are refused for the sake of others.
    bystanders: frozenset[str] = frozenset()

    @property
    def is_error(self) -> bool:
        """Whether it broke."""
        return any(one.status is not None and one.status.code is Code.ERROR for one in self.verdicts)


def refused(*reasons: str) -> Status:
    """The group as a whole does not fit."""
    return Status(Code.UNSCHEDULABLE, (UNSCHEDULABLE, *reasons))


def quoted(status: Status) -> str:
    """The status in the words of another."""
    return UNSCHEDULABLE if status.reasons[:1] == (UNSCHEDULABLE,) else status.message


def appended(status: Status, reason: str) -> Status:
    """The status with one more reason."""
    return replace(status, reasons=(*status.reasons, reason))


def blocking_of(
    group: GroupInfo,
    outcomes: Sequence[Placement | Failure],
    members: int,
    scheduled: int,
    fitting: int | None = None,
    domain: str = "",
) -> Blocking | None:
    """The first member that found no node."""
    failed = next((one for one in outcomes if isinstance(one, Failure)), None)
    if failed is None:
        return None
    if fitting is None:
        fitting = sum(isinstance(one, Placement) for one in outcomes)
    wanted = members if group.min_count is None else max(0, group.min_count - scheduled)
    return Blocking(failed.pod, failed.full_message, fitting, members, wanted, domain)
