"""Defaults of everything that is not a pod or a workload."""

from base64 import b64encode
from typing import Any

Json = dict[str, Any]

_RBAC = "rbac.authorization.k8s.io"


def default_namespace(obj: Json) -> None:
    """Active, finalized by the namespace's own cleaning, and findable by name."""
    metadata = obj["metadata"]
    if metadata.get("name"):
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata["name"]
    obj.setdefault("status", {}).setdefault("phase", "Active")


def default_node(obj: Json) -> None:
    """What a node has, it can give."""
    status = obj.get("status")
    if status and "capacity" in status and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])


def default_service(obj: Json) -> None:
    """A cluster IP, TCP, the same port inside."""
    spec = obj.setdefault("spec", {})
    if not spec.get("type"):
        spec["type"] = "ClusterIP"
    if not spec.get("sessionAffinity"):
        spec["sessionAffinity"] = "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    else:
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", 10800)
    for port in spec.get("ports", ()):
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        spec.setdefault("ipFamilies", ["IPv4"])
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def default_secret(obj: Json) -> None:
    """Opaque; what was given as text is kept as base64."""
    if not obj.get("type"):
        obj["type"] = "Opaque"
    text = obj.pop("stringData", None)
    if text:
        data = obj.setdefault("data", {})
        data.update({key: b64encode(value.encode()).decode() for key, value in text.items()})


def default_persistentvolume(obj: Json) -> None:
    """A file system, kept after use."""
    obj.setdefault("status", {}).setdefault("phase", "Pending")
    spec = obj.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if "hostPath" in spec:
        spec["hostPath"].setdefault("type", "")


def default_persistentvolumeclaim(obj: Json) -> None:
    """A file system, not yet bound."""
    obj.setdefault("status", {}).setdefault("phase", "Pending")
    obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def default_endpoints(obj: Json) -> None:
    """TCP."""
    for subset in obj.get("subsets", ()):
        for port in subset.get("ports", ()):
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def default_endpointslice(obj: Json) -> None:
    """TCP."""
    for port in obj.get("ports", ()):
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def default_limitrange(obj: Json) -> None:
    """Container limits default to the maximum, requests to the limit or the minimum."""
    for item in (obj.get("spec") or {}).get("limits", ()):
        if item.get("type") == "Container":
            item["default"] = {**item.get("max", {}), **item.get("default", {})}
            item["defaultRequest"] = {**item.get("min", {}), **item["default"], **item.get("defaultRequest", {})}


def default_storageclass(obj: Json) -> None:
    """Volumes go with their claims, and are bound at once."""
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def default_csidriver(obj: Json) -> None:
    """Attached, persistent."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    for name in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        spec.setdefault(name, False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def default_priorityclass(obj: Json) -> None:
    """Pods of a class preempt those of lower ones."""
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def default_binding_of_roles(obj: Json) -> None:
    """Roles, users and groups are of the RBAC group."""
    role = obj.setdefault("roleRef", {})
    if not role.get("apiGroup"):
        role["apiGroup"] = _RBAC
    for subject in obj.get("subjects", ()):
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _RBAC


def default_networkpolicy(obj: Json) -> None:
    """Ingress always, egress where rules are given; TCP."""
    spec = obj.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*spec.get("ingress", ()), *spec.get("egress", ())):
        for port in rule.get("ports", ()):
            port.setdefault("protocol", "TCP")


def default_ingressclass(obj: Json) -> None:
    """Parameters are cluster-wide."""
    parameters = (obj.get("spec") or {}).get("parameters")
    if parameters is not None:
        parameters.setdefault("scope", "Cluster")


def default_resourceclaim(obj: Json) -> None:
    """One device, exactly."""
    _default_device_requests(obj.setdefault("spec", {}))


def default_resourceclaimtemplate(obj: Json) -> None:
    """As the claims made from it."""
    _default_device_requests(obj.setdefault("spec", {}).setdefault("spec", {}))


def _default_device_requests(spec: Json) -> None:
    for request in (spec.get("devices") or {}).get("requests", ()):
        choices = [request["exactly"]] if "exactly" in request else request.get("firstAvailable", [])
        for choice in choices:
            if not choice.get("allocationMode"):
                choice["allocationMode"] = "ExactCount"
            if choice["allocationMode"] == "ExactCount" and not choice.get("count"):
                choice["count"] = 1
            for toleration in choice.get("tolerations") or ():
                toleration.setdefault("operator", "Equal")


def default_podgroup(obj: Json) -> None:
    """Members are disturbed one by one."""
    is_old = obj.get("apiVersion", "").endswith("/v1alpha2")
    obj.setdefault("spec", {}).setdefault("disruptionMode", "Pod" if is_old else {"single": {}})


def default_autoscaler(obj: Json) -> None:
    """At least one replica, 80 % of the CPU."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
