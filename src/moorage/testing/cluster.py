"""A small cluster to decide on."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from moorage.attempt.placing import Placer
from moorage.cluster import ClusterState
from moorage.columns import Snapshot
from moorage.config import Config, Features, features_of, load_config, parse_config
from moorage.config.gates import DEFAULT_VERSION
from moorage.engine import Engine, make_engine
from moorage.engine.engine import default_registry
from moorage.errors import PluginError
from moorage.framework.registry import Registry, plugin_name
from moorage.framework.status import Status
from moorage.objects import KubeObject, Node, Pod, convert_object
from moorage.testing.decided import Decided
from moorage.testing.nodes import NodeBuilder
from moorage.testing.pods import PodBuilder

#: What can be put into a cluster: a builder, an API struct, or a manifest as parsed from YAML.
Item = NodeBuilder | PodBuilder | KubeObject | Mapping[str, Any]

#: The time at which everything is decided, in seconds since the epoch: after any start time a test is likely to use.
NOW: Final = 4_000_000_000.0

_DEFAULT_PROFILE: Final = "default-scheduler"


class Cluster:
    """Objects, as an API server would hold them. Never changed: `add` gives another cluster.

    >>> from moorage.testing import a_node, a_pod
    >>> cluster = Cluster(a_node("n1").allocatable(cpu="1"), a_node("n2"))
    >>> cluster.decide(a_pod().requests(cpu="2")).chosen
    'n2'
    """

    def __init__(self, *items: Item) -> None:
        self.objects: tuple[KubeObject, ...] = tuple(map(_built, items))

    def add(self, *items: Item) -> "Cluster":
        """This cluster and these objects; one of the same kind and key takes the old one's place."""
        merged = {(type(item), item.key): item for item in (*self.objects, *map(_built, items))}
        return Cluster(*merged.values())

    def decide(
        self,
        pod: PodBuilder | Pod,
        *,
        plugins: Sequence[type] = (),
        args: Mapping[Any, Any] | None = None,
        weights: Mapping[Any, int] | None = None,
        defaults: bool = True,
        config: Mapping[str, Any] | Path | str | None = None,
        seed: int = 0,
        version: str = DEFAULT_VERSION,
        gates: Mapping[str, bool] | None = None,
    ) -> Decided:
        """Decide where one pod goes. What the arguments mean, and what is raised: see `scheduler`."""
        scheduler = self.scheduler(
            plugins=plugins,
            args=args,
            weights=weights,
            defaults=defaults,
            config=config,
            seed=seed,
            version=version,
            gates=gates,
        )
        return scheduler.decide(pod)

    def scheduler(
        self,
        *,
        plugins: Sequence[type] = (),
        args: Mapping[Any, Any] | None = None,
        weights: Mapping[Any, int] | None = None,
        defaults: bool = True,
        config: Mapping[str, Any] | Path | str | None = None,
        seed: int = 0,
        version: str = DEFAULT_VERSION,
        gates: Mapping[str, bool] | None = None,
    ) -> "Scheduler":
        """A scheduler over a copy of this cluster.

        `plugins` are enabled at every point they serve (multiPoint), beside the default ones or, with
        `defaults=False`, alone. `args` gives plugins their arguments (pluginConfig), `weights` their weight in the
        score; both go by class or name. A `config` (a KubeSchedulerConfiguration as mapping, as YAML text or as the
        path of a file) says all of that itself: `plugins` are then only made known to it. `version` ("1.36") and
        `gates` choose whose decisions are taken, as --emulated-version and --feature-gates do.
        """
        registry = default_registry()
        registry.register_all(plugins)
        features = features_of(version, gates)
        if config is None:
            document = enabling(plugins, _by_name(args), _by_name(weights), defaults=defaults)
            parsed = parse_config(document, known=registry.known, features=features)
        elif args or weights or not defaults:
            raise ValueError("a config says which plugins run, with which args and weights: give one or the other")
        else:
            parsed = _parsed(config, registry, features)
        snapshot = Snapshot.of(self.objects, features.request_rules)
        engine = make_engine(snapshot, parsed, registry=registry, seed=seed, now=lambda: NOW)
        return Scheduler(engine, [item.key for item in self.objects if isinstance(item, Node)])


class Scheduler:
    """The real engine over a cluster of its own, which `schedule` fills pod by pod."""

    def __init__(self, engine: Engine, nodes: Iterable[str]) -> None:
        #: The engine, for whatever this class does not offer.
        self.engine = engine
        #: Takes places on nodes and gives them back.
        self.placer = Placer(cluster=ClusterState(engine.snapshot), engine=engine)
        self._nodes = tuple(nodes)

    def decide(self, pod: PodBuilder | Pod) -> Decided:
        """Where the pod would go. Raises PluginError, chained to what was raised, if a plugin breaks."""
        decision = self.engine.explain(self.engine.snapshot.info(_pod(pod)))
        if decision.error is not None:
            raise decision.error
        return Decided(decision, self._nodes)

    def schedule(self, *pods: PodBuilder | Pod) -> list[Decided]:
        """Decide the pods in this order; each that finds a node is reserved there and counts from then on."""
        return [self._schedule(_pod(pod)) for pod in pods]

    def _schedule(self, pod: Pod) -> Decided:
        decided = self.decide(pod)
        if decided.chosen:
            placed = self.placer.reserve(self.engine.reach(self.engine.snapshot.info(pod), decided.chosen))
            if isinstance(placed, Status):
                raise PluginError(placed.plugin, "Reserve", placed.message)
        return decided


def _built(item: Item) -> KubeObject:
    if isinstance(item, NodeBuilder | PodBuilder):
        return item.build()
    return item if isinstance(item, KubeObject) else convert_object(item)


def _pod(pod: PodBuilder | Pod) -> Pod:
    return pod.build() if isinstance(pod, PodBuilder) else pod


def _by_name(values: Mapping[Any, Any] | None) -> dict[str, Any]:
    return {key if isinstance(key, str) else plugin_name(key): value for key, value in (values or {}).items()}


def _parsed(config: Mapping[str, Any] | Path | str, registry: Registry, features: Features) -> Config:
    if isinstance(config, Path):
        text = config.read_text()
        return load_config(text, source=str(config), known=registry.known, features=features)
    if isinstance(config, str):
        return load_config(config, known=registry.known, features=features)
    return parse_config(config, known=registry.known, features=features)


def enabling(
    plugins: Sequence[type], args: Mapping[str, Any] = {}, weights: Mapping[str, int] = {}, *, defaults: bool = True
) -> dict[str, Any]:
    """The configuration that enables these plugins, beside the default ones or alone; args and weights by name."""
    names = [plugin_name(plugin) for plugin in plugins]
    if not defaults:
        names += [name for name in ("PrioritySort", "DefaultBinder") if name not in names]
    enabled = [{"name": name, "weight": weights.get(name, 0)} for name in dict.fromkeys([*names, *weights])]
    at_points: dict[str, Any] = {"multiPoint": {"enabled": enabled, "disabled": [] if defaults else [{"name": "*"}]}}
    sorting = [plugin_name(one) for one in plugins if hasattr(one, "sort_key") or hasattr(one, "less")]
    if sorting:
        # There can be one only: the author's takes the default one's place.
        at_points["queueSort"] = {"enabled": [{"name": name} for name in sorting], "disabled": [{"name": "*"}]}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": _DEFAULT_PROFILE,
                "plugins": at_points,
                "pluginConfig": [{"name": name, "args": value} for name, value in args.items()],
            }
        ],
    }
