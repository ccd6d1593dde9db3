"""Which pods matter more: higher priority first, then those that have run longer."""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

from moorage.columns import PodInfo


def by_importance(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """The pods, the most important first.

    A pod that has not started counts as started now, so it comes after all that have; among such pods kube-scheduler's
    sort puts the one that arrived last first.
    """
    arrived = list(pods)
    waiting = [pod for pod in arrived if not pod.pod.status.start_time]
    started = [pod for pod in arrived if pod.pod.status.start_time]
    return sorted(started + waiting[::-1], key=_key)


def started_at(pod: PodInfo, now: float) -> float:
    """When the pod started, in seconds since the epoch; now if it has not."""
    text = pod.pod.status.start_time
    return parse_time(text) if text else now


@lru_cache(maxsize=65536)
def parse_time(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 time."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _key(pod: PodInfo) -> tuple[int, float]:
    return -pod.priority, started_at(pod, float("inf"))
