"""What we write into groups' status: the condition that says whether the group was placed, and why not.

For each group one request is under way at a time, and of what waits behind it only the newest is written.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

from moorage.attempt.failing import SCHEDULER_ERROR, UNSCHEDULABLE
from moorage.attempt.world import Job, World
from moorage.columns import GroupInfo, PodGroups
from moorage.config import Features
from moorage.config.gates import POD_GROUPS_BETA
from moorage.engine import GroupVerdict
from moorage.framework.status import Code
from moorage.framework.writes import Conflict, Gone, NotDone
from moorage.objects import Condition, LabelledPodGroup, PodGroup
from moorage.values.time import format_time

logger = logging.getLogger(__name__)

SCHEDULED: Final = "Scheduled"
#: As 1.36 and 1.37 call it; groups of scheduling.x-k8s.io have it under the name of the newer.
POD_GROUP_SCHEDULED: Final = "PodGroupScheduled"
POD_GROUP_INITIALLY_SCHEDULED: Final = "PodGroupInitiallyScheduled"

_TRIES: Final = 4

ConditionTree = Mapping[str, Any]


class GroupStatusWriter:
    """Patches the status of groups, in jobs of their own. Nothing here waits but `drain`."""

    def __init__(self, *, world: World, groups: PodGroups, features: Features) -> None:
        self._world = world
        self._groups = groups
        self._native = POD_GROUP_INITIALLY_SCHEDULED if POD_GROUPS_BETA in features else POD_GROUP_SCHEDULED
        self._waiting: dict[str, dict[str, ConditionTree]] = {}
        self._writing: dict[str, Job] = {}
        #: What was written last, by path, and over which version: what watches bring lags behind.
        self._written: dict[str, tuple[str, dict[str, ConditionTree]]] = {}

    def tell(self, verdict: GroupVerdict) -> None:
        """Say whether the group was placed. Once it was, a later refusal (of further members) is not written over."""
        group, status = verdict.group, verdict.status
        if status is None:
            self.placed(group)
            return
        reason = SCHEDULER_ERROR if status.code is Code.ERROR else UNSCHEDULABLE
        self.set(group, self._type(group), "False", reason, status.message, keeps_true=True)

    def placed(self, group: GroupInfo) -> None:
        """Say that the group was placed."""
        self.set(group, self._type(group), "True", SCHEDULED, "", keeps_true=True)

    def was_placed(self, group: GroupInfo) -> bool:
        """Whether that was said."""
        known = self._known(group).get(self._type(group))
        return known is not None and known["status"] == "True"

    def _type(self, group: GroupInfo) -> str:
        return self._native if group.is_native else POD_GROUP_INITIALLY_SCHEDULED

    def set(
        self, group: GroupInfo, type_: str, status: str, reason: str, message: str, *, keeps_true: bool = False
    ) -> None:
        """Have a condition as it should be; nothing where it is that already."""
        known = self._known(group).get(type_)
        if keeps_true and known is not None and known["status"] == "True" and status != "True":
            return
        now = format_time(self._world.now())
        same = known is not None and known["status"] == status
        condition = {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": known["lastTransitionTime"] if known is not None and same else now,
            "observedGeneration": group.item.metadata.generation,
        }
        if condition == known:
            return
        self._waiting.setdefault(group.path, {})[type_] = condition
        if group.path not in self._writing:
            self._writing[group.path] = self._world.spawn(self._write_waiting(group.path))

    def forget(self, path: str) -> None:
        """The group is gone."""
        self._written.pop(path, None)

    async def drain(self) -> None:
        """Wait until everything is written or given up; put a deadline round it."""
        while self._writing:
            await self._world.ended(list(self._writing.values()))

    def _known(self, group: GroupInfo) -> dict[str, ConditionTree]:
        """The conditions as they are, or will be once all is written."""
        known = {one.type: _tree(one) for one in _conditions(group)}
        version, written = self._written.get(group.path, ("", {}))
        if version == group.item.metadata.resource_version:
            known.update(written)
        return {**known, **self._waiting.get(group.path, {})}

    async def _write_waiting(self, path: str) -> None:
        try:
            while (waiting := self._waiting.pop(path, None)) is not None:
                group = self._groups.get(path)
                if group is not None:
                    self._written[path] = group.item.metadata.resource_version, {**self._known(group), **waiting}
                    if not await self._write(group, waiting):
                        self._written.pop(path, None)
        finally:
            self._waiting.pop(path, None)
            del self._writing[path]

    async def _write(self, group: GroupInfo, conditions: Mapping[str, ConditionTree]) -> bool:
        """Merge conditions into those that are there; whether that was done."""
        kind, meta = type(group.item), group.item.metadata
        there, version = _conditions(group), meta.resource_version
        for _ in range(_TRIES):
            kept = [_tree(one) for one in there if one.type not in conditions]
            patch: dict[str, Any] = {"status": {"conditions": [*kept, *conditions.values()]}}
            if version:
                patch["metadata"] = {"resourceVersion": version}
            answer = await self._world.patch(kind, meta.name, meta.namespace, patch, "status")
            if not isinstance(answer, NotDone):
                return True
            if isinstance(answer, Gone):
                return False
            if not isinstance(answer, Conflict):
                logger.warning("the status of group %s was not written: %s", group.key, answer.message)
                return False
            current = await self._world.read(kind, meta.name, meta.namespace)
            if isinstance(current, NotDone) or not isinstance(current, PodGroup | LabelledPodGroup):
                return False
            there, version = current.status.conditions, current.metadata.resource_version
        return False


def _conditions(group: GroupInfo) -> tuple[Condition, ...]:
    item = group.item
    return item.status.conditions if isinstance(item, PodGroup | LabelledPodGroup) else ()


def _tree(condition: Condition) -> ConditionTree:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": condition.last_transition_time,
        "observedGeneration": condition.observed_generation,
    }
