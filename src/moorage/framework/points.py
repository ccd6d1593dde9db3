"""The extension points: one contract each. A plugin is a class; the methods it has say which points it serves.

Everything a plugin is handed is read-only unless a contract says otherwise. Filters and scores must be pure functions
of what they are handed: preemption, groups and simulation call them many times. A plugin is made as
`Plugin(args, handle)`: its arguments from the configuration, and what it may ask of the world.

Filters and scores come in two forms. `filter` and `score` look at one node and are the plain way. `filter_nodes` and
`score_nodes` look at many rows of the node table at once and are the fast way. A plugin needs one of the two; with
both, each is used where it is quicker, so they must agree.
"""

import enum
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import NodeStatuses
from moorage.framework.events import EventHint
from moorage.framework.grouping import PlacementGenerate, PlacementScore, PodGroupPostFilter
from moorage.framework.status import Status

Scores = NDArray[np.int64]

MIN_SCORE = 0
MAX_SCORE = 100


class Scope(enum.Enum):
    """How far a plugin looks when it filters or scores one node for a pod.

    The narrower it looks, the longer its answers can be kept. A plugin says so in `filter_scope` and `score_scope`;
    one that says nothing is asked anew in every cycle. NODE and NODE_AND_PODS also promise that of the pod only what
    makes its class is read (columns.PodClass): no namespace, labels or volumes.
    """

    NODE = "the node object alone"
    NODE_AND_PODS = "the node object and the pods on it"
    CLUSTER = "anything"


class Verdicts(NamedTuple):
    """The fast form's answer for many rows: 0 where the pod fits, else 1 + the index of a status."""

    codes: NDArray[np.intp]
    statuses: Sequence[Status]


@dataclass(frozen=True, slots=True)
class NodeNames:
    """PreFilter's way to narrow the search: only these nodes can fit. `reason` is what is said of the others."""

    names: frozenset[str]
    reason: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.names, str) or not all(isinstance(name, str) for name in self.names):
            raise TypeError(f"the names of nodes are {self.names!r}; expected a set of texts")
        if not isinstance(self.reason, str):
            raise TypeError(f"the reason is {self.reason!r}; expected text")
        object.__setattr__(self, "names", frozenset(self.names))


@dataclass(frozen=True, slots=True)
class Victims:
    """Pods that would have to go from a node, the most important first, and how many of them a budget guards."""

    pods: tuple[PodInfo, ...]
    violations: int = 0


@dataclass(frozen=True, slots=True)
class Nomination:
    """PostFilter's success: the pod will fit on this node once the victims are gone. No node: clear the promise."""

    node_name: str
    victims: tuple[PodInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class PostFilterAnswer:
    """What a PostFilter plugin says: a status, and a nomination to set or clear (None leaves it as it is)."""

    status: Status | None
    nomination: Nomination | None = None
    #: What has to be written so that room is made, and the claim that is given back by it, `namespace/name`.
    effect: Callable[[], Coroutine[Any, Any, None]] | None = None
    deallocated: str = ""


class Wait(NamedTuple):
    """For how long a Permit plugin wants a pod held, and why."""

    seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PermitAnswer:
    """What a Permit plugin says beyond yes (None) and no (a Status): wait, at most this many seconds."""

    status: Status
    timeout_seconds: float = 0.0


@runtime_checkable
class PreEnqueue(Protocol):
    """Keeps a pod out of the queue until something outside is done."""

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """None lets the pod in; a rejection keeps it out until one of the plugin's events."""


@runtime_checkable
class QueueSort(Protocol):
    """Orders the queue. Exactly one such plugin is enabled, the same in all profiles."""

    def sort_key(self, pod: PodInfo, timestamp: float) -> Any:
        """A sortable key; smaller goes first. `timestamp` is when the pod last entered the queue."""


@runtime_checkable
class QueueSortByLess(Protocol):
    """The other way to order the queue."""

    def less(self, a: PodInfo, a_timestamp: float, b: PodInfo, b_timestamp: float) -> bool:
        """Whether a goes before b."""


@runtime_checkable
class PreFilter(Protocol):
    """Prepares for Filter, rejects early, or narrows the nodes."""

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeTable) -> Status | NodeNames | None:
        """SKIP leaves out this plugin's Filter; a rejection ends the search for a node."""


@runtime_checkable
class PreFilterExtensions(Protocol):
    """Keeps what PreFilter computed right while dry runs add and remove pods."""

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """`added` now counts on `node` (a copy, already changed)."""

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """`removed` counts no more on `node` (a copy, already changed)."""


@runtime_checkable
class Filter(Protocol):
    """Says whether a pod can run on a node."""

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """None where it can; else why not."""


