"""Rules for everything that is not a pod or a workload."""

import re
from typing import Any

from moorage.apiserver.admission.priority import SYSTEM_CLASSES
from moorage.apiserver.validation.containers import PROTOCOLS
from moorage.apiserver.validation.devices import validate_claim_spec
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.metadata import dns_label
from moorage.apiserver.validation.rules import (
    immutable,
    int_or_percent,
    ip_address,
    label_selector,
    not_negative,
    one_of,
    port,
    quantities,
)
from moorage.apiserver.validation.scheduling import validate_taints

Json = dict[str, Any]

_HIGHEST_PRIORITY = 1_000_000_000
_DATA_LIMIT = 1024 * 1024
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+")


def validate_node(obj: Json, faults: Faults) -> None:
    """Taints, amounts, pod ranges."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    validate_taints(spec.get("taints", []), "metadata.taints", faults)
    for name in ("capacity", "allocatable"):
        quantities(status.get(name) or {}, f"status.{name}", faults)


def validate_node_update(new: Json, old: Json, faults: Faults) -> None:
    """A node keeps its provider and its pod range once they are set."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    for name in ("podCIDR", "providerID"):
        if before.get(name) and spec.get(name) != before[name]:
            faults.forbidden(f"spec.{name}", f'node updates may not change {name} except from "" to valid')


def validate_priorityclass(obj: Json, faults: Faults) -> None:
    """System names are reserved, user values bounded."""
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    if name.startswith("system-"):
        if SYSTEM_CLASSES.get(name) != value:
            faults.forbidden(
                "metadata.name",
                "priority class names with 'system-' prefix are reserved for system use only. error: "
                f"{name} is not a known system priority class",
            )
    elif value > _HIGHEST_PRIORITY:
        faults.forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}")
    one_of(obj.get("preemptionPolicy"), ("PreemptLowerPriority", "Never"), "preemptionPolicy", faults)


def validate_priorityclass_update(new: Json, old: Json, faults: Faults) -> None:
    """Value and policy never change."""
    if new.get("value", 0) != old.get("value", 0):
        faults.forbidden("value", "may not be changed in an update.")
    immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy", faults)


def validate_configmap(obj: Json, faults: Faults) -> None:
    """Keys are file names, the whole is bounded."""
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    for name, entries in (("data", data), ("binaryData", binary)):
        for key in entries:
            _validate_data_key(key, f"{name}[{key}]", faults)
    for key in data.keys() & binary.keys():
        faults.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    if sum(len(value) for value in (*data.values(), *binary.values())) > _DATA_LIMIT:
        faults.too_long("", _DATA_LIMIT)


def validate_secret(obj: Json, faults: Faults) -> None:
    """Keys are file names, the whole is bounded."""
    data = obj.get("data") or {}
    for key in data:
        _validate_data_key(key, f"data[{key}]", faults)
    if sum(len(value) for value in data.values()) * 3 // 4 > _DATA_LIMIT:
        faults.too_long("data", _DATA_LIMIT)
    for key in _SECRET_KEYS.get(obj.get("type", ""), ()):
        if key not in data:
            faults.required(f"data[{key}]")


#: What secrets of a type must have.
_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def _validate_data_key(key: str, path: str, faults: Faults) -> None:
    if not _DATA_KEY.fullmatch(key) or len(key) > 253 or key in (".", ".."):
        faults.invalid(
            path,
            key,
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        )


def keeps_data_if_immutable(new: Json, old: Json, faults: Faults) -> None:
    """Objects marked immutable stay as they are."""
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        faults.forbidden("immutable", "field is immutable when `immutable` is set")
    for name in ("data", "binaryData"):
        if new.get(name) != old.get(name):
            faults.forbidden(name, "field is immutable when `immutable` is set")


def keeps_type(new: Json, old: Json, faults: Faults) -> None:
    """A secret's type is decided once."""
    immutable(new.get("type"), old.get("type"), "type", faults)


def validate_service(obj: Json, faults: Faults) -> None:
    """Ports, type, addresses."""
    spec = obj["spec"]
    ports = spec.get("ports", [])
    if not ports and spec.get("type") != "ExternalName" and spec.get("clusterIP") != "None":
        faults.required("spec.ports")
    if spec.get("type") == "ExternalName" and not spec.get("externalName"):
        faults.required("spec.externalName")
    names: set[str] = set()
    for position, each in enumerate(ports):
        here = f"spec.ports[{position}]"
        _validate_service_port(each, here, len(ports) > 1, names, faults)
    one_of(spec.get("sessionAffinity"), ("ClientIP", "None"), "spec.sessionAffinity", faults)
    kinds = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
    one_of(spec.get("type"), kinds, "spec.type", faults, required=True)
    if spec.get("clusterIP") not in (None, "", "None"):
        ip_address(spec["clusterIP"], "spec.clusterIPs[0]", faults)


