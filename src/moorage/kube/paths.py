"""Kinds, and the paths an API server serves them under.

A small table of what schedulers and controllers touch; the class of a custom resource says itself where it is served.
"""

import re
from dataclasses import dataclass

from moorage.errors import InputError
from moorage.objects import KubeObject

_leads_elsewhere = re.compile(r"[/%?#\s]|^\.\.?$").search


@dataclass(frozen=True, slots=True)
class ApiResource:
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
    ApiResource("Pod", *_CORE, "pods"),
    ApiResource("Node", *_CORE, "nodes", namespaced=False),
    ApiResource("Namespace", *_CORE, "namespaces", namespaced=False),
    ApiResource("Service", *_CORE, "services"),
    ApiResource("ConfigMap", *_CORE, "configmaps"),
    ApiResource("Secret", *_CORE, "secrets"),
    ApiResource("ServiceAccount", *_CORE, "serviceaccounts"),
    ApiResource("ReplicationController", *_CORE, "replicationcontrollers"),
    ApiResource("PersistentVolume", *_CORE, "persistentvolumes", namespaced=False),
    ApiResource("PersistentVolumeClaim", *_CORE, "persistentvolumeclaims"),
    ApiResource("ReplicaSet", *_APPS, "replicasets"),
    ApiResource("StatefulSet", *_APPS, "statefulsets"),
    ApiResource("Deployment", *_APPS, "deployments"),
    ApiResource("DaemonSet", *_APPS, "daemonsets"),
    ApiResource("Job", "batch", "v1", "jobs"),
    ApiResource("CronJob", "batch", "v1", "cronjobs"),
    ApiResource("PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets"),
    ApiResource("PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", namespaced=False),
    ApiResource("PodGroup", "scheduling.k8s.io", "v1beta1", "podgroups"),
    ApiResource("Workload", "scheduling.k8s.io", "v1beta1", "workloads"),
    ApiResource("CompositePodGroup", "scheduling.k8s.io", "v1alpha3", "compositepodgroups"),
    ApiResource("StorageClass", *_STORAGE, "storageclasses", namespaced=False),
    ApiResource("CSINode", *_STORAGE, "csinodes", namespaced=False),
    ApiResource("CSIDriver", *_STORAGE, "csidrivers", namespaced=False),
    ApiResource("CSIStorageCapacity", *_STORAGE, "csistoragecapacities"),
    ApiResource("VolumeAttachment", *_STORAGE, "volumeattachments", namespaced=False),
    ApiResource("ResourceClaim", *_CLAIMS, "resourceclaims"),
    ApiResource("ResourceClaimTemplate", *_CLAIMS, "resourceclaimtemplates"),
    ApiResource("ResourceSlice", *_CLAIMS, "resourceslices", namespaced=False),
    ApiResource("DeviceTaintRule", *_CLAIMS, "devicetaintrules", namespaced=False),
    ApiResource("DeviceClass", *_CLAIMS, "deviceclasses", namespaced=False),
    ApiResource("Lease", "coordination.k8s.io", "v1", "leases"),
    ApiResource("Event", "events.k8s.io", "v1", "events"),
    ApiResource("Role", *_RBAC, "roles"),
    ApiResource("RoleBinding", *_RBAC, "rolebindings"),
    ApiResource("ClusterRole", *_RBAC, "clusterroles", namespaced=False),
    ApiResource("ClusterRoleBinding", *_RBAC, "clusterrolebindings", namespaced=False),
    ApiResource("TokenReview", "authentication.k8s.io", "v1", "tokenreviews", namespaced=False),
    ApiResource("SubjectAccessReview", "authorization.k8s.io", "v1", "subjectaccessreviews", namespaced=False),
    ApiResource(
        "CustomResourceDefinition",
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        namespaced=False,
    ),
]

RESOURCES: dict[str, ApiResource] = {resource.kind: resource for resource in _TABLE}


def resource_of(kind: str | type[KubeObject]) -> ApiResource:
    """The resource of a built-in kind, by the name manifests give it, or of any kind by its class."""
    if not isinstance(kind, str):
        if kind.PLURAL:
            group, _, version = kind.API_VERSION.rpartition("/")
            return ApiResource(kind.KIND, group, version, kind.PLURAL, namespaced=kind.NAMESPACED)
        kind = kind.KIND
    try:
        return RESOURCES[kind]
    except KeyError:
        raise InputError(f"no built-in kind is called {kind!r}: expected one of {', '.join(RESOURCES)}") from None
