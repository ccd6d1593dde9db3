"""Which pods matter more: higher priority first, then those that have run longer."""

import math
from collections.abc import Iterable

from moorage.columns import PodInfo


def by_importance(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """The pods, the most important first.

    A pod that has not started counts as started now, so it comes after all that have; among such pods kube-scheduler's
    sort puts the one that arrived last first.
    """
    arrived = list(pods)
    if math.inf in [pod.started for pod in arrived]:
        waiting = [pod for pod in arrived if pod.started == math.inf]
        arrived = [pod for pod in arrived if pod.started != math.inf] + waiting[::-1]
    return sorted(arrived, key=_key)


def _key(pod: PodInfo) -> tuple[int, float]:
    return -pod.priority, pod.started
