"""What the server sets on pods: first status, quality of service, tolerations, label keys, service account."""

from collections.abc import Iterator
from typing import Any

from moorage.apiserver.registry import Operation

Json = dict[str, Any]

_PATIENCE = 300
_TROUBLES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def set_first_status(operation: Operation, pod: Json) -> None:
    """A new pod is pending, and says so if gates hold it back."""
    spec = pod["spec"]
    status: Json = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastTransitionTime": operation.registry.clock.stamp(),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    pod["status"] = status


def qos_class(spec: Json) -> str:
    """Guaranteed, Burstable or BestEffort, by the CPU and memory that containers ask for and are limited to."""
    if spec.get("resources"):
        containers = [spec]
    else:
        containers = [*spec.get("containers", ()), *spec.get("initContainers", ())]
    is_guaranteed, asks = True, False
    for container in containers:
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            request, limit = requests.get(name, "0"), limits.get(name, "0")
            asks = asks or request != "0" or limit != "0"
            is_guaranteed = is_guaranteed and limit != "0" and request == limit
    if not asks:
        return "BestEffort"
    return "Guaranteed" if is_guaranteed else "Burstable"


def set_service_account(_: Operation, pod: Json) -> None:
    """Pods run as somebody: the namespace's default account unless said. Mirror pods run as nobody."""
    if "kubernetes.io/config.mirror" not in (pod["metadata"].get("annotations") or {}):
        name = pod["spec"].setdefault("serviceAccountName", "default")
        pod["spec"]["serviceAccount"] = name


def add_tolerations(_: Operation, pod: Json) -> None:
    """Pods bear a node that is not ready or not reachable for five minutes, unless they say otherwise."""
    tolerations = pod["spec"].setdefault("tolerations", [])
    for key in _TROUBLES:
        if not any(_tolerates_eviction(toleration, key) for toleration in tolerations):
            tolerations.append(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _PATIENCE}
            )


def keep_tolerations(operation: Operation, pod: Json, _old: Json) -> None:
    """The same for a pod that was changed."""
    add_tolerations(operation, pod)


def _tolerates_eviction(toleration: Json, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def merge_label_keys(_: Operation, pod: Json) -> None:
    """matchLabelKeys become expressions of the label selector beside them, with the pod's own values."""
    labels = pod["metadata"].get("labels") or {}
    for term in _affinity_terms(pod["spec"].get("affinity") or {}):
        _merge_keys(term, "matchLabelKeys", "In", labels)
        _merge_keys(term, "mismatchLabelKeys", "NotIn", labels)
    for constraint in pod["spec"].get("topologySpreadConstraints", ()):
        _merge_keys(constraint, "matchLabelKeys", "In", labels)


def _affinity_terms(affinity: Json) -> Iterator[Json]:
    for name in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(name) or {}
        yield from rules.get("requiredDuringSchedulingIgnoredDuringExecution", ())
        for preference in rules.get("preferredDuringSchedulingIgnoredDuringExecution", ()):
            if "podAffinityTerm" in preference:
                yield preference["podAffinityTerm"]


def _merge_keys(term: Json, field: str, operator: str, labels: Json) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for key in term.get(field, ()):
        if key in labels:
            expression = {"key": key, "operator": operator, "values": [labels[key]]}
            selector.setdefault("matchExpressions", []).append(expression)


def set_runtime_class(operation: Operation, pod: Json) -> None:
    """A runtime class adds its overhead, and may say which nodes can run it."""
    name = pod["spec"].get("runtimeClassName")
    if not name:
        return
    item = operation.registry.resource("runtimeclasses", "node.k8s.io").collection.get("", name)
    if item is None:
        raise operation.resource.forbidden(operation.name, f'pod rejected: RuntimeClass "{name}" not found')
    runtime, spec = item.decode(), pod["spec"]
    overhead = (runtime.get("overhead") or {}).get("podFixed")
    if overhead:
        if spec.get("overhead", overhead) != overhead:
            raise operation.resource.forbidden(
                operation.name,
                "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            )
        spec["overhead"] = overhead
    scheduling = runtime.get("scheduling") or {}
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if spec.setdefault("nodeSelector", {}).setdefault(key, value) != value:
            raise operation.resource.forbidden(
                operation.name, f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            )
    for toleration in scheduling.get("tolerations", ()):
        if toleration not in spec.setdefault("tolerations", []):
            spec["tolerations"].append(toleration)


def add_topology_labels(operation: Operation, pod: Json) -> None:
    """A pod created on a node carries the zone and region of that node, as a bound one does."""
    node = operation.registry.store.collection("nodes").get("", pod["spec"].get("nodeName", ""))
    if node is not None:
        labels = {key: node.labels[key] for key in TOPOLOGY_LABELS if key in node.labels}
        if labels:
            pod["metadata"].setdefault("labels", {}).update(labels)


TOPOLOGY_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def keep_generation_of_status(_: Operation, new: Json, old: Json) -> None:
    """Quality of service never changes; a status written by somebody who knows no generation keeps the old one."""
    status, before = new.setdefault("status", {}), old.get("status") or {}
    for name in ("qosClass", "observedGeneration"):
        if not status.get(name) and before.get(name):
            status[name] = before[name]


def grace_period(pod: Json, asked: int | None) -> int:
    """How long a pod may take to end: none at all if it does not run anywhere."""
    if not pod["spec"].get("nodeName") or (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return 0
    period: int = pod["spec"].get("terminationGracePeriodSeconds", 0) if asked is None else asked
    return 1 if period < 0 else period
