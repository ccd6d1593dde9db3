"""Which pods matter more: higher priority first, then those that have run longer."""

import math
from collections.abc import Iterable

from moorage.columns import PodInfo
from moorage.plugins.default_preemption.rules import PreemptionRules


def by_importance(pods: Iterable[PodInfo], rules: PreemptionRules) -> list[PodInfo]:
    """The pods, the most important first; those alike stay in their order.

    A pod that has not started counts as started now, so it comes after all that have. QUIRK: among such pods the sort
    of kube-scheduler before 1.37 puts the one that arrived last first.
    """
    arrived = list(pods)
    if not rules.start_times_once and math.inf in [pod.started for pod in arrived]:
        waiting = [pod for pod in arrived if pod.started == math.inf]
        arrived = [pod for pod in arrived if pod.started != math.inf] + waiting[::-1]
    return sorted(arrived, key=_key)


def _key(pod: PodInfo) -> tuple[int, float]:
    return -pod.priority, pod.started
