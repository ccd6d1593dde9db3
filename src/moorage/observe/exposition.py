"""The text a scraper reads, out of our own series and those of the process."""

from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from moorage.observe.metrics import Gauge, SchedulerMetrics
from moorage.observe.series import Counter, Histogram

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Exposition:
    """Renders metrics on demand."""

    def __init__(self, metrics: SchedulerMetrics) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_SeriesCollector(metrics))
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def render(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self._registry)


class _SeriesCollector(Collector):
    def __init__(self, metrics: SchedulerMetrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        yield from map(_counter, self._metrics.counters)
        yield from map(_histogram, self._metrics.histograms)
        yield from map(_gauge, self._metrics.gauges)


def _counter(counter: Counter) -> Metric:
    family = CounterMetricFamily(counter.name, counter.text, labels=counter.labels)
    for labels, value in counter.values.items():
        family.add_metric(labels, value)
    return family


def _histogram(histogram: Histogram) -> Metric:
    family = HistogramMetricFamily(histogram.name, histogram.text, labels=histogram.labels)
    histogram.sum_up()
    bounds = [*(_bound(bound) for bound in histogram.bounds), "+Inf"]
    for labels, observations in histogram.values.items():
        buckets = list(zip(bounds, map(float, accumulate(observations.counts)), strict=True))
        family.add_metric(labels, buckets, observations.total)
    return family


def _gauge(gauge: Gauge) -> Metric:
    kind = CounterMetricFamily if gauge.is_counter else GaugeMetricFamily
    family = kind(gauge.name, gauge.text, labels=gauge.labels)
    for labels, value in gauge.read().items():
        family.add_metric(labels, value)
    return family


def _bound(bound: float) -> str:
    return repr(float(f"{bound:.12g}"))
