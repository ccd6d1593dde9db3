"""Kubernetes manifests that run the scheduler in a cluster, with no more rights than its configuration needs."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from moorage.config import DEFAULT_FEATURES, Config, Features, LeaderElection, parse_config
from moorage.errors import InputError
from moorage.framework.loading import A_FILE_STANDS_ALONE, neighbours
from moorage.framework.profile import Profile
from moorage.framework.registrations import kinds_written
from moorage.framework.registry import Registry
from moorage.kube.paths import resource_of
from moorage.live.trying import try_plugins
from moorage.objects import KubeObject
from moorage.values import yaml

Tree = dict[str, Any]

CONFIG_PATH: Final = "/etc/moorage/config.yaml"
PORT: Final = 10259
DEFAULT_IMAGE: Final = "moorage:latest"

_READ: Final = ["get", "list", "watch"]
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")
#: A ConfigMap holds 1 MiB; some of that is for the configuration.
_MOST_SHIPPED: Final = 900_000


@dataclass(frozen=True)
class Deployment:
    """What to call things and how to run them."""

    name: str = "moorage-scheduler"
    namespace: str = "kube-system"
    image: str = DEFAULT_IMAGE
    replicas: int = 2
    #: Plugins to run with, as `--plugin` names them: files are shipped, packages must be in the image.
    plugins: tuple[str, ...] = ()
    features: Features = DEFAULT_FEATURES

    @property
    def files(self) -> dict[str, str]:
        """The text of every plugin file by its name. Raises InputError where one cannot be shipped."""
        texts: dict[str, str] = {}
        paths: dict[str, Path] = {}
        for reference in self.plugins:
            path = _file_of(reference)
            if path is None:
                continue
            if not _KEY.fullmatch(path.name) or path.name == CONFIG_PATH.rpartition("/")[2]:
                raise InputError(f"{path.name!r} cannot be a key of a ConfigMap: rename the file", where=reference)
            if paths.setdefault(path.name, path.resolve()) != path.resolve():
                raise InputError(f"two plugin files are called {path.name}: rename one", where=reference)
            if beside := neighbours(path):
                problem = f"imports {', '.join(beside)}, which would not be shipped: {A_FILE_STANDS_ALONE}"
                raise InputError(problem, where=reference)
            texts[path.name] = path.read_text()
        if sum(map(len, texts.values())) > _MOST_SHIPPED:
            raise InputError("the plugin files do not fit into a ConfigMap: put them into the image as a package")
        return texts

    @property
    def references(self) -> list[str]:
        """What `--plugin` is given in the container."""
        folder = CONFIG_PATH.rpartition("/")[0]
        shipped = []
        for reference in self.plugins:
            path = _file_of(reference)
            name = reference.rpartition(":")[2]
            shipped.append(reference if path is None else f"{folder}/{path.name}:{name}")
        return shipped


def _file_of(reference: str) -> Path | None:
    """The file of `path/to/file.py:Class`; None for `module:Class`."""
    path = reference.rpartition(":")[0]
    return Path(path) if path.endswith(".py") else None


def default_document(name: str) -> Tree:
    """The configuration of a scheduler beside the cluster's own: everything by default, under its own name."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": name}],
    }


def manifests(document: Tree, registry: Registry, deployment: Deployment) -> list[Tree]:
    """Everything that kubectl needs to apply. Raises InputError where the configuration is wrong."""
    document = _with_lease(document, deployment)
    config = parse_config(document, known=registry.known, features=deployment.features)
    return [
        object_of("v1", "ServiceAccount", deployment),
        _cluster_role(config, registry, deployment),
        cluster_role_binding(deployment),
        *lease_rights(config.leader_election, deployment),
        {**object_of("v1", "ConfigMap", deployment), "data": {"config.yaml": yaml.dump(document), **deployment.files}},
        _deployment(config, deployment),
    ]


def _with_lease(document: Tree, deployment: Deployment) -> Tree:
    """A lease of its own, unless the file names one, or the scheduler takes kube-scheduler's place."""
    election = document.get("leaderElection") or {}
    names = [profile.get("schedulerName", "default-scheduler") for profile in document.get("profiles") or [{}]]
    if "resourceName" in election or "default-scheduler" in names:
        return document
    lease = {"resourceName": deployment.name, "resourceNamespace": deployment.namespace}
    return {**document, "leaderElection": {**lease, **election}}


