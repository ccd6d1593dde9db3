"""Kubernetes manifests for what plugins of our own need beside the scheduler: definitions, and the controllers."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from moorage.config import Config
from moorage.controllers.definitions import POD_GROUPS, STICKY_JOBS, definition
from moorage.controllers.podgroups import PodGroupController
from moorage.controllers.runtime.controller import Controller
from moorage.controllers.stickyjobs import StickyJobController
from moorage.live.manifests import Deployment, replicated

Tree = dict[str, Any]

#: Plugin -> the definition of its kind, and who runs objects of that.
COMPANIONS: Final[Mapping[str, tuple[str, type[Controller]]]] = {
    "StickyJob": (STICKY_JOBS, StickyJobController),
    "Coscheduling": (POD_GROUPS, PodGroupController),
}

_RBAC: Final = "rbac.authorization.k8s.io/v1"


def all_definitions() -> list[Tree]:
    """Every CustomResourceDefinition that Moorage brings."""
    return [definition(plural) for plural, _ in COMPANIONS.values()]


def companions(config: Config, deployment: Deployment) -> tuple[list[Tree], list[Tree]]:
    """What to apply before and after the scheduler's own manifests, for the plugins that the configuration enables."""
    enabled = {name for profile in config.profiles for name in profile.plugins.names}
    needed = [COMPANIONS[name] for name in COMPANIONS if name in enabled]
    if not needed:
        return [], []
    first = config.profiles[0].scheduler_name
    controllers = [controller for _, controller in needed]
    return [definition(plural) for plural, _ in needed], controller_manifests(controllers, deployment, first)


def controller_manifests(
    controllers: Iterable[type[Controller]], deployment: Deployment, scheduler_name: str
) -> list[Tree]:
    """A deployment of these controllers beside the scheduler's, with no more rights than they need."""
    controllers = tuple(controllers)
    name, namespace = f"{deployment.name}-controllers", deployment.namespace
    here, subject = {"name": name, "namespace": namespace}, {"kind": "ServiceAccount", "name": name}
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    rules = [
        {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
        for group, resources, verbs in dict.fromkeys(right for one in controllers for right in one.rights)
    ]
    role = {"apiGroup": "rbac.authorization.k8s.io", "name": name}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here},
        {"apiVersion": _RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {
            "apiVersion": _RBAC,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {**role, "kind": "ClusterRole"},
            "subjects": [{**subject, "namespace": namespace}],
        },
        {
            "apiVersion": _RBAC,
            "kind": "Role",
            "metadata": here,
            "rules": [
                {**leases, "verbs": ["create"]},
                {**leases, "resourceNames": [name], "verbs": ["get", "update"]},
            ],
        },
        {
            "apiVersion": _RBAC,
            "kind": "RoleBinding",
            "metadata": here,
            "roleRef": {**role, "kind": "Role"},
            "subjects": [{**subject, "namespace": namespace}],
        },
        _deployment(controllers, deployment, scheduler_name),
    ]


def _deployment(controllers: Iterable[type[Controller]], deployment: Deployment, scheduler_name: str) -> Tree:
    name, namespace = f"{deployment.name}-controllers", deployment.namespace
    flags = [f"--scheduler-name={scheduler_name}", f"--lease-name={name}", f"--lease-namespace={namespace}"]
    process = {
        "name": "controllers",
        "args": ["controllers", *(one.name for one in controllers), *flags, "-v=2"],
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
    }
    return replicated(replace(deployment, name=name), deployment.replicas, process, {})
