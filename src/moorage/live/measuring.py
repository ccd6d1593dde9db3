"""Gauges that read what the parts of the scheduler hold, when somebody asks."""

from collections.abc import Mapping
from typing import Final

from moorage.framework.answers import broken
from moorage.framework.faults import Faults
from moorage.framework.measuring import PluginCounter, counters_of, histograms_of, read_counter
from moorage.kube.election import LeaderElector
from moorage.kube.gate import Lane
from moorage.live.scheduler import LiveScheduler
from moorage.observe.metrics import Reading
from moorage.observe.series import Histogram

#: How Kubernetes' metric spells a gate's stage.
STAGE_LABELS: Final = {"alpha": "ALPHA", "beta": "BETA", "GA": "", "deprecated": "DEPRECATED"}

Values = Mapping[tuple[str, ...], float]


def add_gauges(scheduler: LiveScheduler, elector: LeaderElector | None) -> None:
    """Let the scheduler's metrics show the queue, the cache and the lanes."""
    metrics, queue, cluster = scheduler.metrics, scheduler.queue, scheduler.cluster

    features: Values = {
        (spec.name, STAGE_LABELS[spec.stage]): float(on) for spec, on in scheduler.config.features.gates()
    }

    def pending() -> Values:
        return {(str(place),): count for place, count in queue.pending().items()}

    def incoming() -> Values:
        return dict(queue.counts.incoming.items())

    def unschedulable() -> Values:
        return dict(queue.counts.unschedulable.items())

    def cache() -> Values:
        return {(kind,): count for kind, count in cluster.sizes.items()}

    def in_flight() -> Values:
        return {(label,): count for label, count in queue.in_flight_counts().items()}

    def operations() -> Values:
        return {("binding",): len(scheduler.bindings)}

    def waiting_writes() -> Values:
        return {(lane.name.lower(),): scheduler.lanes.gate.waiting(lane) for lane in Lane}

    metrics.add_gauge(
        "kubernetes_feature_enabled",
        "1 where a feature gate is on, 0 where it is off, with its stage.",
        ("name", "stage"),
        lambda: features,
    )
    metrics.add_gauge("scheduler_pending_pods", "Pods that wait, by queue.", ("queue",), pending)
    metrics.add_counter(
        "scheduler_queue_incoming_pods_total",
        "Pods that entered a queue, by what brought them.",
        ("queue", "event"),
        incoming,
    )
    metrics.add_gauge(
        "scheduler_unschedulable_pods", "Pods that wait, by who rejected them.", ("plugin", "profile"), unschedulable
    )
    metrics.add_gauge("scheduler_cache_size", "What the cache holds.", ("type",), cache)
    metrics.add_gauge("scheduler_inflight_events", "Events kept for pods being scheduled.", ("event",), in_flight)
    metrics.add_gauge("scheduler_goroutines", "Work beside the scheduling loop.", ("operation",), operations)
    metrics.add_gauge("moorage_writes_waiting", "Writes that wait for their turn, by lane.", ("lane",), waiting_writes)
    metrics.add_counter(
        "moorage_events_dropped_total", "Events that were never written.", (), lambda: {(): scheduler.reporter.dropped}
    )
    metrics.add_counter(
        "moorage_plugin_faults_total",
        "What plugins did wrong: raised, or answered what their point does not allow.",
        ("plugin", "extension_point"),
        lambda: scheduler.core.faults.by_point(),
    )
    _add_plugin_counters(scheduler)
    _add_plugin_histograms(scheduler)
    if elector is not None:
        name = elector.settings.name
        metrics.add_gauge(
            "leader_election_master_status",
            "1 where this process leads, 0 where another does.",
            ("name",),
            lambda: {(name,): float(elector.is_leader())},
        )


def _add_plugin_counters(scheduler: LiveScheduler) -> None:
    """What plugins count, under the name of their profile."""
    found: dict[str, list[tuple[str, str, PluginCounter]]] = {}
    for profile, runner in scheduler.engine.runners.items():
        for plugin_name, plugin in runner.profile.plugins.items():
            for counter in counters_of(plugin_name, plugin):
                found.setdefault(counter.name, []).append((profile, plugin_name, counter))
    for name, counters in found.items():
        _, _, first = counters[0]
        scheduler.metrics.add_counter(
            name, first.text, (*first.labels, "profile"), _reading(counters, scheduler.core.faults)
        )


def _add_plugin_histograms(scheduler: LiveScheduler) -> None:
    """What plugins measure, under the name of their profile."""
    shown: dict[str, Histogram] = {}
    for profile, runner in scheduler.engine.runners.items():
        for plugin_name, plugin in runner.profile.plugins.items():
            for one in histograms_of(plugin_name, plugin):
                if one.name not in shown:
                    shown[one.name] = Histogram(one.name, one.text, one.bounds, ("profile",))
                    scheduler.metrics.add_histogram(shown[one.name])
                shown[one.name].values[(profile,)] = one.seen


def _reading(counters: list[tuple[str, str, PluginCounter]], faults: Faults) -> Reading:
    """What they have counted by now. One that cannot be read is told, and left out."""

    def read() -> Values:
        found: dict[tuple[str, ...], float] = {}
        for profile, plugin, counter in counters:
            try:
                found |= {(*labels, profile): value for labels, value in read_counter(counter).items()}
            except BaseException as problem:
                faults.see(broken(plugin, "counters", problem), f"{counter.name} is left out of the metrics")
        return found

    return read
