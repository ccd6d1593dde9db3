"""The extension points of placing a group: is it whole, where may it lie, which place is best, can room be made."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from moorage.columns import GroupInfo, PodInfo, Rows
from moorage.framework.cycle_state import CycleState
from moorage.framework.status import Status


class Progress(NamedTuple):
    """How far the placing of a group is: members (groups, of a composite one) with a node, and those still to try."""

    scheduled: int
    remaining: int


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """Nodes within which all members of a group are placed, and what they are called."""

    name: str
    rows: Rows


class Assignment(NamedTuple):
    """A member that found a node, with what plugins remember of its search."""

    pod: PodInfo
    node_name: str
    state: CycleState


@dataclass(frozen=True, slots=True)
class PodGroupPostFilterAnswer:
    """What is said after a group fitted nowhere. With SUCCESS room is made: members by uid with the nodes that are
    promised to them, and the pods that have to go."""

    status: Status
    nominations: Mapping[str, str] = field(default_factory=dict)
    victims: tuple[PodInfo, ...] = ()
    #: What has to be written so that room is made.
    effects: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = ()


class RejectedGroup(Protocol):
    """A group that fitted nowhere, as a plugin that may make room sees it."""

    @property
    def group(self) -> GroupInfo:
        """The group; of composite ones the topmost."""

    @property
    def members(self) -> Sequence[PodInfo]:
        """Its pods that have no node."""

    @property
    def tried(self) -> Sequence[tuple[PodInfo, CycleState]]:
        """Those that were tried, with what plugins remember of it."""

    def place(self) -> list[Assignment] | Status:
        """Try it all again on the cluster as it is at this moment; nothing of it stays."""


@runtime_checkable
class PlacementFeasible(Protocol):
    """Asked before the first member is tried and after each."""

    def placement_feasible(self, group: GroupInfo, progress: Progress) -> Status | None:
        """None where the group is whole already, WAIT where it is not yet, UNSCHEDULABLE where it never will be."""


@runtime_checkable
class PlacementGenerate(Protocol):
    """Names the places where a group may lie. One plugin of a profile does."""

    def generate_placements(self, group: GroupInfo, rows: Rows) -> Sequence[Domain] | Status:
        """Within these rows. An ERROR ends the attempt."""


@runtime_checkable
class PlacementScore(Protocol):
    """Says how good a place is."""

    def score_placement(self, group: GroupInfo, domain: Domain, assignments: Sequence[Assignment]) -> int:
        """`assignments`: where the members would go. They are not counted on their nodes."""


@runtime_checkable
class NormalizePlacementScore(Protocol):
    """Brings a plugin's scores of places into 0..100."""

    def normalize_placement_scores(self, scores: Sequence[int]) -> Sequence[int] | Status:
        """The scores of all places, in their order. A Status ends the attempt."""


@runtime_checkable
class PodGroupPostFilter(Protocol):
    """Called when a group fits nowhere: may make room."""

    def pod_group_post_filter(self, rejected: RejectedGroup) -> PodGroupPostFilterAnswer:
        """It may change the cluster within `snapshot.tentative()`."""
