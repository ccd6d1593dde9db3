"""Defaults of pods and of the pod specs inside templates."""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

#: The permissions of files in volumes made of API objects: rw-r--r--.
_MODE = 0o644
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def default_pod(pod: Json) -> None:
    """A pod: its spec, and what holds for pods alone, not for templates."""
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        resources = container["resources"]
        if resources.get("limits"):
            resources["requests"] = {**resources["limits"], **resources.get("requests", {})}
        if spec.get("hostNetwork"):
            for port in container.get("ports", ()):
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort", 0)
    _default_pod_requests(spec)
    spec.setdefault("enableServiceLinks", True)


def _default_pod_requests(spec: Json) -> None:
    """Pod-level requests follow pod-level limits, where containers do not say otherwise."""
    resources = spec.get("resources")
    if not resources or not resources.get("limits"):
        return
    asked = {name for c in spec.get("containers", ()) for name in c["resources"].get("requests", {})}
    requests = resources.setdefault("requests", {})
    for name, limit in resources["limits"].items():
        if name not in requests and name not in asked:
            requests[name] = limit


def default_pod_spec(spec: Json) -> None:
    """A pod spec, in a pod or in a template."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    _fill_empty(spec, "restartPolicy", "Always")
    _fill_empty(spec, "dnsPolicy", "ClusterFirst")
    _fill_empty(spec, "schedulerName", "default-scheduler")
    _default_service_account(spec)
    for volume in spec.get("volumes", ()):
        _default_volume(volume)
    for container in all_containers(spec):
        _default_container(container)


def _fill_empty(obj: Json, name: str, value: Any) -> None:
    if not obj.get(name):
        obj[name] = value


def _default_service_account(spec: Json) -> None:
    """`serviceAccount` is the old name of `serviceAccountName`: both are always the same."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def all_containers(spec: Json) -> Iterator[Json]:
    """Init containers, containers and ephemeral containers."""
    for name in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(name, ())


def _default_container(container: Json) -> None:
    container.setdefault("resources", {})
    _fill_empty(container, "terminationMessagePath", "/dev/termination-log")
    _fill_empty(container, "terminationMessagePolicy", "File")
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    for port in container.get("ports", ()):
        _fill_empty(port, "protocol", "TCP")
    for name in _PROBES:
        if name in container:
            _default_probe(container[name])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _default_handler(handler)
    for variable in container.get("env", ()):
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference is not None:
            _fill_empty(reference, "apiVersion", "v1")


def pull_policy(image: str) -> str:
    """Images tagged latest, in so many words or by default, are always pulled."""
    name = image.rpartition("/")[2]
    if "@" in image:
        return "IfNotPresent"
    tag = name.partition(":")[2] or "latest"
    return "Always" if tag == "latest" else "IfNotPresent"


def _default_probe(probe: Json) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        _fill_empty(probe, name, value)
    _default_handler(probe)


def _default_handler(handler: Json) -> None:
    if "httpGet" in handler:
        _fill_empty(handler["httpGet"], "path", "/")
        _fill_empty(handler["httpGet"], "scheme", "HTTP")
    if "grpc" in handler:
        handler["grpc"].setdefault("service", "")


def _default_volume(volume: Json) -> None:
    if volume.keys() <= {"name"}:
        volume["emptyDir"] = {}
    for kind in ("secret", "configMap", "downwardAPI", "projected"):
        if kind in volume:
            volume[kind].setdefault("defaultMode", _MODE)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    for source in (volume.get("projected") or {}).get("sources", ()):
        if "serviceAccountToken" in source:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    if "ephemeral" in volume:
        claim = (volume["ephemeral"].get("volumeClaimTemplate") or {}).get("spec")
        if claim is not None:
            claim.setdefault("volumeMode", "Filesystem")


def default_template(template: Json | None) -> None:
    """The pod template of a workload."""
    if template is not None:
        default_pod_spec(template.setdefault("spec", {}))
