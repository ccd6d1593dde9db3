"""What a decision may need to hear from outside: extenders, what they are asked, and what they said.

Nothing here talks to anybody. A decision that lacks an answer ends in a Question; whoever drives it asks, adds the
answer to the pod's Answers and decides the pod again, from the beginning and on the cluster as it then is. What
extenders say is kept by node name: a node that was not asked about is out.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from moorage.columns import PodInfo
from moorage.config.types import Extender as ExtenderConfig
from moorage.framework.answers import DecisionEnds
from moorage.framework.points import Victims

MAX_EXTENDER_SCORE: Final = 10
"""Extenders score in tens at most, where plugins score in hundreds."""

DEFAULT_PATIENCE: Final = 5.0


@dataclass(frozen=True, slots=True)
class Extender:
    """A webhook as a decision sees it: what it is asked, about which pods, and what its answer counts."""

    #: Its urlPrefix: what logs, metrics and messages call it.
    name: str
    #: Its place in the configuration: extenders are asked in this order, and two may share a URL.
    place: int = 0
    filters: bool = False
    prioritizes: bool = False
    preempts: bool = False
    binds: bool = False
    weight: int = 1
    #: Whether the pod goes on without it where it breaks.
    ignorable: bool = False
    #: Whether it is sent names of nodes, and identifiers of victims, instead of whole objects.
    node_cache_capable: bool = False
    #: It sees pods only that name one of these resources; empty for all pods.
    managed_resources: frozenset[str] = frozenset()
    #: Seconds it has for an answer.
    patience: float = DEFAULT_PATIENCE

    @classmethod
    def of(cls, config: ExtenderConfig, place: int) -> "Extender":
        """The extender that the configuration has at this place."""
        return cls(
            config.url_prefix,
            place,
            filters=bool(config.filter_verb),
            prioritizes=bool(config.prioritize_verb),
            preempts=bool(config.preempt_verb),
            binds=bool(config.bind_verb),
            weight=config.weight,
            ignorable=config.ignorable,
            node_cache_capable=config.node_cache_capable,
            managed_resources=frozenset(resource.name for resource in config.managed_resources),
            patience=config.http_timeout.seconds or DEFAULT_PATIENCE,
        )

    def is_interested(self, pod: PodInfo) -> bool:
        """Whether it has a say about the pod. Overhead and resources of the pod as a whole are not looked at."""
        if not self.managed_resources:
            return True
        return any(
            not self.managed_resources.isdisjoint((*container.resources.requests, *container.resources.limits))
            for container in (*pod.spec.containers, *pod.spec.init_containers)
        )


# --------------------------------------------------------------------------------------------------------- questions


@dataclass(frozen=True, slots=True)
class FilterQuestion:
    """Which of these nodes will the extender have the pod on?"""

    pod: PodInfo
    extender: Extender
    nodes: tuple[str, ...]
    #: Whether it is about the node promised to the pod, which is tried before, and apart from, all others.
    is_promised: bool = False
    #: Where the next search shall start and how often the pod was asked about anew: see Answers.
    next_start: int | None = None
    round: int = 0

    @property
    def key(self) -> Hashable:
        """What the answer is found by."""
        return "filter", self.extender.place, self.is_promised


@dataclass(frozen=True, slots=True)
class PrioritizeQuestion:
    """How good are these nodes? Asked of several extenders at the same time."""

    pod: PodInfo
    extenders: tuple[Extender, ...]
    nodes: tuple[str, ...]
    next_start: int | None = None
    round: int = 0

    @property
    def key(self) -> Hashable:
        """What the answer is found by."""
        return "prioritize"


@dataclass(frozen=True, slots=True)
class PreemptQuestion:
    """Which of these nodes may be preempted on, and whom would it cost there?"""

    pod: PodInfo
    extender: Extender
    victims: Mapping[str, Victims]
    next_start: int | None = None
    round: int = 0

    @property
    def key(self) -> Hashable:
        """What the answer is found by."""
        return "preempt", self.extender.place


Question = FilterQuestion | PrioritizeQuestion | PreemptQuestion


# ----------------------------------------------------------------------------------------------------------- answers


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """The nodes that pass; why others do not, by name. Nodes in neither are out without a word."""

    passed: frozenset[str]
    failed: Mapping[str, str] = field(default_factory=dict)
    #: Those that no preemption would help.
    unresolvable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PrioritizeAnswer:
    """Scores by node, by the place of the extender that gave them. Extenders that broke are left out."""

    scores: Mapping[int, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class ChosenVictims:
    """Victims by uid, as an extender names them."""

    uids: tuple[str, ...]
    violations: int = 0


@dataclass(frozen=True, slots=True)
class PreemptAnswer:
    """The nodes on which preemption may go on, with the victims it would then cost."""

    victims: Mapping[str, ChosenVictims]


@dataclass(frozen=True, slots=True)
class Broken:
    """The extender could not be asked, or answered junk."""

    message: str


Answer = FilterAnswer | PrioritizeAnswer | PreemptAnswer | Broken


@dataclass(slots=True)  # not frozen: to make a frozen one costs each decision a microsecond more
class Answers:
    """All that a pod's decision is handed beside the cluster: what belongs to one attempt and outlives a question.

    Never changed: `answered` gives another. Decisions with the same answers on the same cluster are the same.
    """

    #: What all chance in the attempt comes from.
    seed: int = 0
    #: Where the search for nodes starts, if it does not look at all of them.
    start: int = 0
    given: Mapping[Hashable, tuple[Question, Answer]] = field(default_factory=dict)
    #: Whether a missing answer may be asked for; if not, the extender is left out and the outcome says so.
    may_ask: bool = True
    #: How often the nodes that extenders allowed had all gone by when the answer came, so that they were asked anew.
    round: int = 0
    #: Where the next search shall start: known once the nodes to ask about are found, if not all were looked at.
    next_start: int | None = None

    def answered(self, question: Question, answer: Answer) -> "Answers":
        """These answers and one more. What was said in an earlier round counts no more."""
        given = {} if question.round > self.round else self.given
        return replace(
            self,
            given={**given, question.key: (question, answer)},
            round=question.round,
            next_start=question.next_start,
        )

    def afresh(self) -> "Answers":
        """Nothing that was said holds any more: everybody is asked anew."""
        return replace(self, given={}, round=self.round + 1, next_start=None)


class Unanswered(DecisionEnds):
    """The decision ends in the question it cannot go on without."""

    def __init__(self, question: Question) -> None:
        super().__init__(f"extenders have to be asked about pod {question.pod.key}")
        self.question = question
