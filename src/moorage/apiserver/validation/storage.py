"""Rules for volumes, claims and storage classes."""

from typing import Any

from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.metadata import dns_subdomain
from moorage.apiserver.validation.rules import immutable, label_selector, one_of, quantities
from moorage.apiserver.validation.scheduling import validate_node_selector
from moorage.values.quantity import parse_quantity

Json = dict[str, Any]

ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")


def validate_persistentvolume(obj: Json, faults: Faults) -> None:
    """Capacity, access, a source, where it can be used."""
    spec = obj["spec"]
    if not spec.get("accessModes"):
        faults.required("spec.accessModes")
    for mode in spec.get("accessModes", ()):
        one_of(mode, ACCESS_MODES, "spec.accessModes", faults)
    if "storage" not in (spec.get("capacity") or {}):
        faults.required("spec.capacity")
    quantities(spec.get("capacity") or {}, "spec.capacity", faults)
    policies = ("Delete", "Recycle", "Retain")
    one_of(spec.get("persistentVolumeReclaimPolicy"), policies, "spec.persistentVolumeReclaimPolicy", faults)
    one_of(spec.get("volumeMode"), ("Block", "Filesystem"), "spec.volumeMode", faults)
    required = (spec.get("nodeAffinity") or {}).get("required")
    if required is not None:
        validate_node_selector(required, "spec.nodeAffinity.required", faults)
    sources = spec.keys() - _VOLUME_SETTINGS
    if not sources:
        faults.required("spec", "must specify a volume type")
    if "local" in sources and required is None:
        faults.required("spec.nodeAffinity", "Local volume requires node affinity")


_VOLUME_SETTINGS = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)


def validate_persistentvolume_update(new: Json, old: Json, faults: Faults) -> None:
    """A volume keeps its source and mode."""
    spec, before = new["spec"], old["spec"]
    sources = (spec.keys() | before.keys()) - _VOLUME_SETTINGS
    if any(spec.get(name) != before.get(name) for name in sources):
        faults.forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation")
    immutable(spec.get("volumeMode"), before.get("volumeMode"), "spec.volumeMode", faults)


def validate_persistentvolumeclaim(obj: Json, faults: Faults) -> None:
    """Access, size, selector."""
    spec = obj["spec"]
    if not spec.get("accessModes"):
        faults.required("spec.accessModes", "at least 1 access mode is required")
    for mode in spec.get("accessModes", ()):
        one_of(mode, ACCESS_MODES, "spec.accessModes", faults)
    requests = (spec.get("resources") or {}).get("requests") or {}
    if "storage" not in requests:
        faults.required("spec.resources[storage]")
    quantities(requests, "spec.resources.requests", faults)
    label_selector(spec.get("selector"), "spec.selector", faults)
    if spec.get("storageClassName") and (problem := dns_subdomain(spec["storageClassName"])):
        faults.invalid("spec.storageClassName", spec["storageClassName"], problem)
    one_of(spec.get("volumeMode"), ("Block", "Filesystem"), "spec.volumeMode", faults)


_CLAIM_MUTABLE = frozenset({"resources", "volumeAttributesClassName"})


def validate_persistentvolumeclaim_update(new: Json, old: Json, faults: Faults) -> None:
    """A claim may grow, and be bound; nothing else changes."""
    spec, before = new["spec"], old["spec"]
    for name in sorted((spec.keys() | before.keys()) - _CLAIM_MUTABLE):
        is_first_binding = name == "volumeName" and not before.get("volumeName")
        is_first_class = name == "storageClassName" and name not in before
        if spec.get(name) != before.get(name) and not is_first_binding and not is_first_class:
            faults.forbidden(
                "spec",
                "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
                f"claims (changed: spec.{name})",
            )
    _validate_resize(new, old, faults)


def _validate_resize(new: Json, old: Json, faults: Faults) -> None:
    """Bound claims may ask for more, never for less; others ask for what they asked for."""
    requests = (new["spec"].get("resources") or {}).get("requests") or {}
    before = (old["spec"].get("resources") or {}).get("requests") or {}
    if requests == before:
        return
    if (old.get("status") or {}).get("phase") != "Bound":
        faults.forbidden(
            "spec",
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        )
    elif parse_quantity(requests.get("storage", "0")) < parse_quantity(before.get("storage", "0")):
        faults.forbidden("spec.resources.requests.storage", "field can not be less than previous value")


def validate_storageclass(obj: Json, faults: Faults) -> None:
    """A provisioner, a policy, a mode."""
    if not obj.get("provisioner"):
        faults.required("provisioner")
    one_of(obj.get("reclaimPolicy"), ("Delete", "Retain"), "reclaimPolicy", faults)
    one_of(obj.get("volumeBindingMode"), ("Immediate", "WaitForFirstConsumer"), "volumeBindingMode", faults)


def validate_storageclass_update(new: Json, old: Json, faults: Faults) -> None:
    """What volumes were made with stays."""
    for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        immutable(new.get(name), old.get(name), name, faults)