def _validate_service_port(each: Json, path: str, needs_name: bool, names: set[str], faults: Faults) -> None:
    name = each.get("name", "")
    if needs_name and not name:
        faults.required(f"{path}.name")
    elif name:
        if problem := dns_label(name):
            faults.invalid(f"{path}.name", name, problem)
        elif name in names:
            faults.duplicate(f"{path}.name", name)
        names.add(name)
    port(each.get("port", 0), f"{path}.port", faults)
    one_of(each.get("protocol"), PROTOCOLS, f"{path}.protocol", faults, required=True)
    if isinstance(each.get("targetPort"), int):
        port(each["targetPort"], f"{path}.targetPort", faults)


def validate_service_update(new: Json, old: Json, faults: Faults) -> None:
    """The cluster address stays."""
    before = old["spec"].get("clusterIP")
    is_inside = "ExternalName" not in (new["spec"].get("type"), old["spec"].get("type"))
    if before and is_inside and new["spec"].get("clusterIP") != before:
        faults.invalid("spec.clusterIPs[0]", new["spec"].get("clusterIPs"), "may not change once set")


def validate_budget(obj: Json, faults: Faults) -> None:
    """Either what must stay or what may go."""
    spec = obj.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        faults.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        int_or_percent(spec.get(name), f"spec.{name}", faults)
    label_selector(spec.get("selector"), "spec.selector", faults)
    policies = ("AlwaysAllow", "IfHealthyBudget")
    one_of(spec.get("unhealthyPodEvictionPolicy"), policies, "spec.unhealthyPodEvictionPolicy", faults)


def validate_lease(obj: Json, faults: Faults) -> None:
    """Durations are positive."""
    spec = obj.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        faults.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    not_negative(spec.get("leaseTransitions"), "spec.leaseTransitions", faults)


def validate_resourceclaim(obj: Json, faults: Faults) -> None:
    """What it asks for."""
    validate_claim_spec(obj.get("spec") or {}, "spec", faults)


def validate_resourceclaimtemplate(obj: Json, faults: Faults) -> None:
    """As the claims made from it."""
    validate_claim_spec((obj.get("spec") or {}).get("spec") or {}, "spec.spec", faults)


def keeps_spec(new: Json, old: Json, faults: Faults) -> None:
    """The spec is decided once."""
    immutable(new.get("spec"), old.get("spec"), "spec", faults)


def validate_role(obj: Json, faults: Faults) -> None:
    """Rules with verbs, about resources of groups or about paths."""
    for position, rule in enumerate(obj.get("rules", ())):
        if not rule.get("verbs"):
            faults.required(f"rules[{position}].verbs", "verbs must contain at least one value")
        if rule.get("nonResourceURLs"):
            continue
        if not rule.get("apiGroups"):
            faults.required(f"rules[{position}].apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            faults.required(f"rules[{position}].resources", "resource rules must supply at least one resource")


def validate_role_binding(obj: Json, faults: Faults) -> None:
    """A role, and subjects."""
    role = obj.get("roleRef") or {}
    one_of(role.get("kind"), ("Role", "ClusterRole"), "roleRef.kind", faults, required=True)
    if not role.get("name"):
        faults.required("roleRef.name")
    for position, subject in enumerate(obj.get("subjects", ())):
        here = f"subjects[{position}]"
        one_of(subject.get("kind"), ("ServiceAccount", "User", "Group"), f"{here}.kind", faults, required=True)
        if not subject.get("name"):
            faults.required(f"{here}.name")


def keeps_role(new: Json, old: Json, faults: Faults) -> None:
    """What a binding binds to is decided once."""
    if new.get("roleRef") != old.get("roleRef"):
        faults.invalid("roleRef", new.get("roleRef"), "cannot change roleRef")


def validate_autoscaler(obj: Json, faults: Faults) -> None:
    """A target, and bounds in order."""
    spec = obj.get("spec") or {}
    low, high = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    if high < 1:
        faults.invalid("spec.maxReplicas", high, "must be greater than 0")
    if high < low:
        faults.invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")
    target = spec.get("scaleTargetRef") or {}
    for name in ("kind", "name"):
        if not target.get(name):
            faults.required(f"spec.scaleTargetRef.{name}")
