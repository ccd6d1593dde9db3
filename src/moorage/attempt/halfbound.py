"""Gangs of which some members run and others do not: binds are single requests, and some may fail.

Between the first and the last bind of a gang others may see a part of it. Where that does not end, because a bind was
refused or because the process died in between, the missing members are tried again before all else, where they were
decided if that is still possible. Where it cannot be mended, people are told which members run alone; and these are
deleted where the group asks for it.

A gang that was whole once and lost members later is none of this: its condition says so.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from moorage.attempt import reporting
from moorage.attempt.groupstatuses import GroupStatusWriter
from moorage.attempt.world import World
from moorage.cluster import ClusterState
from moorage.columns import GroupInfo, PodInfo
from moorage.columns.groups import HALF_BOUND
from moorage.framework.writes import Gone, NotDone
from moorage.objects import Condition, LabelledPodGroup
from moorage.queue import Place, QueuedGroup, SchedulingQueue
from moorage.values.time import format_time

logger = logging.getLogger(__name__)

TELL_AFTER: Final = 4.0
"""Seconds without progress after which people are told."""

RETRY: Final = 1.0
"""Seconds between two attempts at the missing members without anything that could help, until people are told."""

STEP: Final = 0.1
"""Seconds between two attempts, at least, where something has happened that may help, or where time may."""

PART: Final = 0.005
LONGEST: Final = 10.0
"""Where only time may help: this part of the time for which it has not, and seconds between two attempts at most."""

LONGER_AFTER: Final = 60.0
"""Seconds without progress after which a look is taken only every `RETRY`."""

#: The condition of a group, and its reasons.
CONDITION: Final = "HalfBound"
RUN_ALONE, WHOLE, NONE_LEFT = "MembersRunAlone", "Whole", "NoneLeft"

DELETE: Final = "Delete"
_MOST_NAMED: Final = 10


@dataclass(slots=True)
class _Part:
    """A gang that is bound in part."""

    #: Of the group: one that is made anew under the name of an old one is another.
    uid: str
    bound: int
    #: When a member was bound last, or since when it is known.
    since: float
    tried: float = float("-inf")
    #: When to look next whether the missing members are to be tried, if no event comes before.
    look_at: float = float("-inf")
    #: The last event that they were asked about ahead of others.
    asked: int = 0
    is_told: bool = False


class HalfBoundGangs:
    """Watches over gangs. `look` is called between attempts; `next` gives what has to be tried before all else."""

    def __init__(
        self,
        *,
        world: World,
        cluster: ClusterState,
        queue: SchedulingQueue,
        statuses: GroupStatusWriter,
        wake: Callable[[], None],
    ) -> None:
        self._world = world
        self._cluster = cluster
        self._queue = queue
        self._statuses = statuses
        self._wake = wake
        self._groups = cluster.snapshot.groups
        self._touched: set[str] = set()
        self._parts: dict[str, _Part] = {}
        #: Gangs that were whole once: the uid of the group by its path.
        self._whole: dict[str, str] = {}
        self._groups.watch(self._touched.add)

    @property
    def has_work(self) -> bool:
        """Whether `look` or `next` has something to look at."""
        return bool(self._touched) or any(self._is_to_look_at(part) for part in self._parts.values())

    def look(self) -> bool:
        """See what has become of the gangs whose pods came, went or got nodes. Whether there were any."""
        touched = list(self._touched)
        self._touched.clear()
        for path in touched:
            group = self._groups.get(path)
            if group is None or not group.min_count:
                self._forget(path)
            else:
                self._examine(group, group.min_count)
        return bool(touched)

    def next(self) -> QueuedGroup | None:
        """Missing members that are to be tried now, before room is given to others.

        They are where something happened that may help, or where time does: a bind that was refused is tried again. As
        long as nobody was told they are tried without that, too, every now and then.
        """
        for path, part in self._parts.items():
            if not self._is_to_look_at(part):
                continue
            now, root = self._world.now(), self._groups.root_of(path)
            part.look_at = now + STEP
            # An event that was put off may be what they wait for.
            part.asked, helped = self._queue.ask_about(root.path if root is not None else "", part.asked)
            if root is not None and self._is_due(root.path, part, now, helped=helped):
                entity = self._queue.pop_group(root.path)
                if entity is not None:
                    part.tried = now
                    return entity
        return None

    def _is_to_look_at(self, part: _Part) -> bool:
        return part.asked != self._queue.last_event or part.look_at <= self._world.now()

    def _is_due(self, key: str, part: _Part, now: float, *, helped: bool) -> bool:
        found = self._queue.find(key)
        if found is None or found[0] is Place.GATED:
            return False
        waited = now - part.tried
        if found[0] is Place.UNSCHEDULABLE:
            return not part.is_told and waited >= RETRY
        if found[1].rejecting_plugins:
            return waited >= STEP or (helped and not part.is_told)
        return waited >= min(max(STEP, PART * (now - part.since)), LONGEST)

    # ------------------------------------------------------------------------------------------------- what is found

    def _examine(self, group: GroupInfo, wanted: int) -> None:
        path = group.path
        part = self._parts.get(path)
        if part is not None and part.uid != group.uid:
            del self._parts[path]
            part = None
        was_whole = self._whole.get(path) == group.uid
        if was_whole and part is None:
            return
        bound = self._groups.members(path).bound
        if bound >= wanted:
            self._whole[path] = group.uid
            self._statuses.placed(group)
            if part is not None and part.is_told:
                self._statuses.set(group, CONDITION, "False", WHOLE, "all members that are needed run")
            self._parts.pop(path, None)
        elif not bound:
            if part is not None and part.is_told:
                self._statuses.set(group, CONDITION, "False", NONE_LEFT, "no member runs any more")
            self._forget(path)
        elif not was_whole and not self._was_whole(group):
            if part is None or bound > part.bound:
                now = self._world.now()
                if part is None:
                    part = self._parts[path] = _Part(group.uid, bound, now)
                    self._look_later(path, part)
                part.since = now
            part.bound = bound

    def _was_whole(self, group: GroupInfo) -> bool:
        if self._statuses.was_placed(group):
            return True
        return isinstance(group.item, LabelledPodGroup) and group.item.status.phase in ("Running", "Finished")

    def _forget(self, path: str) -> None:
        self._parts.pop(path, None)
        if self._groups.get(path) is None:
            self._whole.pop(path, None)
            self._statuses.forget(path)

    def _look_later(self, path: str, part: _Part) -> None:
        """Look at its missing members every now and then, until it is whole or gone."""

        def again() -> None:
            if self._parts.get(path) is not part:
                return
            if not part.is_told and self._world.now() - part.since >= TELL_AFTER:
                self._tell(path, part)
            self._look_later(path, part)
            self._wake()

        is_fresh = self._world.now() - part.since < LONGER_AFTER
        self._world.call_later(STEP if is_fresh else RETRY, again)

    # -------------------------------------------------------------------------------------------------- what follows

    def _tell(self, path: str, part: _Part) -> None:
        """Say which members run alone; delete them where the group asks for it."""
        group = self._groups.get(path)
        if group is None:
            return
        part.is_told = True
        members = self._groups.members(path)
        bound = [pod for uid, pod in members.scheduled.items() if not self._cluster.is_assumed(uid)]
        missing = [pod for uid, pod in members.all.items() if uid not in {one.uid for one in bound}]
        deletes = group.item.metadata.annotations.get(HALF_BOUND) == DELETE
        note = (
            f"{len(bound)} of {group.min_count} members that are needed run alone: {_named(bound)}; "
            f"without a node: {_named(missing) or 'none, others are gone'}"
        )
        if deletes:
            note += f"; those that run are deleted, as {HALF_BOUND} asks"
        logger.warning("group %s is bound in part: %s", group.key, note)
        self._statuses.set(group, CONDITION, "True", RUN_ALONE, note)
        profile = bound[0].spec.scheduler_name if bound else ""
        if profile in self._queue.profiles:
            self._world.record(reporting.runs_alone(profile, bound[0], note, group))
            for pod in bound:
                self._world.record(reporting.runs_alone(profile, pod, note))
        if deletes:
            for pod in bound:
                self._world.spawn(self._delete(pod, note))

    async def _delete(self, pod: PodInfo, note: str) -> None:
        condition = Condition(
            type="DisruptionTarget",
            status="True",
            reason=RUN_ALONE,
            message=note,
            last_transition_time=format_time(self._world.now()),
            observed_generation=pod.pod.metadata.generation,
        )
        answer = await self._world.evict(pod, condition)
        if isinstance(answer, NotDone) and not isinstance(answer, Gone):
            logger.warning("pod %s runs without its gang and could not be deleted: %s", pod.key, answer.message)


def _named(pods: list[PodInfo]) -> str:
    names = sorted(pod.name for pod in pods)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
