"""The WarmSeats plugin at its extension points."""

import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.errors import ApiError, InputError
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import EventHint
from moorage.framework.handle import Handle
from moorage.framework.measuring import PluginCounter
from moorage.framework.points import MAX_SCORE
from moorage.framework.status import SKIP, Status
from moorage.objects import Struct
from moorage.plugins.warm_seats.identities import Identity, checked_way, identity_of, member
from moorage.plugins.warm_seats.memory import Memory
from moorage.values.requests import CPU, MEMORY
from moorage.values.time import parse_time

logger = logging.getLogger(__name__)

_WARM = "WarmSeats"
_SCHEDULED: Final = re.compile(r"Successfully assigned \S+ to (\S+)")
_PAGE, _MOST_PAGES = 500, 20
_OF_BOUND_PODS = "reason=Scheduled,involvedObject.kind=Pod"

HIT, MISS, COLD = "hit", "miss", "cold"


class OwnerRule(Struct, frozen=True, kw_only=True):
    """What pods are the same by whose owner is of a kind, where their annotation does not say."""

    kind: str
    identity: str = "workload"


class WarmSeatsArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """For how long nodes stay warm, how many of an identity, and how many identities are kept in mind."""

    ttl_seconds: int = 1800
    max_nodes: int = 3
    max_identities: int = 10_000
    owners: tuple[OwnerRule, ...] = ()


class _ScheduledEvent(Struct, frozen=True):
    class About(Struct, frozen=True):
        namespace: str = ""
        name: str = ""

    involved_object: About = About()
    message: str = ""
    event_time: str | None = None
    last_timestamp: str | None = None


class WarmSeats:
    """Score: nodes where pods of the same identity ran lately, the latest most, less the fuller they would be.

    Nothing is refused, and whatever is not known counts as cold.
    """

    args_type: ClassVar[type] = WarmSeatsArgs
    name: ClassVar[str] = "WarmSeats"
    #: What `start` needs to be allowed beyond what every scheduler is.
    rights: ClassVar[tuple[tuple[str, list[str], list[str]], ...]] = (("", ["events"], ["list"]),)

    def __init__(self, args: WarmSeatsArgs, handle: Handle) -> None:
        for field in ("ttl_seconds", "max_nodes", "max_identities"):
            if getattr(args, field) < 1:
                raise InputError(f"expected 1 or more, got {getattr(args, field)}", where=f"args.{field}")
        self._rules: Mapping[str, str] = {
            rule.kind: checked_way(rule.identity, where=f"args.owners[{index}].identity")
            for index, rule in enumerate(args.owners)
        }
        self._handle = handle
        self._memory = Memory(
            handle.snapshot.nodes,
            self._identity,
            handle.now,
            ttl=args.ttl_seconds,
            most_nodes=args.max_nodes,
            most_identities=args.max_identities,
        )
        self._placed: Counter[tuple[str, ...]] = Counter()

    def _identity(self, pod: PodInfo) -> Identity | None:
        return identity_of(pod, self._rules)

    # --------------------------------------------------------------------------------------------------------- Score

    def pre_score(self, state: CycleState, pod: PodInfo, _nodes: NodeTable, _rows: Rows) -> Status | None:
        """Find the warm nodes. SKIP for pods that are the same by nothing, and for those that ran nowhere."""
        self._memory.catch_up()
        identity = self._identity(pod)
        if identity is None:
            return SKIP
        warm = self._memory.warm_nodes(identity)
        state.write(_WARM, {name: max(MAX_SCORE - 25 * place, 25) for place, name in enumerate(warm)})
        return None if warm else SKIP

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """The bonus of a warm node, in proportion to what it has left with the pod on it."""
        warm: Mapping[str, int] = state.read(_WARM)
        bonus = warm.get(node.name, 0)
        return int(bonus * _share_left(pod, node)) if bonus else 0

    # ------------------------------------------------------------------------------------------------------- metrics

    def post_bind(self, state: CycleState, _pod: PodInfo, node_name: str) -> None:
        """Count whether the pod came to a warm node."""
        warm: Mapping[str, int] | None = state.get(_WARM)
        if warm is not None:
            self._placed[(HIT if node_name in warm else MISS) if warm else COLD,] += 1

    def counters(self) -> Sequence[PluginCounter]:
        """Pods placed warm, elsewhere although a node was warm, and where none was."""
        text = "Pods of a known identity that were bound: to a warm node, elsewhere, or when no node was warm."
        return (PluginCounter("moorage_warm_seats_total", text, ("result",), self._placed),)

    # -------------------------------------------------------------------------------------------------------- events

    def events_to_register(self) -> Sequence[EventHint]:
        """It refuses nobody."""
        return ()

    # --------------------------------------------------------------------------------------------------------- start

    async def start(self) -> None:
        """After a start: learn from the cluster's events where pods that are gone by now were, by their names.

        What cannot be read is not known; nothing waits for it.
        """
        continuation, known = "", 0
        try:
            for _ in range(_MOST_PAGES):
                query: dict[str, str | int] = {"fieldSelector": _OF_BOUND_PODS, "limit": _PAGE}
                if continuation:
                    query["continue"] = continuation
                page = msgspec.json.decode(await self._handle.host.client.get("/api/v1/events", query))
                for item in page.get("items") or ():
                    known += self._recall(msgspec.convert(item, _ScheduledEvent))
                continuation = page.get("metadata", {}).get("continue", "")
                if not continuation:
                    break
        except (ApiError, msgspec.MsgspecError) as error:
            logger.warning("warm seats of before the start are not known: %s", error)
            return
        logger.info("warm seats: %d pods of before the start are remembered", known)

    def _recall(self, event: _ScheduledEvent) -> int:
        found = _SCHEDULED.match(event.message)
        when = event.last_timestamp or event.event_time
        if found is None or not when:
            return 0
        about = event.involved_object
        self._memory.remember(member(about.namespace, about.name), found[1].rstrip("."), parse_time(when))
        return 1


def _share_left(pod: PodInfo, node: NodeInfo) -> float:
    """The part of the scarcer of cpu and memory that is free once the pod is there."""
    wanted: Mapping[str, Any] = pod.pod_class.request.amounts
    shares = [
        (node.free(name) - wanted.get(name, 0)) / node.allocatable[name]
        for name in (CPU, MEMORY)
        if node.allocatable.get(name)
    ]
    return max(0.0, min(shares, default=1.0))
