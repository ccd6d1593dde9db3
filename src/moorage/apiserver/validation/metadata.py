"""Rules for names, labels, annotations, owners and finalizers of every object."""

import re
from collections.abc import Callable
from typing import Any

from moorage.apiserver.validation.faults import Faults

Json = dict[str, Any]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DNS1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_ANNOTATIONS_LIMIT = 256 * 1024


def dns_label(name: str) -> str:
    """What is wrong with a DNS label; empty if nothing."""
    if len(name) > 63:
        return "must be no more than 63 bytes"
    if not _LABEL.fullmatch(name):
        return (
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
            "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
        )
    return ""


def dns_subdomain(name: str) -> str:
    """What is wrong with a DNS subdomain; empty if nothing."""
    if len(name) > 253:
        return "must be no more than 253 bytes"
    if not _SUBDOMAIN.fullmatch(name):
        return (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        )
    return ""


def dns1035_label(name: str) -> str:
    """What is wrong with the name of a Service; empty if nothing."""
    if len(name) > 63:
        return "must be no more than 63 bytes"
    if not _DNS1035.fullmatch(name):
        return (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
            "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
        )
    return ""


def path_segment(name: str) -> str:
    """What is wrong with a name that need only fit into a path (RBAC); empty if nothing."""
    if name in (".", ".."):
        return f"may not be '{name}'"
    for illegal in ("/", "%"):
        if illegal in name:
            return f"may not contain '{illegal}'"
    return ""


def qualified_name(name: str) -> str:
    """What is wrong with a label key or the like; empty if nothing."""
    prefix, slash, last = name.rpartition("/")
    if slash and ("/" in prefix or not prefix):
        return (
            "a qualified name must consist of alphanumeric characters, '-', '_' or '.', with an optional DNS "
            "subdomain prefix and '/'"
        )
    if slash and (problem := dns_subdomain(prefix)):
        return f"prefix part {problem}"
    if not last:
        return "name part must be non-empty"
    if len(last) > 63:
        return "name part must be no more than 63 bytes"
    if not _NAME_PART.fullmatch(last):
        return (
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        )
    return ""


def label_value(value: str) -> str:
    """What is wrong with a label's value; empty if nothing."""
    if len(value) > 63:
        return "must be no more than 63 bytes"
    if not _LABEL_VALUE.fullmatch(value):
        return (
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
            "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        )
    return ""


def validate_labels(labels: Json, path: str, faults: Faults) -> None:
    """Keys are qualified names, values are short and plain."""
    for key, value in labels.items():
        if problem := qualified_name(key):
            faults.invalid(path, key, problem)
        if problem := label_value(value):
            faults.invalid(path, value, problem)


def validate_metadata(
    metadata: Json, is_namespaced: bool, validate_name: Callable[[str], str] | None, faults: Faults
) -> None:
    """The rules for the metadata of any object."""
    _validate_names(metadata, is_namespaced, validate_name or dns_subdomain, faults)
    if labels := metadata.get("labels"):
        validate_labels(labels, "metadata.labels", faults)
    if annotations := metadata.get("annotations"):
        validate_annotations(annotations, "metadata.annotations", faults)
    if owners := metadata.get("ownerReferences"):
        _validate_owners(owners, faults)
    for finalizer in metadata.get("finalizers", ()):
        if problem := qualified_name(finalizer):
            faults.invalid("metadata.finalizers", finalizer, problem)


def _validate_names(metadata: Json, is_namespaced: bool, validate_name: Callable[[str], str], faults: Faults) -> None:
    if (base := metadata.get("generateName")) and (problem := validate_name(base.rstrip("-.") or "x")):
        faults.invalid("metadata.generateName", base, problem)
    name = metadata.get("name", "")
    if not name:
        faults.required("metadata.name", "name or generateName is required")
    elif problem := validate_name(name):
        faults.invalid("metadata.name", name, problem)
    if is_namespaced and (problem := dns_label(metadata.get("namespace", ""))):
        faults.invalid("metadata.namespace", metadata.get("namespace", ""), problem)


def validate_annotations(annotations: Json, path: str, faults: Faults) -> None:
    """Keys are qualified names, the whole is bounded."""
    for key in annotations:
        if problem := qualified_name(key.lower()):
            faults.invalid(path, key, problem)
    if sum(len(key) + len(value) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        faults.too_long(path, _ANNOTATIONS_LIMIT)


def _validate_owners(owners: list[Json], faults: Faults) -> None:
    controllers = []
    for position, owner in enumerate(owners):
        path = f"metadata.ownerReferences[{position}]"
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                faults.invalid(f"{path}.{name}", owner.get(name, ""), "must not be empty")
        if owner.get("controller"):
            controllers.append(owner)
    if len(controllers) > 1:
        faults.invalid(
            "metadata.ownerReferences",
            owners,
            "Only one reference can have Controller set to true. "
            f'Found "true" in references for {controllers[0]["name"]} and {controllers[1]["name"]}',
        )


def validate_metadata_update(new: Json, old: Json, faults: Faults) -> None:
    """What no update may do to metadata."""
    if "deletionTimestamp" in old:
        added = [name for name in new.get("finalizers", ()) if name not in old.get("finalizers", ())]
        if added:
            listed = ", ".join(f'"{name}"' for name in added)
            faults.forbidden(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, found new finalizers "
                f"[]string{{{listed}}}",
            )
