"""The cluster that `moorage.load` and `moorage.connect` give."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from moorage.columns import Snapshot
from moorage.config.gates import DEFAULT_VERSION
from moorage.errors import InputError, did_you_mean
from moorage.notebook.live import list_objects
from moorage.notebook.reading import Source, read_objects
from moorage.objects import KubeObject, Node, Pod
from moorage.testing import Cluster, Decided, PodBuilder
from moorage.testing.tables import Table, html_table, text_table

Config = Mapping[str, Any] | Path | str

#: The resources that a table of nodes shows, and the unit it shows them in.
_SHOWN = {"cpu": 1, "memory": 2**20}


def load(*sources: Source) -> "LoadedCluster":
    """A cluster from files, folders, kubectl's lists, YAML or JSON texts, and dicts. Raises InputError."""
    return LoadedCluster(read_objects(*sources))


def connect(kubeconfig: str = "", *, context: str = "") -> "LoadedCluster":
    """The cluster that kubectl talks to, as it is now. Nothing in it is changed by what is decided here.

    Raises InputError where no kubeconfig leads to a cluster, ApiError where nodes and pods cannot be read.
    """
    objects, left_out = list_objects(kubeconfig, context)
    return LoadedCluster(objects, left_out=left_out)


class LoadedCluster:
    """Objects of a cluster, never changed, and what a scheduler would decide on them.

    Shown in a notebook, it is a table of its nodes.
    """

    def __init__(self, objects: Sequence[KubeObject], *, left_out: Sequence[str] = ()) -> None:
        self._cluster = Cluster(*objects)
        #: Kinds that could not be read: what depends on them is decided as if there were none.
        self.left_out = tuple(left_out)

    @property
    def objects(self) -> tuple[KubeObject, ...]:
        """Every object, decoded to the fields that scheduling reads."""
        return self._cluster.objects

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return tuple(item.metadata.name for item in self.objects if isinstance(item, Node))

    @property
    def pending(self) -> tuple[str, ...]:
        """The pods without a node, as namespace/name, in the order a scheduler takes them: by priority, then age."""
        waiting = [pod for pod in self._pods() if not pod.spec.node_name and not pod.is_terminal]
        waiting.sort(key=lambda pod: (-(pod.spec.priority or 0), pod.metadata.creation_timestamp or ""))
        return tuple(pod.key for pod in waiting)

    def add(self, *sources: Source) -> "LoadedCluster":
        """This cluster and these objects; one of the same kind and name takes the old one's place."""
        merged = self._cluster.add(*read_objects(*sources))
        return LoadedCluster(merged.objects, left_out=self.left_out)

    def pod(self, pod: str | Mapping[str, Any] | PodBuilder | Pod) -> Pod:
        """A pod by its name, as a manifest or as built. Raises InputError."""
        if isinstance(pod, PodBuilder):
            return pod.build()
        if isinstance(pod, Pod):
            return pod
        if isinstance(pod, str):
            return self._named(pod)
        read = read_objects(pod)
        if len(read) != 1 or not isinstance(read[0], Pod):
            raise InputError(f"expected one Pod, got {', '.join(item.KIND for item in read) or 'nothing'}", where="pod")
        return read[0]

    def decide(
        self,
        pod: str | Mapping[str, Any] | PodBuilder | Pod,
        *,
        plugins: Sequence[type] = (),
        args: Mapping[Any, Any] | None = None,
        weights: Mapping[Any, int] | None = None,
        defaults: bool = True,
        config: Config | None = None,
        seed: int = 0,
        version: str = DEFAULT_VERSION,
        gates: Mapping[str, bool] | None = None,
    ) -> Decided:
        """Where the pod would go, and why.

        `pod` is a manifest, or the name of a pod of the cluster ("web-0" or "namespace/web-0"); one that runs
        already is decided as if it did not. The rest as in `moorage.testing.Cluster.scheduler`.
        """
        found = self.pod(pod)
        bare = _without_node(found)
        others = [item for item in self.objects if not (isinstance(item, Pod) and item.key == found.key)]
        return Cluster(*others).decide(
            bare,
            plugins=plugins,
            args=args,
            weights=weights,
            defaults=defaults,
            config=config,
            seed=seed,
            version=version,
            gates=gates,
        )

    def schedule(
        self,
        *,
        plugins: Sequence[type] = (),
        args: Mapping[Any, Any] | None = None,
        weights: Mapping[Any, int] | None = None,
        defaults: bool = True,
        config: Config | None = None,
        seed: int = 0,
        version: str = DEFAULT_VERSION,
        gates: Mapping[str, bool] | None = None,
    ) -> list[Decided]:
        """Decide all pending pods in their order, each that finds a node counting there for those behind it."""
        pods = {pod.key: pod for pod in self._pods()}
        waiting = [pods[key] for key in self.pending]
        scheduler = self._cluster.scheduler(
            plugins=plugins,
            args=args,
            weights=weights,
            defaults=defaults,
            config=config,
            seed=seed,
            version=version,
            gates=gates,
        )
        return scheduler.schedule(*waiting)

    # ------------------------------------------------------------------------------------------------------- as a table

    def __repr__(self) -> str:
        return (
            f"LoadedCluster({len(self.nodes)} nodes, {sum(1 for _ in self._pods())} pods, {len(self.pending)} pending)"
        )

    def __str__(self) -> str:
        return text_table(self._table())

    def _repr_html_(self) -> str:
        return html_table(self._table())

    def _table(self) -> Table:
        rows = [
            (node.name, str(len(node.pods)), *(_share(node.requested, node.allocatable, name) for name in _SHOWN))
            for node in Snapshot.of(self.objects).nodes
        ]
        return Table(repr(self), ("node", "pods", "cpu (m)", "memory (Mi)"), tuple(rows))

    def _named(self, name: str) -> Pod:
        pods = {pod.key: pod for pod in self._pods()}
        key = name if "/" in name else f"default/{name}"
        if key in pods:
            return pods[key]
        hint = did_you_mean(key, pods) or f" (there are {len(pods)})"
        raise InputError(f'no pod "{key}" in this cluster{hint}', where="pod")

    def _pods(self) -> Sequence[Pod]:
        return [item for item in self.objects if isinstance(item, Pod)]


def _without_node(pod: Pod) -> Pod:
    """The pod as it was before it had a node."""
    spec = msgspec.structs.replace(pod.spec, node_name="")
    status = msgspec.structs.replace(pod.status, nominated_node_name="", phase="Pending")
    return msgspec.structs.replace(pod, spec=spec, status=status)


def _share(requested: Mapping[str, int], allocatable: Mapping[str, int], name: str) -> str:
    unit = _SHOWN[name]
    return f"{requested.get(name, 0) // unit} of {allocatable.get(name, 0) // unit}"
