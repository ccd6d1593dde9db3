"""How a scheduling cycle ends: with a place for the pod, or with the reasons why there is none."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from moorage.columns import PodInfo
from moorage.errors import MoorageError
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NodeStatuses
from moorage.framework.points import Nomination
from moorage.framework.status import Status


@dataclass(slots=True)  # not frozen: to make a frozen one costs each decision a microsecond more
class Placement:
    """The pod fits: here. Never changed."""

    pod: PodInfo
    node_name: str
    state: CycleState
    #: How many nodes fitted.
    feasible: int
    #: Where the next search starts, if this one did not look at all nodes.
    next_start: int | None = None
    #: Extenders that would have had a say, but might not be asked.
    unasked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """The pod fits nowhere, or its cycle broke (`is_error`)."""

    pod: PodInfo
    #: The text of the FailedScheduling event, without what PostFilter adds.
    message: str
    is_error: bool = False
    #: What PostFilter adds.
    post_filter_message: str = ""
    #: The plugins whose rejection must be lifted before the pod is worth another try.
    plugins: frozenset[str] = frozenset()
    #: Those of them that wait for something outside (PENDING): the pod is tried again without back-off.
    pending: frozenset[str] = frozenset()
    #: A node promised by preemption and its victims; without a node name: clear the promise; None: leave it.
    nomination: Nomination | None = None
    #: What a PostFilter plugin wants written, and the claim that is given back by it, `namespace/name`.
    effect: Callable[[], Coroutine[Any, Any, None]] | None = field(default=None, repr=False, compare=False)
    deallocated: str = ""
    #: PreFilter's rejection, if that ended the search.
    pre_filter: Status | None = None
    statuses: NodeStatuses | None = field(default=None, repr=False)
    #: What plugins remember of the search, where it came so far.
    cycle_state: CycleState | None = field(default=None, repr=False, compare=False)
    #: What broke, where a plugin or an extender did.
    error: MoorageError | None = field(default=None, repr=False, compare=False)
    next_start: int | None = None
    unasked: tuple[str, ...] = ()

    @property
    def full_message(self) -> str:
        """The whole text of the event."""
        return f"{self.message} {self.post_filter_message}" if self.post_filter_message else self.message
