"""Kubernetes manifests that run plugins as an extender in a cluster, with no more rights than they need."""

from collections.abc import Iterator
from typing import Any, Final

from moorage.cluster import needed_kinds
from moorage.columns import Snapshot
from moorage.config import LeaderElection
from moorage.engine import make_engine
from moorage.extender.configuring import enabling, plugins_config
from moorage.extender.service import BIND, verbs_of
from moorage.framework.registry import Registry
from moorage.live.manifests import (
    CONFIG_PATH,
    Deployment,
    Mounts,
    cluster_role_binding,
    configuration,
    feature_flags,
    lease_rights,
    object_of,
    read_rules,
    replicated,
    write_rules,
)
from moorage.values import yaml

Tree = dict[str, Any]

PORT: Final = 8888
TLS_PATH: Final = "/etc/moorage/tls"

_READ: Final = ["get", "list", "watch"]


def extender_manifests(
    document: Tree | None, names: list[str], registry: Registry, deployment: Deployment
) -> list[Tree]:
    """Everything that kubectl needs to apply, but for the secret `<name>-tls` with tls.crt, tls.key and ca.crt.

    `names` are the plugins; `document` is the configuration with their arguments, None for none.
    """
    document = document or enabling(names)
    config = plugins_config(registry, names, yaml.dump(document), "--config", features=deployment.features)
    engine = make_engine(Snapshot(), config, registry=registry)
    (runner,) = engine.runners.values()
    binds = BIND in verbs_of(runner.profile.at, follows=True)

    def rules() -> Iterator[Tree]:
        plugins = runner.profile.plugins.items()
        given = [
            ("", ["pods", "nodes"], _READ),
            *([("", ["pods/binding"], ["create"])] if binds else []),
            *read_rules(needed_kinds(plugins, {})),
            *write_rules([runner.profile]),
            ("events.k8s.io", ["events"], ["create", "patch"]),
        ]
        for group, resources, verbs in given:
            yield {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}

    lease = LeaderElection(resource_name=deployment.name, resource_namespace=deployment.namespace)
    role = object_of("rbac.authorization.k8s.io/v1", "ClusterRole", deployment, cluster=True)
    mounts: Mounts = {"tls": ({"secret": {"secretName": f"{deployment.name}-tls"}}, TLS_PATH)}
    return [
        object_of("v1", "ServiceAccount", deployment),
        {**role, "rules": list(rules())},
        cluster_role_binding(deployment),
        *lease_rights(lease, deployment),
        {**object_of("v1", "ConfigMap", deployment), "data": {"config.yaml": yaml.dump(document), **deployment.files}},
        _service(deployment),
        replicated(deployment, deployment.replicas, _container(deployment), configuration(deployment) | mounts),
    ]


def _service(deployment: Deployment) -> Tree:
    spec = {
        "selector": {"app.kubernetes.io/name": deployment.name},
        "ports": [{"name": "https", "port": PORT, "targetPort": "https"}],
    }
    return {**object_of("v1", "Service", deployment), "spec": spec}


def _container(deployment: Deployment) -> Tree:
    probe = {"port": "https", "scheme": "HTTPS"}
    return {
        "name": "extender",
        "args": [
            "extender",
            *(f"--plugin={reference}" for reference in deployment.references),
            f"--config={CONFIG_PATH}",
            "--address=0.0.0.0",
            f"--port={PORT}",
            f"--tls-cert={TLS_PATH}/tls.crt",
            f"--tls-key={TLS_PATH}/tls.key",
            f"--client-ca={TLS_PATH}/ca.crt",
            "--leader-elect",
            f"--leader-elect-resource-name={deployment.name}",
            f"--leader-elect-resource-namespace={deployment.namespace}",
            *feature_flags(deployment.features),
        ],
        "ports": [{"name": "https", "containerPort": PORT}],
        "livenessProbe": {"httpGet": {"path": "/livez", **probe}, "initialDelaySeconds": 10},
        # Only the leader is ready: the Service leads to it alone.
        "readinessProbe": {"httpGet": {"path": "/readyz", **probe}, "periodSeconds": 2},
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
    }
