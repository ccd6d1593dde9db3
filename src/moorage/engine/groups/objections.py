"""Why a group is not even tried: its members must agree on what holds for all of them."""

import json
from collections.abc import Collection, Iterable

from moorage.columns import GroupInfo, PodInfo
from moorage.config import Features
from moorage.config.gates import POD_GROUP_PREEMPTION_POLICY, QUEUED_POD_GROUPS

_PREEMPTS = "PreemptLowerPriority"


def objection(
    root: GroupInfo,
    members: Iterable[PodInfo],
    scheduled: Iterable[PodInfo],
    profiles: Collection[str],
    features: Features,
) -> str:
    """What the first member says that does not agree with the others; "" where all do."""
    one_by_one = root.is_native and QUEUED_POD_GROUPS not in features
    by_group = POD_GROUP_PREEMPTION_POLICY in features and root.is_native
    policy = (root.preemption_policy or _PREEMPTS) if by_group else ""
    scheduler: str | None = None
    others = () if one_by_one else scheduled
    for pod in (*members, *others):
        scheduler = scheduler or pod.spec.scheduler_name
        if pod.spec.scheduler_name != scheduler:
            names = f"{json.dumps(pod.spec.scheduler_name)} and {json.dumps(scheduler)}"
            return f"all pods in a single pod group should have the same .spec.schedulerName set, got: {names}"
        if one_by_one or not root.is_native:
            continue
        priority = root.priority or 0
        if pod.priority != priority:
            return (
                "all pods in a single pod group should have the same priority as the pod group's priority, "
                f"got {pod.priority} and {priority}"
            )
        own = pod.spec.preemption_policy or _PREEMPTS
        policy = policy or own
        if own != policy:
            of_group = " as the pod group's preemption policy" if by_group else ""
            return (
                f"all pods in a single pod group should have the same preemption policy{of_group}, "
                f"got {own} and {policy}"
            )
    if scheduler is not None and scheduler not in profiles:
        return f"profile not found for scheduler name {json.dumps(scheduler)}"
    return ""
