"""Columns of nodes, namespaces, services, storage, events and the rest."""

from collections.abc import Callable
from typing import Any

from moorage.apiserver.registry import Column, Table
from moorage.apiserver.tables.rows import (
    NAME,
    NONE,
    UNKNOWN,
    age,
    cells_of,
    columns,
    labels_text,
    selector_text,
    since,
    wide,
)

Json = dict[str, Any]

_SHORT_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_ROLE = "node-role.kubernetes.io/"


def _node(obj: Json, now: float) -> list[Any]:
    status, spec = obj.get("status") or {}, obj.get("spec") or {}
    ready = next((c for c in status.get("conditions", ()) if c.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if spec.get("unschedulable"):
        words.append("SchedulingDisabled")
    labels = obj["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE) and key != _ROLE}
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    info = status.get("nodeInfo") or {}
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel = f"{kernel} ({info['architecture']})"
    return [
        obj["metadata"]["name"],
        ",".join(words),
        ",".join(sorted(roles)) or NONE,
        age(obj, now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _address(status: Json, kind: str) -> str:
    return next((a["address"] for a in status.get("addresses", ()) if a.get("type") == kind), NONE)


def _service(obj: Json, now: float) -> list[Any]:
    spec = obj["spec"]
    kind = spec.get("type", "")
    external = ",".join(spec.get("externalIPs", ())) or NONE
    if kind == "LoadBalancer":
        ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress", ())
        external = ",".join(i.get("ip") or i.get("hostname", "") for i in ingress) or "<pending>"
    elif kind == "ExternalName":
        external = spec.get("externalName", "")
    ports = [
        f"{p.get('port')}:{p['nodePort']}/{p.get('protocol')}"
        if p.get("nodePort")
        else f"{p.get('port')}/{p.get('protocol')}"
        for p in spec.get("ports", ())
    ]
    selector = labels_text(spec.get("selector"))
    address = spec.get("clusterIP") or NONE
    return [obj["metadata"]["name"], kind, address, external, ",".join(ports) or NONE, age(obj, now), selector]


def _event(obj: Json, now: float) -> list[Any]:
    about, source = obj.get("involvedObject") or {}, obj.get("source") or {}
    target = f"{about.get('kind', '').lower()}/{about.get('name', '')}" if about.get("kind") else about.get("name", "")
    series, first = obj.get("series") or {}, obj.get("firstTimestamp") or obj.get("eventTime")
    last = series.get("lastObservedTime") or obj.get("lastTimestamp") or first
    component = source.get("component") or obj.get("reportingComponent", "")
    parts = (component, source.get("host") or obj.get("reportingInstance", ""))
    return [
        since(last, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        target,
        about.get("fieldPath", ""),
        ", ".join(part for part in parts if part),
        obj.get("message", "").strip(),
        since(first, now),
        str(series.get("count") or obj.get("count") or 1),
        obj["metadata"]["name"],
    ]


def _volume(obj: Json, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    claim = spec.get("claimRef") or {}
    phase = "Terminating" if "deletionTimestamp" in obj["metadata"] else status.get("phase", "")
    return [
        obj["metadata"]["name"],
        (spec.get("capacity") or {}).get("storage", ""),
        _modes(spec),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", "<unset>"),
        status.get("reason", ""),
        age(obj, now),
        spec.get("volumeMode", "<unset>"),
    ]


def _claim(obj: Json, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    is_bound = bool(spec.get("volumeName"))
    return [
        obj["metadata"]["name"],
        "Terminating" if "deletionTimestamp" in obj["metadata"] else status.get("phase", ""),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "") if is_bound else "",
        _modes(status) if is_bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", "<unset>"),
        age(obj, now),
        spec.get("volumeMode", "<unset>"),
    ]


def _modes(spec: Json) -> str:
    return ",".join(_SHORT_MODES.get(mode, mode) for mode in spec.get("accessModes", ()))


def _storageclass(obj: Json, now: float) -> list[Any]:
    annotations = obj["metadata"].get("annotations") or {}
    is_default = annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
    return [
        obj["metadata"]["name"] + (" (default)" if is_default else ""),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", ""),
        obj.get("volumeBindingMode", ""),
        str(obj.get("allowVolumeExpansion", False)).lower(),
        age(obj, now),
    ]


def _endpoints(obj: Json, now: float) -> list[Any]:
    found = [
        f"{address.get('ip')}:{port.get('port')}" if port else str(address.get("ip"))
        for subset in obj.get("subsets", ())
        for port in subset.get("ports") or [None]
        for address in subset.get("addresses", ())
    ]
    return [obj["metadata"]["name"], _first(found), age(obj, now)]


def _first(items: list[str], limit: int = 3) -> str:
    if not items:
        return NONE
    more = f" + {len(items) - limit} more..." if len(items) > limit else ""
    return ",".join(items[:limit]) + more


def _endpointslice(obj: Json, now: float) -> list[Any]:
    ports = [str(port.get("port", "*")) for port in obj.get("ports", ())]
    addresses = [address for endpoint in obj.get("endpoints", ()) for address in endpoint.get("addresses", ())]
    missing = "<unset>"
    texts = [_first(each) if each else missing for each in (ports, addresses)]
    return [obj["metadata"]["name"], obj.get("addressType", ""), *texts, age(obj, now)]


def _budget(obj: Json, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    bounds = [str(spec.get(name, "N/A")) for name in ("minAvailable", "maxUnavailable")]
    return [obj["metadata"]["name"], *bounds, status.get("disruptionsAllowed", 0), age(obj, now)]


def _ingress(obj: Json, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    hosts = ",".join(rule["host"] for rule in spec.get("rules", ()) if rule.get("host")) or "*"
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress", ())
    address = ",".join(i.get("ip") or i.get("hostname", "") for i in ingress)
    ports = "80, 443" if spec.get("tls") else "80"
    return [obj["metadata"]["name"], spec.get("ingressClassName", NONE), hosts, address, ports, age(obj, now)]


def _role_binding(obj: Json, now: float) -> list[Any]:
    role = obj.get("roleRef") or {}
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects", ()):
        name = subject.get("name", "")
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        subjects.setdefault(subject.get("kind", ""), []).append(name)
    people = [", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [obj["metadata"]["name"], f"{role.get('kind')}/{role.get('name')}", age(obj, now), *people]


def _claim_of_devices(obj: Json, now: float) -> list[Any]:
    status = obj.get("status") or {}
    states = ["allocated"] if status.get("allocation") else ["pending"]
    states += ["reserved"] if status.get("reservedFor") else []
    states = (["deleted"] if "deletionTimestamp" in obj["metadata"] else []) + states
    return [obj["metadata"]["name"], ",".join(states), age(obj, now)]


def _slice(obj: Json, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    node = spec.get("nodeName") or ("<all>" if spec.get("allNodes") else NONE)
    pool = (spec.get("pool") or {}).get("name", "")
    return [obj["metadata"]["name"], node, spec.get("driver", ""), pool, age(obj, now)]


def _spec(name: str, absent: Any = "") -> Callable[[Json], Any]:
    return lambda obj: (obj.get("spec") or {}).get(name, absent)


_ROLE_BINDINGS = Table((*columns("Role"), wide("Users"), wide("Groups"), wide("ServiceAccounts")), _role_binding)
_NODE_WIDE = ("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime")

CLUSTER: dict[str, Table] = {
    "nodes": Table((*columns("Status", "Roles"), Column("Version"), *(wide(n) for n in _NODE_WIDE)), _node),
    "namespaces": Table(columns("Status"), cells_of(lambda obj: (obj.get("status") or {}).get("phase", ""))),
    "services": Table((*columns("Type", "Cluster-IP", "External-IP", "Port(s)"), wide("Selector")), _service),
    "configmaps": Table(
        columns("Data"), cells_of(lambda obj: len(obj.get("data") or ()) + len(obj.get("binaryData") or ()))
    ),
    "secrets": Table(
        columns("Type", "Data"), cells_of(lambda obj: obj.get("type", ""), lambda obj: len(obj.get("data") or ()))
    ),
    "events": Table(
        (
            Column("Last Seen"),
            Column("Type"),
            Column("Reason"),
            Column("Object"),
            wide("Subobject"),
            wide("Source"),
            Column("Message"),
            wide("First Seen"),
            wide("Count"),
            Column("Name", format="name", priority=1),
        ),
        _event,
    ),
    "endpoints": Table(columns("Endpoints"), _endpoints),
    "endpointslices.discovery.k8s.io": Table(columns("AddressType", "Ports", "Endpoints"), _endpointslice),
    "persistentvolumes": Table(
        (
            *columns(
                "Capacity",
                "Access Modes",
                "Reclaim Policy",
                "Status",
                "Claim",
                "StorageClass",
                "VolumeAttributesClass",
                "Reason",
            ),
            wide("VolumeMode"),
        ),
        _volume,
    ),
    "persistentvolumeclaims": Table(
        (
            *columns("Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass"),
            wide("VolumeMode"),
        ),
        _claim,
    ),
    "storageclasses.storage.k8s.io": Table(
        columns("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion"), _storageclass
    ),
    "csinodes.storage.k8s.io": Table(
        columns("Drivers"), cells_of(lambda obj: len((obj.get("spec") or {}).get("drivers", ())))
    ),
    "poddisruptionbudgets.policy": Table(columns("Min Available", "Max Unavailable", "Allowed Disruptions"), _budget),
    "priorityclasses.scheduling.k8s.io": Table(
        (*columns("Value", "Global-Default"), Column("PreemptionPolicy")),
        lambda obj, now: [
            obj["metadata"]["name"],
            obj.get("value", 0),
            str(obj.get("globalDefault", False)).lower(),
            age(obj, now),
            obj.get("preemptionPolicy", ""),
        ],
    ),
    "leases.coordination.k8s.io": Table(columns("Holder"), cells_of(_spec("holderIdentity"))),
    "ingresses.networking.k8s.io": Table(columns("Class", "Hosts", "Address", "Ports"), _ingress),
    "networkpolicies.networking.k8s.io": Table(
        columns("Pod-Selector"), cells_of(lambda obj: selector_text((obj.get("spec") or {}).get("podSelector")))
    ),
    "rolebindings.rbac.authorization.k8s.io": _ROLE_BINDINGS,
    "clusterrolebindings.rbac.authorization.k8s.io": _ROLE_BINDINGS,
    "resourceclaims.resource.k8s.io": Table(columns("State"), _claim_of_devices),
    "resourceslices.resource.k8s.io": Table(columns("Node", "Driver", "Pool"), _slice),
    "runtimeclasses.node.k8s.io": Table(columns("Handler"), cells_of(lambda obj: obj.get("handler", ""))),
    "customresourcedefinitions.apiextensions.k8s.io": Table(
        (NAME, Column("Created At", "date")),
        lambda obj, _now: [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp", "")],
    ),
}
