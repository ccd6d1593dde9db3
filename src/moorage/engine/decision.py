"""A decision with everything that led to it, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moorage.errors import MoorageError
from moorage.framework.status import Status


@dataclass(frozen=True, slots=True)
class Preemption:
    """What preemption would do: evict these pods from this node; or why it does not help."""

    node: str
    victims: tuple[str, ...]
    message: str = ""
    #: A claim that is given back, `namespace/name`.
    deallocated: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a pod would go and why. Nodes by name; scores are normalised and weighted."""

    pod: str
    feasible: tuple[str, ...] = ()
    #: node -> the first refusal it gave, with plugin and reasons.
    rejected: Mapping[str, Status] = field(default_factory=dict)
    #: node -> plugin -> score.
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    #: All nodes with the highest total, sorted; any of them is a right answer.
    best: tuple[str, ...] = ()
    #: The one taken, "" where nothing fits.
    chosen: str = ""
    #: Why nothing fits, as the event says it; or what broke (`error`).
    message: str = ""
    #: The plugin or extender that broke, if one did; then there is nothing else to tell.
    error: MoorageError | None = field(default=None, compare=False)
    pre_filter: Status | None = None
    preemption: Preemption | None = None
    #: What was reserved and written where the pod was placed: claims with their devices, as recorded cases tell it.
    reserved: Mapping[str, Any] = field(default_factory=dict)
    #: node -> what the plugin that refused it can tell beyond its reasons, such as the device that came closest.
    why_not: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    #: Extenders that would have a say but were not asked, by name: their refusals and scores are not in here.
    unasked: tuple[str, ...] = ()

    @property
    def is_error(self) -> bool:
        """Whether a plugin or an extender broke."""
        return self.error is not None

    def as_data(self) -> dict[str, Any]:
        """The decision in the shape of the conformance data."""
        data: dict[str, Any] = {"pod": self.pod}
        if self.pre_filter is not None:
            data["preFilter"] = _status_data(self.pre_filter)
        if self.rejected:
            data["rejected"] = {node: _status_data(status) for node, status in sorted(self.rejected.items())}
        data["feasible"] = list(self.feasible)
        if self.feasible:
            data["scores"] = {node: dict(sorted(self.scores[node].items())) for node in self.feasible}
            data["totals"] = {node: self.totals[node] for node in self.feasible}
            data["best"] = list(self.best)
            data["chosen"] = self.chosen
        else:
            data["message"] = self.message
        if self.is_error:
            data["error"] = self.message
        data.update(self.reserved)
        if self.preemption is not None:
            data["preemption"] = [_preemption_data(self.preemption)]
        if self.unasked:
            data["extendersNotAsked"] = list(self.unasked)
        return data


def _status_data(status: Status) -> dict[str, Any]:
    return {"code": status.code.label, "plugin": status.plugin, "reasons": list(status.reasons)}


def _preemption_data(preemption: Preemption) -> dict[str, Any]:
    data: dict[str, Any] = {"node": preemption.node, "victims": list(preemption.victims)}
    if preemption.deallocated:
        data["deallocated"] = preemption.deallocated
    if preemption.message:
        data["message"] = preemption.message
    return data
