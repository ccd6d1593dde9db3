"""Kinds, and the paths an API server serves them under.

A small table of what schedulers and controllers touch; the class of a custom resource says itself where it is served.
"""

import re
from dataclasses import dataclass

from moorage.errors import InputError
from moorage.objects import KubeObject

_leads_elsewhere = re.compile(r"[/%?#\s]|^\.\.?$").search


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of object as the API serves it."""

    kind: str
    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of a collection (all namespaces when none is given), an object, or its subresource.

        Raises InputError for a name that would lead elsewhere: some come from callers.
        """
        for segment in (namespace, name):
            if _leads_elsewhere(segment):
                raise InputError(f"{segment!r} is no name of a {self.kind}")
        parts = [self.root]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        elif self.namespaced and name:
            raise ValueError(f"a {self.kind} lives in a namespace: none given for {name!r}")
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part]
        return "/".join(parts)


_CORE = "", "v1"
_APPS = "apps", "v1"
_STORAGE = "storage.k8s.io", "v1"
_CLAIMS = "resource.k8s.io", "v1"
_RBAC = "rbac.authorization.k8s.io", "v1"

_TABLE = [
    Resource("Pod", *_CORE, "pods"),
    Resource("Node", *_CORE, "nodes", namespaced=False),
    Resource("Namespace", *_CORE, "namespaces", namespaced=False),
    Resource("Service", *_CORE, "services"),
    Resource("ConfigMap", *_CORE, "configmaps"),
    Resource("Secret", *_CORE, "secrets"),
    Resource("ServiceAccount", *_CORE, "serviceaccounts"),
    Resource("ReplicationController", *_CORE, "replicationcontrollers"),
    Resource("PersistentVolume", *_CORE, "persistentvolumes", namespaced=False),
    Resource("PersistentVolumeClaim", *_CORE, "persistentvolumeclaims"),
    Resource("ReplicaSet", *_APPS, "replicasets"),
    Resource("StatefulSet", *_APPS, "statefulsets"),
    Resource("Deployment", *_APPS, "deployments"),
    Resource("DaemonSet", *_APPS, "daemonsets"),
    Resource("Job", "batch", "v1", "jobs"),
    Resource("CronJob", "batch", "v1", "cronjobs"),
    Resource("PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets"),
    Resource("PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", namespaced=False),
    Resource("PodGroup", "scheduling.k8s.io", "v1beta1", "podgroups"),
    Resource("Workload", "scheduling.k8s.io", "v1beta1", "workloads"),
    Resource("CompositePodGroup", "scheduling.k8s.io", "v1alpha3", "compositepodgroups"),
    Resource("StorageClass", *_STORAGE, "storageclasses", namespaced=False),
    Resource("CSINode", *_STORAGE, "csinodes", namespaced=False),
    Resource("CSIDriver", *_STORAGE, "csidrivers", namespaced=False),
    Resource("CSIStorageCapacity", *_STORAGE, "csistoragecapacities"),
    Resource("VolumeAttachment", *_STORAGE, "volumeattachments", namespaced=False),
    Resource("ResourceClaim", *_CLAIMS, "resourceclaims"),
    Resource("ResourceClaimTemplate", *_CLAIMS, "resourceclaimtemplates"),
    Resource("ResourceSlice", *_CLAIMS, "resourceslices", namespaced=False),
    Resource("DeviceTaintRule", *_CLAIMS, "devicetaintrules", namespaced=False),
    Resource("DeviceClass", *_CLAIMS, "deviceclasses", namespaced=False),
    Resource("Lease", "coordination.k8s.io", "v1", "leases"),
    Resource("Event", "events.k8s.io", "v1", "events"),
    Resource("Role", *_RBAC, "roles"),
    Resource("RoleBinding", *_RBAC, "rolebindings"),
    Resource("ClusterRole", *_RBAC, "clusterroles", namespaced=False),
    Resource("ClusterRoleBinding", *_RBAC, "clusterrolebindings", namespaced=False),
    Resource("TokenReview", "authentication.k8s.io", "v1", "tokenreviews", namespaced=False),
    Resource("SubjectAccessReview", "authorization.k8s.io", "v1", "subjectaccessreviews", namespaced=False),
    Resource(
        "CustomResourceDefinition",
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        namespaced=False,
    ),
]

RESOURCES: dict[str, Resource] = {resource.kind: resource for resource in _TABLE}


def resource_of(kind: str | type[KubeObject]) -> Resource:
    """The resource of a built-in kind, by the name manifests give it, or of any kind by its class."""
    if not isinstance(kind, str):
        if kind.PLURAL:
            group, _, version = kind.API_VERSION.rpartition("/")
            return Resource(kind.KIND, group, version, kind.PLURAL, namespaced=kind.NAMESPACED)
        kind = kind.KIND
    try:
        return RESOURCES[kind]
    except KeyError:
        raise InputError(f"no built-in kind is called {kind!r}: expected one of {', '.join(RESOURCES)}") from None
