"""Metrics: kube-scheduler's names and buckets, in Prometheus' text format."""

from prometheus_client.parser import text_string_to_metric_families

from moorage.observe.exposition import Exposition
from moorage.observe.metrics import SchedulerMetrics
from moorage.observe.series import Histogram, exponential


def rendered(metrics: SchedulerMetrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = Exposition(metrics).render().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def labels(**values: str) -> frozenset[tuple[str, str]]:
    return frozenset(values.items())


def test_exponential_buckets() -> None:
    assert exponential(1, 2, 5) == (1, 2, 4, 8, 16)


def test_an_observation_falls_into_the_first_bucket_that_holds_it() -> None:
    histogram = Histogram("h", "", (1.0, 2.0, 4.0))
    for value in (0.5, 1.0, 1.5, 4.0, 5.0):
        histogram.observe(value)
    assert histogram.values[()].counts == [2, 1, 1, 1]
    assert histogram.values[()].total == 12.0


def test_a_scheduled_pod_is_counted() -> None:
    metrics = SchedulerMetrics()
    metrics.scheduled("mine", 2, attempt=0.003, since_ready=1.0)
    metrics.failed("mine", is_error=False, attempt=0.001)
    metrics.failed("mine", is_error=True, attempt=0.001)
    seen = rendered(metrics)
    for result in ("scheduled", "unschedulable", "error"):
        assert seen["scheduler_schedule_attempts_total", labels(result=result, profile="mine")] == 1
    name = "scheduler_scheduling_attempt_duration_seconds_bucket"
    assert seen[name, labels(result="scheduled", profile="mine", le="0.002")] == 0
    assert seen[name, labels(result="scheduled", profile="mine", le="0.004")] == 1
    assert seen[name, labels(result="scheduled", profile="mine", le="+Inf")] == 1
    assert seen["scheduler_pod_scheduling_attempts_sum", labels()] == 2
    assert seen["scheduler_pod_scheduling_sli_duration_seconds_count", labels(attempts="2")] == 1


def test_many_attempts_share_a_label() -> None:
    metrics = SchedulerMetrics()
    metrics.scheduled("mine", 40, attempt=0.003, since_ready=1.0)
    assert rendered(metrics)["scheduler_pod_scheduling_sli_duration_seconds_count", labels(attempts="15+")] == 1


def test_gauges_are_read_when_asked_for() -> None:
    metrics = SchedulerMetrics()
    waiting = {"active": 3}
    metrics.add_gauge("scheduler_pending_pods", "", ("queue",), lambda: {(k,): v for k, v in waiting.items()})
    exposition = Exposition(metrics)
    assert 'scheduler_pending_pods{queue="active"} 3.0' in exposition.render().decode()
    waiting["active"] = 5
    assert 'scheduler_pending_pods{queue="active"} 5.0' in exposition.render().decode()


def test_the_process_shows_itself() -> None:
    assert ("process_resident_memory_bytes", labels()) in rendered(SchedulerMetrics())
