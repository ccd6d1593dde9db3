"""A small cluster to decide on."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, overload

from moorage.attempt.placing import Placer
from moorage.cluster import ClusterState
from moorage.columns import Snapshot
from moorage.config import Config, Features, features_of, load_config, parse_config
from moorage.config.gates import DEFAULT_VERSION
from moorage.engine import Engine, make_engine
from moorage.engine.engine import default_registry
from moorage.errors import PluginError
from moorage.framework.registrations import kinds_read
from moorage.framework.registry import Registry, plugin_name
from moorage.framework.status import Status
from moorage.objects import KubeObject, Node, Pod
from moorage.testing.decided import Decided
from moorage.testing.pods import PodBuilder
from moorage.testing.running import Run
from moorage.testing.serving import Item, as_read, built, built_pod
from moorage.testing.touching import compare, culprits, picture

Plugin = TypeVar("Plugin")

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
        self.objects: tuple[KubeObject, ...] = tuple(map(built, items))

    def add(self, *items: Item) -> "Cluster":
        """This cluster and these objects; one of the same kind and key takes the old one's place."""
        merged = {(type(item), item.key): item for item in (*self.objects, *map(built, items))}
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
        registry, parsed = _configured(plugins, args, weights, defaults, config, features_of(version, gates))
        kinds = [kind for plugin in plugins for kind in kinds_read(plugin_name(plugin), plugin)]
        objects = [as_read(item, kinds) for item in self.objects]
        snapshot = Snapshot.of(objects, parsed.features.request_rules)
        engine = make_engine(snapshot, parsed, registry=registry, seed=seed, now=lambda: NOW)
        return Scheduler(engine, [item.key for item in self.objects if isinstance(item, Node)])

    def run(
        self,
        *,
        plugins: Sequence[type] = (),
        args: Mapping[Any, Any] | None = None,
        weights: Mapping[Any, int] | None = None,
        defaults: bool = True,
        config: Mapping[str, Any] | Path | str | None = None,
        seed: int = 1,
        version: str = DEFAULT_VERSION,
        gates: Mapping[str, bool] | None = None,
    ) -> Run:
        """The whole scheduler on a copy of this cluster, over time that jumps. The arguments are those of `scheduler`.

        >>> from moorage.testing import a_node, a_pod
        >>> run = Cluster(a_node("n1")).run()
        >>> run.add(a_pod("web"))
        >>> run.node_of("web")
        'n1'
        """
        registry, parsed = _configured(plugins, args, weights, defaults, config, features_of(version, gates))
        return Run(self.objects, config=parsed, registry=registry, seed=seed)


class Scheduler:
    """The real engine over a cluster of its own, which `schedule` fills pod by pod."""

    def __init__(self, engine: Engine, nodes: Iterable[str]) -> None:
        #: The engine, for whatever this class does not offer.
        self.engine = engine
        #: Takes places on nodes and gives them back.
        self.placer = Placer(cluster=ClusterState(engine.snapshot), engine=engine)
        self._nodes = tuple(nodes)

    @overload
    def plugin(self, plugin: type[Plugin]) -> Plugin: ...
    @overload
    def plugin(self, plugin: str) -> Any: ...
    def plugin(self, plugin: type[Any] | str) -> Any:
        """The instance of a plugin, by class or name."""
        (runner,) = self.engine.runners.values()
        return runner.profile.plugins[plugin if isinstance(plugin, str) else plugin_name(plugin)]

    def decide(self, pod: PodBuilder | Pod) -> Decided:
        """Where the pod would go. Raises PluginError, chained to what was raised, if a plugin breaks, and Touched
        (an AssertionError) if one changed what it may only read."""
        info = self.engine.snapshot.info(built_pod(pod))
        before = picture(self.engine.snapshot, info)
        decision = self.engine.explain(info)
        by = culprits(self.engine.runner_of(info).profile.plugins)
        compare(before, picture(self.engine.snapshot, info), by)
        if decision.error is not None:
            raise decision.error
        return Decided(decision, self._nodes)

    def schedule(self, *pods: PodBuilder | Pod) -> list[Decided]:
        """Decide the pods in this order; each that finds a node is reserved there and counts from then on."""
        return [self._schedule(built_pod(pod)) for pod in pods]

    def _schedule(self, pod: Pod) -> Decided:
        decided = self.decide(pod)
        if decided.chosen:
            placed = self.placer.reserve(self.engine.reach(self.engine.snapshot.info(pod), decided.chosen))
            if isinstance(placed, Status):
                raise PluginError(placed.plugin, "Reserve", placed.message)
        return decided


def _configured(
    plugins: Sequence[type],
    args: Mapping[Any, Any] | None,
    weights: Mapping[Any, int] | None,
    defaults: bool,
    config: Mapping[str, Any] | Path | str | None,
    features: Features,
) -> tuple[Registry, Config]:
    registry = default_registry()
    registry.register_all(plugins)
    if config is not None:
        if args or weights or not defaults:
            raise ValueError("a config says which plugins run, with which args and weights: give one or the other")
        return registry, _parsed(config, registry, features)
    document = enabling(plugins, _by_name(args), _by_name(weights), defaults=defaults)
    return registry, parse_config(document, known=registry.known, features=features)


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
