"""One decision's dealings with extenders: what they answered is applied, what they were not asked yet is asked."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from moorage.columns import NodeTable, PodInfo
from moorage.columns.table import Mask
from moorage.engine.asking import (
    MAX_EXTENDER_SCORE,
    Answer,
    Answers,
    Broken,
    Extender,
    FilterAnswer,
    FilterQuestion,
    PreemptAnswer,
    PreemptQuestion,
    PrioritizeAnswer,
    PrioritizeQuestion,
    Question,
    Unanswered,
)
from moorage.errors import ExtenderError
from moorage.framework.answers import DecisionEnds
from moorage.framework.points import MAX_SCORE, Scores, Victims
from moorage.framework.status import Status, unresolvable, unschedulable
from moorage.values.int64 import wrapped

#: How often a pod is asked about anew, because the nodes that extenders allowed had gone, before its attempt fails.
MOST_ROUNDS = 3


class Stale(DecisionEnds):
    """None of the nodes that extenders allowed fits any more, and others do that they were not asked about.

    The decision starts again.
    """


class Extra(NamedTuple):
    """What each extender adds to the scores of some nodes, and which of these nodes any of them named: mostly all."""

    nodes: list[str]
    scores: dict[str, Scores]
    named: Mask | None


class Inquiry:
    """The extenders that are interested in a pod, and what is known of their minds.

    A question without an answer raises Unanswered; where nothing may be asked the extender is left out (`unasked`).
    A node that was not asked about is out, whatever it looks like by now.
    """

    def __init__(self, pod: PodInfo, extenders: Sequence[Extender], nodes: NodeTable, answers: Answers) -> None:
        self._pod = pod
        self._nodes = nodes
        self._answers = answers
        self._interested = [one for one in extenders if one.is_interested(pod)]
        self.next_start = answers.next_start
        #: The extenders that would have been asked.
        self.unasked: dict[str, None] = {}
        #: Whether fewer nodes are left than were found.
        self.has_refused = False
        #: Why extenders refused nodes, by name.
        self.refusals: dict[str, Status] = {}
        self._ended: Unanswered | Stale | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nobody is interested in the pod."""
        return not self._interested

    @property
    def has_begun(self) -> bool:
        """Whether the nodes to ask about were settled in an earlier decision of this attempt."""
        given = self._answers.given
        return any(
            isinstance(asked, FilterQuestion | PrioritizeQuestion) and not _is_promise(asked)
            for asked, _ in given.values()
        )

    # ------------------------------------------------------------------------------------------------------- filter

    def filter(self, nodes: list[str], *, is_promised: bool = False) -> list[str]:
        """Those of the nodes that every extender allows, each asked about what the one before it left."""
        unheard, allowed, found = False, True, len(nodes)
        for extender in self._interested:
            if not extender.filters or not nodes:
                continue
            question = FilterQuestion(
                self._pod, extender, tuple(nodes), is_promised, self.next_start, self._answers.round
            )
            given = self._given(question)
            if given is None:
                self.unasked[extender.name] = None
                continue
            asked, answer = given
            assert isinstance(asked, FilterQuestion)
            heard = _asked_about(asked.nodes, nodes)
            unheard = unheard or len(heard) < len(nodes)
            nodes = heard
            if isinstance(answer, Broken):
                _unless_ignorable(extender, answer)
                continue
            assert isinstance(answer, FilterAnswer)
            allowed = bool(answer.passed)
            nodes = self._allowed(nodes, answer)
        if is_promised:
            return nodes
        if not nodes and unheard and allowed:
            self._start_again()
        self.has_refused = len(nodes) < found
        return nodes

    def _allowed(self, nodes: list[str], answer: FilterAnswer) -> list[str]:
        for name in nodes if answer.unresolvable or answer.failed else ():
            if name in answer.unresolvable:
                self.refusals[name] = unresolvable(answer.unresolvable[name])
            elif name in answer.failed:
                self.refusals[name] = unschedulable(answer.failed[name])
        return nodes if answer.passed.issuperset(nodes) else [name for name in nodes if name in answer.passed]

    # --------------------------------------------------------------------------------------------------- prioritize

    def prioritize(self, nodes: list[str]) -> Extra:
        """What extenders think of the nodes; only nodes they were asked about are left."""
        asked_now = tuple(one for one in self._interested if one.prioritizes)
        scores: Mapping[int, Mapping[str, int]] = {}
        if asked_now and len(nodes) > 1:
            question = PrioritizeQuestion(self._pod, asked_now, tuple(nodes), self.next_start, self._answers.round)
            given = self._given(question)
            if given is None:
                self.unasked.update(dict.fromkeys(one.name for one in asked_now))
            else:
                asked, answer = given
                assert isinstance(asked, PrioritizeQuestion)
                heard = _asked_about(asked.nodes, nodes)
                if not heard:
                    self._start_again()
                nodes = heard or nodes
                scores = answer.scores if isinstance(answer, PrioritizeAnswer) else {}
        # Without a verb for it an extender scores every node 0: it makes no difference, but it names them all.
        all_named = any(not one.prioritizes for one in self._interested)
        named: Mask = np.zeros(len(nodes), dtype=bool)
        added: dict[str, Scores] = {}
        for extender in asked_now:
            of_node = scores.get(extender.place, {})
            unit = wrapped(extender.weight * (MAX_SCORE // MAX_EXTENDER_SCORE))
            # 64 bits, in which products and sums come back in at the other end, as in Go.
            of_all = np.array([of_node.get(name, 0) for name in nodes], dtype=np.int64) * np.int64(unit)
            added[extender.name] = added[extender.name] + of_all if extender.name in added else of_all
            all_named = all_named or all(map(of_node.__contains__, nodes))
            if not all_named:
                named |= np.array([name in of_node for name in nodes])
        return Extra(nodes, added, None if all_named else named)

    # ------------------------------------------------------------------------------------------------------ preempt

    def preempt(self, victims: Mapping[str, Victims]) -> Mapping[str, Victims]:
        """The nodes on which preemption may go on, with the victims it costs there as extenders see it."""
        unheard, allowed = False, True
        for extender in self._interested:
            if not extender.preempts or not victims:
                continue
            question = PreemptQuestion(self._pod, extender, victims, self.next_start, self._answers.round)
            given = self._given(question)
            if given is None:
                self.unasked[extender.name] = None
                continue
            asked, answer = given
            assert isinstance(asked, PreemptQuestion)
            # Where somebody else would have to go by now, the answer is about something else.
            heard = {name: one for name, one in victims.items() if _is_alike(asked.victims.get(name), one)}
            unheard = unheard or len(heard) < len(victims)
            victims = heard
            if isinstance(answer, Broken):
                _unless_ignorable(extender, answer)
                continue
            assert isinstance(answer, PreemptAnswer)
            allowed = bool(answer.victims)
            victims = self._chosen(extender, victims, answer)
        if not victims and unheard and allowed:
            self._start_again()
        return victims

    def _chosen(self, extender: Extender, victims: Mapping[str, Victims], answer: PreemptAnswer) -> dict[str, Victims]:
        chosen = {}
        for name in victims:
            said = answer.victims.get(name)
            if said is None:
                continue
            if not said.uids:
                _unless_ignorable(extender, Broken(f'expected at least one victim pod on node "{name}"'))
                continue
            node = self._nodes.get(name)
            pods = [node.pods[uid] for uid in said.uids if uid in node.pods] if node is not None else []
            if pods:
                chosen[name] = Victims(tuple(pods), said.violations)
        return chosen

    # ------------------------------------------------------------------------------------------------------ answers

    def _given(self, question: Question) -> tuple[Question, Answer] | None:
        given = self._answers.given.get(question.key)
        if given is None and self._answers.may_ask:
            self._ended = Unanswered(question)
            raise self._ended
        return given

    def _start_again(self) -> None:
        if self._answers.may_ask and self._answers.round < MOST_ROUNDS:
            self._ended = Stale()
            raise self._ended

    def insist(self) -> None:
        """End the decision if it ended before, and somebody caught it on the way."""
        if self._ended is not None:
            raise self._ended


def _asked_about(asked: Sequence[str], nodes: list[str]) -> list[str]:
    """Those of the nodes that the question was about: mostly all."""
    if len(asked) == len(nodes) and list(asked) == nodes:
        return nodes
    known = set(asked)
    return [name for name in nodes if name in known]


def _is_promise(question: Question) -> bool:
    return isinstance(question, FilterQuestion) and question.is_promised


def _is_alike(before: Victims | None, now: Victims) -> bool:
    return before is not None and {pod.uid for pod in before.pods} == {pod.uid for pod in now.pods}


def _unless_ignorable(extender: Extender, broken: Broken) -> None:
    if not extender.ignorable:
        raise ExtenderError(extender.name, broken.message.removeprefix(f"extender {extender.name}: "))
