"""What the server sets on other kinds: claims, services, jobs, stateful sets, devices."""

import ipaddress
from typing import Any, Final

from moorage.apiserver.registry import Operation

Json = dict[str, Any]

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_SERVICE_RANGE = ipaddress.ip_network("10.0.0.0/16")
_NODE_PORTS = range(30000, 32768)


def set_storage_class(operation: Operation, claim: Json) -> None:
    """A claim that names no class gets the default one, the newest where several are."""
    claim["status"] = {"phase": "Pending"}
    spec = claim["spec"]
    if "storageClassName" in spec or "volume.beta.kubernetes.io/storage-class" in (
        claim["metadata"].get("annotations") or {}
    ):
        return
    classes = operation.registry.resource("storageclasses", "storage.k8s.io").collection
    marked = [item.decode()["metadata"] for item in classes.items() if _DEFAULT_CLASS.encode() in item.data]
    marked = [each for each in marked if (each.get("annotations") or {}).get(_DEFAULT_CLASS) == "true"]
    if marked:
        newest = max(marked, key=lambda each: (each["creationTimestamp"], each["name"]))
        spec["storageClassName"] = newest["name"]


def start_volume(operation: Operation, volume: Json) -> None:
    """A new volume is pending until a controller says more."""
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": operation.registry.clock.stamp()}


def allocate_service(operation: Operation, obj: Json) -> None:
    """Give a service its cluster address and node ports."""
    spec = obj["spec"]
    obj["status"] = {"loadBalancer": {}}
    if spec["type"] == "ExternalName":
        return
    if not spec.get("clusterIP"):
        spec["clusterIP"] = _free_address(operation)
    spec["clusterIPs"] = [spec["clusterIP"]]
    _allocate_ports(operation, spec)


def keep_service(operation: Operation, new: Json, old: Json) -> None:
    """A service keeps its address, and its ports where the client leaves them out."""
    spec, before = new["spec"], old["spec"]
    if spec["type"] == "ExternalName":
        return
    if before.get("clusterIP") and not spec.get("clusterIP"):
        spec["clusterIP"] = before["clusterIP"]
    if not spec.get("clusterIP"):
        spec["clusterIP"] = _free_address(operation)
    spec["clusterIPs"] = [spec["clusterIP"]]
    known = {(port.get("port"), port.get("protocol")): port.get("nodePort") for port in before.get("ports", ())}
    if spec["type"] in ("NodePort", "LoadBalancer"):
        for port in spec.get("ports", ()):
            if not port.get("nodePort") and known.get((port.get("port"), port.get("protocol"))):
                port["nodePort"] = known[port.get("port"), port.get("protocol")]
    _allocate_ports(operation, spec)


def _free_address(operation: Operation) -> str:
    used = {item.fields[0] for item in operation.resource.collection.items()}
    for host in _SERVICE_RANGE.hosts():
        if str(host) not in used:
            return str(host)
    raise operation.resource.forbidden(operation.name, "the range of cluster addresses is full")


def _allocate_ports(operation: Operation, spec: Json) -> None:
    wanted = [port for port in spec.get("ports", ()) if not port.get("nodePort")]
    if spec["type"] not in ("NodePort", "LoadBalancer") or not wanted:
        return
    used = {port.get("nodePort") for port in spec["ports"]}
    for item in operation.resource.collection.items():
        if b'"nodePort"' in item.data:
            used |= {port.get("nodePort") for port in item.decode()["spec"].get("ports", ())}
    free = (number for number in _NODE_PORTS if number not in used)
    for port in wanted:
        port["nodePort"] = next(free)


def select_job_pods(_: Operation, job: Json) -> None:
    """A job finds its pods by its own uid, unless the user selects them by hand."""
    spec, metadata = job["spec"], job["metadata"]
    job["status"] = {}
    if spec.get("manualSelector"):
        return
    template = spec.setdefault("template", {}).setdefault("metadata", {}).setdefault("labels", {})
    uid, name = metadata["uid"], metadata.get("name", "")
    template.setdefault("batch.kubernetes.io/controller-uid", uid)
    template.setdefault("controller-uid", uid)
    template.setdefault("batch.kubernetes.io/job-name", name)
    template.setdefault("job-name", name)
    labels = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    labels["batch.kubernetes.io/controller-uid"] = uid
    if not metadata.get("labels"):
        metadata["labels"] = dict(template)


def start_status(_: Operation, obj: Json) -> None:
    """A new object has an empty status until its controller writes one."""
    obj["status"] = {}


def start_budget(_: Operation, obj: Json) -> None:
    """A new budget allows nothing until its controller has counted."""
    obj["status"] = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}


def start_replicas(_: Operation, obj: Json) -> None:
    """A new workload has no replicas yet."""
    obj["status"] = {"replicas": 0}


def start_stateful_replicas(_: Operation, obj: Json) -> None:
    """A new StatefulSet has no replicas yet."""
    obj["status"] = {"replicas": 0, "availableReplicas": 0}


def start_daemons(_: Operation, obj: Json) -> None:
    """A new DaemonSet runs nowhere yet."""
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    obj["status"] = dict.fromkeys(counts, 0)
    obj["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = "1"


def count_templates(_: Operation, new: Json, old: Json) -> None:
    """DaemonSets number their templates, as they did before generations."""
    number = (old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "0")
    if new["spec"].get("template") != old["spec"].get("template") and number.isdigit():
        number = str(int(number) + 1)
    new["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = number


def date_taints(operation: Operation, obj: Json, _old: Json | None = None) -> None:
    """A taint of a slice's device without a date is of now."""
    for device in (obj.get("spec") or {}).get("devices") or ():
        for taint in device.get("taints") or ():
            _date(operation, taint)


def date_rule(operation: Operation, obj: Json, old: Json | None = None) -> None:
    """The same for a rule. One that has another effect from now on, and an old date, is of now, too."""
    taint = (obj.get("spec") or {}).get("taint")
    if taint is None:
        return
    before = ((old or {}).get("spec") or {}).get("taint") or taint
    if taint.get("effect") != before.get("effect") and taint.get("timeAdded") == before.get("timeAdded"):
        taint.pop("timeAdded", None)
    _date(operation, taint)


def _date(operation: Operation, taint: Json) -> None:
    if not taint.get("timeAdded"):
        taint["timeAdded"] = operation.registry.clock.stamp()


_MAX_UNAVAILABLE: Final = "MaxUnavailableStatefulSet"


def settle_max_unavailable(operation: Operation, new: Json, old: Json | None = None) -> None:
    """A StatefulSet replaces one pod at a time where it may say how many; elsewhere the field is not stored."""
    rolling = _rolling(new)
    if rolling is None:
        return
    if _MAX_UNAVAILABLE in operation.registry.features:
        rolling.setdefault("maxUnavailable", 1)
    elif "maxUnavailable" not in (_rolling(old or {}) or {}):
        rolling.pop("maxUnavailable", None)


def _rolling(stateful_set: Json) -> Json | None:
    strategy = (stateful_set.get("spec") or {}).get("updateStrategy") or {}
    found: Json | None = strategy.get("rollingUpdate")
    return found
