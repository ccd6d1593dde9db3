"""A decision taken: the pod counts on its node, its plugins have reserved and permitted. And all of that undone.

A group is placed pod after pod, in one step of the loop; where one cannot be, those before it are undone in reverse.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from moorage.cluster import ClusterState
from moorage.columns import PodInfo
from moorage.engine import Engine, Failure, Placement
from moorage.engine.runner import Runner
from moorage.errors import MoorageError, PluginError
from moorage.framework.diagnosis import fit_message
from moorage.framework.points import Nomination, Wait
from moorage.framework.status import Code, Status

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Placed:
    """A pod that has its place, and who gave it."""

    placement: Placement
    #: The pod as it will be once bound: what counts on the node meanwhile.
    assumed: PodInfo
    runner: Runner
    #: The Permit plugins that want it held.
    waits: Mapping[str, Wait]


class Placer:
    """Takes places on nodes and gives them back."""

    def __init__(self, *, cluster: ClusterState, engine: Engine) -> None:
        self._cluster = cluster
        self._engine = engine

    def place(self, placement: Placement) -> Placed | Failure:
        """Assume, Reserve, Permit; or a Failure, with everything undone."""
        placed = self.take(placement)
        return placed if isinstance(placed, Failure) else self.permit(placed)

    def take(self, placement: Placement) -> Placed | Failure:
        """Assume and Reserve; or a Failure, with both undone."""
        pod = placement.pod
        try:
            placed = self.reserve(placement)
        except PluginError as problem:
            return broken(pod, str(problem), problem)
        return refused(pod, placed) if isinstance(placed, Status) else placed

    def permit(self, placed: Placed) -> Placed | Failure:
        """Permit; where it refuses, what was taken is given back."""
        pod = placed.placement.pod
        try:
            refusal, placed.waits = placed.runner.permit(placed.placement)
        except PluginError as problem:
            self.undo(placed)
            return broken(pod, str(problem), problem)
        if refusal is not None:
            self.undo(placed)
            return refused(pod, refusal)
        return placed

    def reserve(self, placement: Placement) -> Placed | Status:
        """Assume and Reserve alone. A refusal, or a plugin that breaks (PluginError), leaves nothing behind."""
        pod, node_name = placement.pod, placement.node_name
        runner = self._engine.runner_of(pod)
        assumed = self._cluster.assume(pod, node_name)
        try:
            refusal = runner.reserve(placement.state, pod, node_name)
        except PluginError:
            self._cluster.forget(pod.uid)
            raise
        if refusal is not None:
            self._cluster.forget(pod.uid)
            return refusal
        return Placed(placement, assumed, runner, {})

    def undo(self, placed: Placed, *, keep_room: bool = False) -> None:
        """Give back what `place` took, in reverse. The pod counts nowhere any more, unless its node was confirmed.

        `keep_room` leaves it counted: it is known to be there, though not bound by us.
        """
        placement = placed.placement
        placed.runner.unreserve(placement.state, placement.pod, placement.node_name)
        if not keep_room:
            self._cluster.forget(placement.pod.uid)


def refused(pod: PodInfo, status: Status) -> Failure:
    """A refusal after the decision (Reserve, Permit): as if the one node there is did not fit."""
    return Failure(
        pod,
        fit_message(1, dict.fromkeys(status.reasons, 1)),
        plugins=frozenset((status.plugin,)) if status.plugin else frozenset(),
        nomination=Nomination(""),
        pending=frozenset((status.plugin,)) if status.code is Code.PENDING else frozenset(),
    )


def turned_down(pod: PodInfo, status: Status) -> Failure:
    """A refusal at PreBind or Bind: nobody searched for a node, so no event would help; retried on a timer."""
    return Failure(pod, status.message, nomination=Nomination(""))


def broken(pod: PodInfo, message: str, problem: MoorageError | None = None) -> Failure:
    """Something broke: the pod is retried on a timer, and no event would help."""
    return Failure(pod, message, is_error=True, nomination=Nomination(""), error=problem)