def _cluster_role(config: Config, registry: Registry, deployment: Deployment) -> Tree:
    rules = [
        {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
        for group, resources, verbs in _rules(config, registry)
    ]
    return {**object_of("rbac.authorization.k8s.io/v1", "ClusterRole", deployment, cluster=True), "rules": rules}


def _rules(config: Config, registry: Registry) -> Iterator[tuple[str, Iterable[str], list[str]]]:
    """Group, resources and verbs of what the enabled plugins do."""
    profiles, kinds = try_plugins(config, registry)
    evicts = any(profile.at("postFilter") for profile in profiles)
    yield "", ["pods"], [*_READ, "delete"] if evicts else _READ
    yield "", ["pods/binding"], ["create"]
    yield "", ["pods/status"], ["patch"]
    yield "", ["nodes"], _READ
    yield from read_rules(kinds)
    yield from write_rules(profiles)
    for plugin in dict.fromkeys(type(one) for profile in profiles for one in profile.plugins.values()):
        yield from getattr(plugin, "rights", ())
    yield "events.k8s.io", ["events"], ["create", "patch"]
    yield "authentication.k8s.io", ["tokenreviews"], ["create"]
    yield "authorization.k8s.io", ["subjectaccessreviews"], ["create"]


def read_rules(kinds: Iterable[type[KubeObject]]) -> Iterator[tuple[str, Iterable[str], list[str]]]:
    """Group, resources and verbs of who follows these kinds."""
    groups: dict[str, list[str]] = {}
    for kind in kinds:
        resource = resource_of(kind)
        groups.setdefault(resource.group, []).append(resource.plural)
    for group, plurals in sorted(groups.items()):
        yield group, plurals, _READ


def write_rules(profiles: Iterable[Profile]) -> Iterator[tuple[str, Iterable[str], list[str]]]:
    """What the plugins say they write: the same verbs on kinds of one group are one rule. `patch/status` is to patch
    the status."""
    verbs_of: dict[tuple[type[KubeObject], str], set[str]] = {}
    for profile in profiles:
        for name, plugin in profile.plugins.items():
            for kind, said in kinds_written(name, plugin).items():
                for verb, slash, part in (one.partition("/") for one in said):
                    verbs_of.setdefault((kind, slash + part), set()).add(verb)
    rules: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for kind, part in sorted(verbs_of, key=lambda place: (place[0].KIND, place[1])):
        resource = resource_of(kind)
        verbs = tuple(sorted(verbs_of[kind, part]))
        rules.setdefault((resource.group, verbs), []).append(resource.plural + part)
    for (group, allowed), plurals in rules.items():
        yield group, plurals, list(allowed)


def cluster_role_binding(deployment: Deployment) -> Tree:
    """Gives the service account the cluster role of its name."""
    return {
        **object_of("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", deployment, cluster=True),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": deployment.name},
        "subjects": [_subject(deployment)],
    }


def lease_rights(election: LeaderElection, deployment: Deployment) -> Iterator[Tree]:
    """A role for the lease alone, in its namespace, and who has it."""
    if not election.leader_elect:
        return
    group = "rbac.authorization.k8s.io/v1"
    metadata = {"name": deployment.name, "namespace": election.resource_namespace}
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    yield {
        "apiVersion": group,
        "kind": "Role",
        "metadata": metadata,
        "rules": [
            {**leases, "verbs": ["create"]},
            {**leases, "resourceNames": [election.resource_name], "verbs": ["get", "update"]},
        ],
    }
    yield {
        "apiVersion": group,
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": deployment.name},
        "subjects": [_subject(deployment)],
    }


def _deployment(config: Config, deployment: Deployment) -> Tree:
    replicas = deployment.replicas if config.leader_election.leader_elect else 1
    return replicated(deployment, replicas, _container(deployment), configuration(deployment))


Mounts = dict[str, tuple[Tree, str]]


def configuration(deployment: Deployment) -> Mounts:
    """The ConfigMap of the deployment's name, where the process looks for it."""
    return {"config": ({"configMap": {"name": deployment.name}}, CONFIG_PATH.rpartition("/")[0])}


def replicated(deployment: Deployment, replicas: int, process: Tree, mounts: Mounts) -> Tree:
    """A Deployment of a process of ours: `process` is what is its container's own, `mounts` what it reads, by name:
    from where, and where it finds it."""
    labels = {"app.kubernetes.io/name": deployment.name}
    container = {
        "name": process["name"],
        "image": deployment.image,
        "imagePullPolicy": "IfNotPresent",
        **process,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [
            *({"name": name, "mountPath": path, "readOnly": True} for name, (_, path) in mounts.items()),
            {"name": "tmp", "mountPath": "/tmp"},
        ],
    }
    spec = {
        "serviceAccountName": deployment.name,
        "priorityClassName": "system-cluster-critical",
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "affinity": apart(labels),
        "containers": [container],
        # TLS keys pass through files for a moment, which nobody else may read and no disk sees.
        "volumes": [
            *({"name": name, **source} for name, (source, _) in mounts.items()),
            {"name": "tmp", "emptyDir": {"medium": "Memory"}},
        ],
    }
    return {
        **object_of("apps/v1", "Deployment", deployment),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def apart(labels: Tree) -> Tree:
    """Replicas on different nodes, so that one node's end does not end both."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    wish = {"weight": 100, "podAffinityTerm": term}
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}


def feature_flags(features: Features) -> Iterator[str]:
    """The version and the gates, where they are not the default ones."""
    if features.version != DEFAULT_FEATURES.version:
        yield f"--emulated-version={features.version}"
    changed = features.changed()
    if changed:
        yield f"--feature-gates={','.join(f'{name}={str(on).lower()}' for name, on in changed.items())}"


def _container(deployment: Deployment) -> Tree:
    return {
        "name": "scheduler",
        "args": [
            "scheduler",
            f"--config={CONFIG_PATH}",
            *(f"--plugin={reference}" for reference in deployment.references),
            f"--secure-port={PORT}",
            *feature_flags(deployment.features),
            "-v=2",
        ],
        "ports": [{"name": "https", "containerPort": PORT}],
        "livenessProbe": {**_probe("/livez"), "initialDelaySeconds": 10},
        "readinessProbe": _probe("/readyz"),
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
    }


def _probe(path: str) -> Tree:
    return {"httpGet": {"path": path, "port": "https", "scheme": "HTTPS"}}


def object_of(api_version: str, kind: str, deployment: Deployment, *, cluster: bool = False) -> Tree:
    """An object of the deployment's name, to be filled."""
    metadata = {"name": deployment.name}
    if not cluster:
        metadata["namespace"] = deployment.namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _subject(deployment: Deployment) -> Tree:
    return {"kind": "ServiceAccount", "name": deployment.name, "namespace": deployment.namespace}
