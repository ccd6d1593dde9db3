"""What the server counts, under Kubernetes' names."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from moorage.apiserver.requests import Request
from moorage.apiserver.store import Store


class Metrics:
    """Counts requests; turned into metrics only when somebody asks, to keep counting cheap."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.watches = 0
        self._requests: Counter[tuple[str, str, str, str, int]] = Counter()
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def count(self, request: Request, code: int) -> None:
        """A request was answered."""
        target = request.target
        verb = request.verb or request.method
        if target is None:
            self._requests[verb, "", "", "", code] += 1
        else:
            self._requests[verb.upper(), target.group, target.version, target.resource, code] += 1

    def count_refused(self, method: str, code: int) -> None:
        """A request was refused before anybody looked at what it wants."""
        self._requests[method, "", "", "", code] += 1

    def text(self) -> bytes:
        """Everything in Prometheus' format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The metrics of this moment."""
        labels = ["verb", "group", "version", "resource", "code"]
        requests = CounterMetricFamily("apiserver_request", "Requests answered.", labels=labels)
        for (verb, group, version, resource, code), count in self._requests.items():
            requests.add_metric([verb, group, version, resource, str(code)], count)
        yield requests
        running = GaugeMetricFamily("apiserver_longrunning_requests", "Watches under way.", labels=["verb"])
        running.add_metric(["WATCH"], self.watches)
        yield running
        objects = GaugeMetricFamily("apiserver_resource_objects", "Objects stored.", labels=["resource"])
        for collection in self.store.collections():
            objects.add_metric([collection.name], len(collection))
        yield objects
        yield GaugeMetricFamily("apiserver_storage_revision", "The latest revision.", value=self.store.revision)
