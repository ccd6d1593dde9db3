"""One attempt after the other: what the queue gives is decided, placed, and handed on to be bound; or it fails.

Nothing in here waits, so a decision sees one state of the cluster. The host decides when it goes on: between two
attempts it tells what has changed, and lets the jobs that bind and evict have their turns.
"""

import logging
import math
from collections.abc import Callable

from moorage.attempt import explaining, reporting
from moorage.attempt.binding import Bindings
from moorage.attempt.failing import FailureHandler
from moorage.attempt.groups import GroupAttempts
from moorage.attempt.halfbound import HalfBoundGangs
from moorage.attempt.inquiries import MOST_ASKING, Inquiries, Inquiry
from moorage.attempt.placing import Placer, broken
from moorage.attempt.world import World
from moorage.cluster import ClusterState
from moorage.columns import PodInfo
from moorage.engine import Engine, Failure, Placement
from moorage.engine.asking import Answer, Answers, Question
from moorage.queue import QueuedGroup, QueuedPod, SchedulingQueue, Stop, never

logger = logging.getLogger(__name__)


class Attempts:
    """Takes what the queue gives and tries to schedule it."""

    def __init__(
        self,
        *,
        world: World,
        cluster: ClusterState,
        queue: SchedulingQueue,
        engine: Engine,
        placer: Placer,
        failures: FailureHandler,
        bindings: Bindings,
        groups: GroupAttempts,
        half_bound: HalfBoundGangs | None,
        wake: Callable[[], None],
        questions: int = MOST_ASKING,
    ) -> None:
        self._world = world
        self._cluster = cluster
        self._queue = queue
        self._engine = engine
        self._placer = placer
        self._failures = failures
        self._bindings = bindings
        self._groups = groups
        self._half_bound = half_bound
        #: The attempts that wait for extenders.
        self.inquiries = Inquiries(
            world=world,
            cluster=cluster,
            queue=queue,
            go_on=self._go_on,
            wake=wake,
            extenders=engine.extenders,
            at_most=questions,
        )

    @property
    def has_next(self) -> bool:
        """Whether `run_next` has something to try."""
        return (
            self.inquiries.has_anew
            or (self.inquiries.has_room and self._queue.has_ready)
            or (self._half_bound is not None and self._half_bound.has_work)
        )

    def run_next(self, stop: Stop = never) -> bool:
        """One attempt, from the queue to the beginning of the binding. False if there was nothing to do.

        Before, pods of higher priority are asked about events; where `stop` ends that, nobody is tried.
        """
        if (changed := self.inquiries.next_anew()) is not None:
            self._attempt_anew(changed)
            self.inquiries.resume()  # it may have had nothing to ask
            return True
        looked = self._half_bound is not None and self._half_bound.look()
        # Room is not given to others before gangs are whole that some members of run already.
        if self._half_bound is not None and (missing := self._half_bound.next()) is not None:
            self._groups.attempt(missing)
            return True
        queued = self._queue.pop_entity(stop) if self.inquiries.has_room else None
        if queued is None:
            return looked
        group = self._groups.gather(queued) if isinstance(queued, QueuedPod) else queued
        if isinstance(group, QueuedGroup):
            self._groups.attempt(group)
        elif isinstance(queued, QueuedPod):
            self.attempt(queued, queued.pod)
        return True

    def _attempt_anew(self, queued: QueuedPod) -> None:
        """The pod changed while extenders were asked about it."""
        current = self._cluster.pending(queued.pod.uid)
        if current is None:
            self._queue.done(queued.pod.uid)
        else:
            self.attempt(queued, current)

    def attempt(self, queued: QueuedPod, pod: PodInfo) -> None:
        """One attempt at what was popped; `pod` is the pod as it now is."""
        if pod.pod.is_terminating:
            self._queue.done(pod.uid)
            self._world.record(reporting.failed(pod, f"skip schedule deleting pod: {pod.key}"))
            return
        if self._cluster.is_assumed(pod.uid):
            self._queue.done(pod.uid)
            return
        if self.inquiries.puts_off(queued, pod):
            return
        self._decide(queued, pod, self._engine.begin(), self._world.now())

    def _go_on(self, inquiry: Inquiry, answer: Answer) -> None:
        """An extender has answered: decide again, on the cluster as it now is."""
        current = self._cluster.pending(inquiry.pod.uid) or inquiry.pod
        answers = inquiry.answers.answered(inquiry.question, answer)
        self._decide(inquiry.queued, current, answers, inquiry.started)

    def _decide(self, queued: QueuedPod, pod: PodInfo, answers: Answers, started: float) -> None:
        outcome = self._decision(pod, answers)
        if not isinstance(outcome, Placement | Failure):
            self.inquiries.ask(Inquiry(queued, pod, answers, outcome, started))
            return
        if explaining.pod_logger.isEnabledFor(logging.DEBUG):
            explaining.tell(self._engine.explain(pod, answers))
        self._engine.commit(outcome)
        self._world.observer.decided(outcome, self._world.now() - started)
        placed = self._placer.place(outcome) if isinstance(outcome, Placement) else outcome
        if isinstance(placed, Failure):
            self._failures.handle(queued, placed, started)
        else:
            self._bindings.start(queued, placed, started)

    def _decision(self, pod: PodInfo, answers: Answers) -> Question | Placement | Failure:
        """The engine's answer. What it does not foresee is a bug of ours and fails this pod's attempt alone."""
        try:
            return self._engine.decide(pod, answers)
        except Exception as problem:
            logger.exception("deciding pod %s broke", pod.key)
            return broken(pod, f"{type(problem).__name__}: {problem}")

    # Time, and what was put off.

    @property
    def has_work(self) -> bool:
        """Whether `work` has something to do."""
        return self._queue.has_work

    def work(self, stop: Stop) -> None:
        """Ask hints about events that were put off, until `stop` says so."""
        self._queue.work(stop)

    @property
    def next_tick(self) -> float | None:
        """When `tick` has something to do, at a full second as kube-scheduler ticks; None: only events can help."""
        deadline = self._queue.next_deadline()
        return None if deadline is None else math.ceil(deadline)

    def tick(self, stop: Stop = never) -> None:
        """Let back into the queue whose back-off is over or who has waited too long.

        Where `stop` ends that, the queue has work: moorage.queue.SchedulingQueue.work.
        """
        self._queue.flush_backoff(stop)
        self._queue.flush_unschedulable()
