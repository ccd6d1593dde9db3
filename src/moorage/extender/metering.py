"""What an extender counts of its requests, in Prometheus' form."""

from prometheus_client import CollectorRegistry, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST

_BOUNDS = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096)


class Meter:
    """The metrics of one extender."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Histogram(
            "moorage_extender_request_duration_seconds",
            "Time a request of a scheduler took, by verb and by how it ended.",
            ("verb", "outcome"),
            registry=self._registry,
            buckets=_BOUNDS,
        )
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def count(self, verb: str, outcome: str, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(verb, outcome).observe(seconds)

    def render(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self._registry)
