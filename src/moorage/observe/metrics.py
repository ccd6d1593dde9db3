"""kube-scheduler's metrics, by its names, labels and buckets, so that its dashboards and alerts work unchanged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from moorage.engine import GroupOutcome
from moorage.engine.timing import PutDown
from moorage.observe.series import Counter, Histogram, exponential

_CYCLE: Final = exponential(0.001, 2, 15)
_POINT: Final = exponential(0.0001, 2, 12)
_PLUGIN: Final = exponential(0.00001, 1.5, 20)

#: Values by label values, worked out when somebody asks.
Reading = Callable[[], Mapping[tuple[str, ...], float]]

SCHEDULED, UNSCHEDULABLE, ERROR = "scheduled", "unschedulable", "error"
WAITING_ON_PREEMPTION = "waiting_on_preemption"


@dataclass(frozen=True)
class Gauge:
    """A value that is read when somebody asks."""

    name: str
    text: str
    labels: tuple[str, ...]
    read: Reading
    #: Some of what is read has only ever grown.
    is_counter: bool = False


class SchedulerMetrics:
    """What the scheduler counts. Gauges are added by whoever holds what they show."""

    def __init__(self) -> None:
        self.schedule_attempts = Counter(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule a pod, by how they ended.",
            ("result", "profile"),
        )
        self.attempt_duration = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Time an attempt took: the decision and, where there is one, the binding.",
            _CYCLE,
            ("result", "profile"),
        )
        self.algorithm_duration = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds", "Time a decision took.", _CYCLE
        )
        self.sli_duration = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "Time from when a pod could first be scheduled until it was, however many attempts it took.",
            exponential(0.01, 2, 20),
            ("attempts",),
        )
        self.pod_attempts = Histogram(
            "scheduler_pod_scheduling_attempts", "Attempts a scheduled pod needed.", exponential(1, 2, 5)
        )
        self.group_attempts = Counter(
            "scheduler_podgroup_schedule_attempts_total",
            "Attempts to schedule a group of pods, by how they ended.",
            ("result", "profile"),
        )
        self.group_attempt_duration = Histogram(
            "scheduler_podgroup_scheduling_attempt_duration_seconds",
            "Time an attempt at a group took, until its members were on their way.",
            _CYCLE,
            ("result", "profile"),
        )
        self.group_algorithm_duration = Histogram(
            "scheduler_podgroup_scheduling_algorithm_duration_seconds", "Time a decision on a group took.", _CYCLE
        )
        self.preemption_attempts = Counter(
            "scheduler_preemption_attempts_total", "How often preemption was considered."
        )
        self.preemption_victims = Histogram(
            "scheduler_preemption_victims", "Pods chosen to leave, for each preemption.", exponential(1, 2, 7)
        )
        self.permit_wait = Histogram(
            "scheduler_permit_wait_duration_seconds", "Time pods were held at Permit.", _CYCLE, ("result",)
        )
        self.point_duration = Histogram(
            "scheduler_framework_extension_point_duration_seconds",
            "Time all plugins of an extension point took.",
            _POINT,
            ("extension_point", "status", "profile"),
        )
        self.plugin_duration = Histogram(
            "scheduler_plugin_execution_duration_seconds",
            "Time one call of a plugin took, in one of ten cycles. Verdicts and scores that are kept are no calls.",
            _PLUGIN,
            ("plugin", "extension_point", "status"),
        )
        self.hint_duration = Histogram(
            "scheduler_queueing_hint_execution_duration_seconds",
            "Time a plugin took to say whether an event helps a pod.",
            _PLUGIN,
            ("plugin", "event", "hint"),
        )
        self.loop_blocks = Counter(
            "moorage_event_loop_blocks_total",
            "How often the event loop was held up for seconds, by the plugin that held it (empty: none).",
            ("plugin",),
        )
        self.extender_duration = Histogram(
            "moorage_scheduler_extender_request_duration_seconds",
            "Time extenders took to answer, by URL, by verb, and by how that ended.",
            _CYCLE,
            ("extender", "verb", "outcome"),
        )
        self.gauges: list[Gauge] = []
        self._further: list[Histogram] = []

    @property
    def counters(self) -> list[Counter]:
        """Every counter."""
        return [one for one in vars(self).values() if isinstance(one, Counter)]

    @property
    def histograms(self) -> list[Histogram]:
        """Every histogram."""
        return [one for one in vars(self).values() if isinstance(one, Histogram)] + self._further

    def add_histogram(self, histogram: Histogram) -> None:
        """Show a distribution that somebody else keeps."""
        self._further.append(histogram)

    def add_gauge(self, name: str, text: str, labels: tuple[str, ...], read: Reading) -> None:
        """Show a value that is read when somebody asks."""
        self.gauges.append(Gauge(name, text, labels, read))

    def add_counter(self, name: str, text: str, labels: tuple[str, ...], read: Reading) -> None:
        """Show a count that somebody else keeps."""
        self.gauges.append(Gauge(name, text, labels, read, is_counter=True))

    # What happens to pods (attempt.world.Observer).

    def decided(self, _outcome: object, seconds: float) -> None:
        """A decision took so long."""
        self.algorithm_duration.observe(seconds)

    def decided_group(self, _key: str, outcome: GroupOutcome, seconds: float) -> None:
        """A decision on a group took so long."""
        if outcome.is_error:
            result = ERROR
        elif outcome.status is None:
            result = SCHEDULED
        else:
            result = WAITING_ON_PREEMPTION if outcome.is_waiting else UNSCHEDULABLE
        profile = outcome.members[0].pod.spec.scheduler_name
        self.group_attempts.inc(result, profile)
        self.group_attempt_duration.observe(seconds, result, profile)
        self.group_algorithm_duration.observe(seconds)

    def sent_back(self, _failure: object) -> None:
        """Counted by `failed`."""

    def point(self, point: str, label: str, profile: str) -> PutDown:
        """For how long the plugins of a point take."""
        return self.point_duration.of(point, label, profile).put_down.append

    def call(self, point: str, label: str, plugin: str) -> PutDown:
        """For how long one call of a plugin takes."""
        return self.plugin_duration.of(plugin, point, label).put_down.append

    def sum_up(self) -> None:
        """Sum up what was put down of these."""
        self.point_duration.sum_up()
        self.plugin_duration.sum_up()

    def held(self, label: str, seconds: float) -> None:
        """A pod was held at Permit for so long."""
        self.permit_wait.observe(seconds, label)

    def preempting(self, victims: int | None) -> None:
        """Preemption was considered; so many victims were chosen, None where no node was."""
        self.preemption_attempts.inc()
        if victims is not None:
            self.preemption_victims.observe(victims)

    def scheduled(self, profile: str, attempts: int, *, attempt: float, since_ready: float | None) -> None:
        """A pod was bound; times in seconds."""
        self.schedule_attempts.inc(SCHEDULED, profile)
        self.attempt_duration.observe(attempt, SCHEDULED, profile)
        self.pod_attempts.observe(attempts)
        if since_ready is not None:
            self.sli_duration.observe(since_ready, "15+" if attempts >= 15 else str(attempts))

    def failed(self, profile: str, *, is_error: bool, attempt: float) -> None:
        """An attempt ended without a node."""
        result = ERROR if is_error else UNSCHEDULABLE
        self.schedule_attempts.inc(result, profile)
        self.attempt_duration.observe(attempt, result, profile)