@runtime_checkable
class Explaining(Protocol):
    """A Filter that can tell more of a node it refused than its reasons; asked only where a decision is explained."""

    def why_not(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[Mapping[str, Any]]:
        """What is in the way, as data."""


@runtime_checkable
class FilterBySums(Protocol):
    """A Filter that passes exactly where enough is free: dry runs of preemption then only add and subtract."""

    def needs(self, state: CycleState) -> Mapping[str, int]:
        """What must be free on the node, by resource name; one of `pods` is a slot."""


@runtime_checkable
class FilterNodes(Protocol):
    """The fast form of Filter."""

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Verdicts:
        """A verdict for each of `rows`."""


@runtime_checkable
class PostFilter(Protocol):
    """Called when no node fits: may make room."""

    def post_filter(self, state: CycleState, pod: PodInfo, statuses: NodeStatuses) -> PostFilterAnswer:
        """`statuses` says why each node was refused."""


@runtime_checkable
class PostFilterUntil(Protocol):
    """Optional, for PostFilter plugins whose "no" can be kept: pods of a class fail again without being asked about."""

    def post_filter_until(self, pod: PodInfo) -> Hashable | None:
        """As long as this stays the same, for the pod or for another of its class that every node refuses for the same
        reasons, an answer that made no room stays the same. None where it cannot be kept.
        """


@runtime_checkable
class PreScore(Protocol):
    """Prepares for Score."""

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Status | None:
        """`rows` are the nodes that fit. SKIP leaves out this plugin's Score, INDIFFERENT makes it 0 everywhere."""


@runtime_checkable
class Score(Protocol):
    """Ranks a node that fits. A class attribute `default_weight` counts where a configuration gives no weight."""

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Any integer if the plugin normalises, else 0..100. Higher is better."""


@runtime_checkable
class ScoresAlike(Protocol):
    """Optional, for Score plugins without a PreScore that have nothing to say on most pods."""

    def scores_alike(self, state: CycleState) -> bool:
        """Whether every node scores 0 in this cycle: then none is asked about."""


@runtime_checkable
class ScoreNodes(Protocol):
    """The fast form of Score."""

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Scores:
        """A score for each of `rows`."""


@runtime_checkable
class NormalizeScore(Protocol):
    """Brings a plugin's own scores into 0..100."""

    def normalize_scores(self, state: CycleState, pod: PodInfo, scores: Scores, rows: Rows) -> Scores:
        """The scores of `rows`, each within 0..100; `scores` is the plugin's to change."""


@runtime_checkable
class Reserve(Protocol):
    """Claims what the pod will use before it is bound, and lets go of it if anything fails later."""

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """None on success; anything else undoes every Reserve."""

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Undo. Called in reverse order, also for plugins whose Reserve was not reached; must not fail."""


@runtime_checkable
class Permit(Protocol):
    """The last word before binding: allow, deny, or wait."""

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | PermitAnswer | None:
        """None allows, a rejection denies, a PermitAnswer with WAIT holds the pod."""


@runtime_checkable
class PreBind(Protocol):
    """Does what must be done before the pod is bound."""

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Awaitable[Status | None] | None:
        """May be `async`."""


@runtime_checkable
class PreBindPreFlight(Protocol):
    """Optional, for PreBind plugins whose work may take a while: then the pod's expected node is shown meanwhile."""

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """SKIP where PreBind will have nothing to do."""


@runtime_checkable
class Bind(Protocol):
    """Binds the pod to the node."""

    def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Awaitable[Status | None] | None:
        """May be `async`. SKIP leaves it to the next Bind plugin."""


@runtime_checkable
class PostBind(Protocol):
    """Told after the pod was bound."""

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Awaitable[None] | None:
        """May be `async`. Cannot fail the pod any more."""


@runtime_checkable
class EnqueueExtensions(Protocol):
    """Says which events could make a pod schedulable that this plugin rejected."""

    def events_to_register(self) -> Sequence[EventHint]:
        """Without this method every event counts."""


@runtime_checkable
class Starting(Protocol):
    """A plugin that wants to do something once, when the cluster has been read, whoever leads."""

    async def start(self) -> None:
        """Runs beside scheduling, which does not wait for it."""


@runtime_checkable
class Stopping(Protocol):
    """A plugin that has something to let go of when the process ends in order."""

    async def stop(self) -> None:
        """Called once, if the plugin was started; what it spawned was cancelled before. It has about a second."""


#: What may run beside the event loop: everything else touches columns that live there.
WORKER_METHODS: Final = ("pre_bind", "bind", "post_bind")


def worker_methods(plugin: Any) -> Sequence[str]:
    """The methods that the plugin's class declares to run in a worker thread: `worker_thread = ("pre_bind",)`.

    They may block. They read what they are handed and nothing else: the snapshot belongs to the event loop.
    """
    said: Sequence[str] = getattr(plugin, "worker_thread", ())
    return said


#: Extension point as the configuration spells it -> the contracts that serve it.
POINTS: dict[str, tuple[type, ...]] = {
    "preEnqueue": (PreEnqueue,),
    "queueSort": (QueueSort, QueueSortByLess),
    "preFilter": (PreFilter,),
    "filter": (Filter, FilterNodes),
    "postFilter": (PostFilter,),
    "preScore": (PreScore,),
    "score": (Score, ScoreNodes),
    "reserve": (Reserve,),
    "permit": (Permit,),
    "preBind": (PreBind,),
    "bind": (Bind,),
    "postBind": (PostBind,),
    "podGroupPostFilter": (PodGroupPostFilter,),
    "placementGenerate": (PlacementGenerate,),
    "placementScore": (PlacementScore,),
}
