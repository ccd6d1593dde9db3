"""Nodes and pods as kubectl prints them: one case made of them, told as tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from moorage.cli.decide.cases import Deciding


@dataclass(frozen=True)
class Wanted:
    """Which pods to decide (none: all that wait), which nodes to tell of (none: all), and what runs."""

    pods: Sequence[str]
    nodes: Sequence[str]
    config: Path | None
    plugins: Sequence[str]
    as_json: bool


def decide_objects(texts: Mapping[str, bytes], wanted: Wanted, deciding: Deciding) -> bytes:
    """What becomes of the pods on the cluster that the files hold. Raises InputError."""
    import msgspec

    from moorage.cases import ScheduleCase
    from moorage.notebook import LoadedCluster, read_manifests
    from moorage.objects import convert_object
    from moorage.testing.decided import Decided
    from moorage.testing.tables import text_table

    # What comes from standard input is a text, however short: a line break says so.
    sources = [text.decode(errors="replace") + "\n" if file == "-" else Path(file) for file, text in texts.items()]
    trees = read_manifests(*sources)
    cluster = LoadedCluster([convert_object(tree) for tree in trees])
    document, profiles = _configuration(wanted.config, wanted.plugins, deciding)
    schedule = [cluster.pod(name).key for name in wanted.pods] or _waiting(cluster, profiles)
    _take_from_their_nodes(trees, schedule)
    name = ", ".join(texts)
    case = ScheduleCase(
        {"name": name, "config": document, "objects": trees, "schedule": schedule},
        registry=deciding.registry,
        seed=deciding.seed,
        features=deciding.features,
        ask_extenders=deciding.ask_extenders,
    )
    decisions = list(case.decisions())
    if wanted.as_json:
        return msgspec.json.encode({"name": name, "decisions": [one.as_data() for one in decisions]}) + b"\n"
    nodes = _known(wanted.nodes, cluster.nodes) or cluster.nodes
    return "\n".join(f"{text_table(Decided(one, nodes).table())}\n" for one in decisions).encode()


def _known(names: Sequence[str], nodes: Sequence[str]) -> Sequence[str]:
    from moorage.errors import InputError, did_you_mean

    for name in names:
        if name not in nodes:
            raise InputError(f'no node "{name}"{did_you_mean(name, nodes)}', where="--node")
    return names


def _configuration(
    file: Path | None, plugins: Sequence[str], deciding: Deciding
) -> tuple[dict[str, Any], frozenset[str]]:
    """The configuration as a document, and the names of its profiles."""
    from moorage.config import load_config, parse_config
    from moorage.errors import InputError
    from moorage.framework.loading import load_class
    from moorage.testing.cluster import enabling
    from moorage.values import yaml

    known = deciding.registry.known
    if file is None:
        document = enabling([load_class(reference) for reference in plugins])
        config = parse_config(document, known=known, features=deciding.features)
    else:
        try:
            text = file.read_bytes()
        except OSError as error:
            raise InputError(error.strerror or str(error), where=str(file)) from None
        config = load_config(text, source=str(file), known=known, features=deciding.features)
        document = yaml.load(text, strict=True)
    return document, frozenset(profile.scheduler_name for profile in config.profiles)


def _waiting(cluster: Any, profiles: Iterable[str]) -> list[str]:
    """The pods to decide where none is named. Those of other schedulers are left to them."""
    pods = [cluster.pod(key) for key in cluster.pending]
    ours = [pod.key for pod in pods if pod.spec.scheduler_name in profiles]
    for pod in pods:
        if pod.key not in ours:
            typer.echo(f"note: pod {pod.key} is left to its scheduler {pod.spec.scheduler_name}", err=True)
    if not ours:
        typer.echo("note: no pod waits for a node; --pod decides one that runs", err=True)
    return ours


def _take_from_their_nodes(trees: Iterable[dict[str, Any]], schedule: Sequence[str]) -> None:
    """Pods that are to be decided are decided as if they did not run."""
    for tree in trees:
        metadata = tree["metadata"]
        if tree["kind"] == "Pod" and f"{metadata['namespace']}/{metadata['name']}" in schedule:
            tree["spec"].pop("nodeName", None)
            tree["status"] = {"phase": "Pending"}
