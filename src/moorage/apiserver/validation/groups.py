"""Rules for groups of pods: PodGroups and CompositePodGroups, one by one and as templates alike."""

import re
from collections.abc import Iterable
from typing import Any

from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.metadata import dns_label, dns_subdomain
from moorage.apiserver.validation.rules import immutable, label_key, not_negative, one_of

Json = dict[str, Any]

HIGHEST_PRIORITY = 1_000_000_000
MOST_TOPOLOGIES = 1
MOST_CLAIMS = 4
PREEMPTION_POLICIES = ("Never", "PreemptLowerPriority")
OLD_DISRUPTION_MODES = ("Pod", "PodGroup")

#: What a group says once and for all, whether it is one or the template of one.
_SETTLED = (
    "schedulingConstraints",
    "resourceClaims",
    "disruptionMode",
    "priorityClassName",
    "priority",
    "preemptionPolicy",
)
_ORIGIN = ("parentCompositePodGroupName", "workloadRef", "podGroupTemplateRef")
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_LONGEST_REASON = 1024
_LONGEST_MESSAGE = 32768


def validate_podgroup(obj: Json, faults: Faults) -> None:
    """A new PodGroup, of any version."""
    spec = obj.get("spec") or {}
    validate_settings(spec, "spec", faults)
    parent = spec.get("parentCompositePodGroupName")
    if parent is not None and "workloadRef" not in spec:
        faults.required("spec.workloadRef", "must be set when parentCompositePodGroupName is set")
    _validate_origin(spec, faults)


def validate_compositepodgroup(obj: Json, faults: Faults) -> None:
    """A new CompositePodGroup: always made from a Workload."""
    spec = obj.get("spec") or {}
    validate_settings(spec, "spec", faults)
    if "workloadRef" not in spec:
        faults.required("spec.workloadRef")
    _validate_origin(spec, faults)


def validate_podgroup_update(new: Json, old: Json, faults: Faults) -> None:
    """How many members make a gang may change, nothing else."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    keep(spec, before, _ORIGIN, "spec", faults)
    validate_settings_update(spec, before, "spec", faults)


def keeps_group(new: Json, old: Json, faults: Faults) -> None:
    """Of CompositePodGroups, and of PodGroups before v1beta1, nothing changes."""
    names = (*_ORIGIN, "schedulingPolicy", *_SETTLED)
    keep(new.get("spec") or {}, old.get("spec") or {}, names, "spec", faults)


def keep(spec: Json, before: Json, names: Iterable[str], path: str, faults: Faults) -> None:
    """Fields that never change."""
    for name in names:
        immutable(spec.get(name), before.get(name), f"{path}.{name}", faults)


def validate_settings(spec: Json, path: str, faults: Faults) -> None:
    """What groups and templates of groups have in common."""
    policy = spec.get("schedulingPolicy") or {}
    one_member(policy, ("basic", "gang"), f"{path}.schedulingPolicy", faults)
    _validate_gang(policy.get("gang"), f"{path}.schedulingPolicy.gang", faults)
    _validate_topology((spec.get("schedulingConstraints") or {}).get("topology", []), path, faults)
    _validate_claims(spec.get("resourceClaims", []), f"{path}.resourceClaims", faults)
    mode = spec.get("disruptionMode")
    if isinstance(mode, str):
        one_of(mode, OLD_DISRUPTION_MODES, f"{path}.disruptionMode", faults)
    elif mode is not None:
        one_member(mode, ("single", "all"), f"{path}.disruptionMode", faults)
    long_name(spec.get("priorityClassName"), f"{path}.priorityClassName", faults)
    if spec.get("priority", 0) > HIGHEST_PRIORITY:
        problem = f"must be less than or equal to {HIGHEST_PRIORITY}"
        faults.invalid(f"{path}.priority", spec["priority"], problem)
    one_of(spec.get("preemptionPolicy"), PREEMPTION_POLICIES, f"{path}.preemptionPolicy", faults)


def validate_settings_update(spec: Json, before: Json, path: str, faults: Faults) -> None:
    """The kind of policy stays, and all else but for the size of a gang."""
    policy, old = spec.get("schedulingPolicy") or {}, before.get("schedulingPolicy") or {}
    here = f"{path}.schedulingPolicy"
    if policy.keys() != old.keys():
        one_member(policy, ("basic", "gang"), here, faults)
    immutable(policy.get("basic"), old.get("basic"), f"{here}.basic", faults)
    if ("gang" in policy) != ("gang" in old):
        problem = "field cannot be set once created" if "gang" in policy else "field cannot be cleared once set"
        faults.invalid(f"{here}.gang", None, problem)
    else:
        _validate_gang(policy.get("gang"), f"{here}.gang", faults)
    keep(spec, before, _SETTLED, path, faults)


def one_member(union: Json, members: tuple[str, ...], path: str, faults: Faults) -> None:
    """A union: exactly one of its members is there."""
    given = [name for name in members if name in union]
    listed = ", ".join(members)
    if not given:
        faults.invalid(path, "", f"must specify one of: {listed}")
    elif len(given) > 1:
        faults.invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {listed}")


def long_name(name: str | None, path: str, faults: Faults, *, required: bool = False) -> None:
    """A DNS subdomain."""
    _name(name, dns_subdomain(name) if name else "", path, faults, required)


def short_name(name: str | None, path: str, faults: Faults, *, required: bool = False) -> None:
    """A DNS label."""
    _name(name, dns_label(name) if name else "", path, faults, required)


def _name(name: str | None, problem: str, path: str, faults: Faults, required: bool) -> None:
    if required and not name:
        faults.required(path)
    if problem:
        faults.invalid(path, name, problem)


def unique(items: list[Json], path: str, faults: Faults) -> None:
    """Names of a list, each there once."""
    seen: set[str] = set()
    for position, item in enumerate(items):
        name = item.get("name", "")
        if name in seen:
            faults.duplicate(f"{path}[{position}]", name)
        seen.add(name)


def _validate_gang(gang: Json | None, path: str, faults: Faults) -> None:
    for name in ("minCount", "minGroupCount"):
        count = (gang or {}).get(name)
        if count == 0:
            faults.required(f"{path}.{name}")
        elif count is not None and count < 1:
            faults.invalid(f"{path}.{name}", count, "must be greater than or equal to 1")


def _validate_topology(constraints: list[Json], path: str, faults: Faults) -> None:
    here = f"{path}.schedulingConstraints.topology"
    if len(constraints) > MOST_TOPOLOGIES:
        faults.too_many(here, len(constraints), MOST_TOPOLOGIES)
        return
    for position, one in enumerate(constraints):
        if not one.get("key"):
            faults.required(f"{here}[{position}].key")
        else:
            label_key(one["key"], f"{here}[{position}].key", faults)


def _validate_claims(claims: list[Json], path: str, faults: Faults) -> None:
    if len(claims) > MOST_CLAIMS:
        faults.too_many(path, len(claims), MOST_CLAIMS)
        return
    unique(claims, path, faults)
    sources = ("resourceClaimName", "resourceClaimTemplateName")
    for position, claim in enumerate(claims):
        here = f"{path}[{position}]"
        one_member(claim, sources, here, faults)
        short_name(claim.get("name"), f"{here}.name", faults, required=True)
        for source in sources:
            long_name(claim.get(source), f"{here}.{source}", faults)


def _validate_origin(spec: Json, faults: Faults) -> None:
    long_name(spec.get("parentCompositePodGroupName"), "spec.parentCompositePodGroupName", faults)
    reference, path, template = spec.get("workloadRef"), "spec.workloadRef", "templateName"
    old = spec.get("podGroupTemplateRef")
    if old is not None:
        one_member(old, ("workload",), "spec.podGroupTemplateRef", faults)
        reference, path, template = old.get("workload"), "spec.podGroupTemplateRef.workload", "podGroupTemplateName"
    if reference is not None:
        long_name(reference.get("workloadName"), f"{path}.workloadName", faults, required=True)
        short_name(reference.get(template), f"{path}.{template}", faults, required=True)


def validate_group_status(new: Json, _old: Json, faults: Faults) -> None:
    """Whole conditions, and claims that the group has."""
    status = new.get("status") or {}
    validate_conditions(status.get("conditions", []), faults)
    statuses, path = status.get("resourceClaimStatuses", []), "status.resourceClaimStatuses"
    if len(statuses) > MOST_CLAIMS:
        faults.too_many(path, len(statuses), MOST_CLAIMS)
    unique(statuses, path, faults)
    known = {claim.get("name") for claim in (new.get("spec") or {}).get("resourceClaims", ())}
    for position, one in enumerate(statuses):
        if one.get("name") not in known:
            problem = "must match the name of an entry in `spec.resourceClaims`"
            faults.invalid(f"{path}[{position}].name", one.get("name", ""), problem)
        long_name(one.get("resourceClaimName"), f"{path}[{position}].resourceClaimName", faults)


def validate_conditions(conditions: list[Json], faults: Faults) -> None:
    """Whole conditions in a status, one of each type."""
    seen: set[str] = set()
    for position, one in enumerate(conditions):
        path = f"status.conditions[{position}]"
        if one.get("type", "") in seen:
            faults.duplicate(path, one.get("type", ""))
        seen.add(one.get("type", ""))
        if not one.get("type"):
            faults.required(f"{path}.type", "is required")
        else:
            label_key(one["type"], f"{path}.type", faults)
        one_of(one.get("status"), ("False", "True", "Unknown"), f"{path}.status", faults, required=True)
        not_negative(one.get("observedGeneration"), f"{path}.observedGeneration", faults)
        if not one.get("lastTransitionTime"):
            faults.required(f"{path}.lastTransitionTime")
        _validate_reason(one.get("reason", ""), f"{path}.reason", faults)
        if len(one.get("message", "")) > _LONGEST_MESSAGE:
            faults.too_long(f"{path}.message", _LONGEST_MESSAGE)


def _validate_reason(reason: str, path: str, faults: Faults) -> None:
    if not reason:
        faults.required(path)
    elif not _REASON.fullmatch(reason):
        problem = "a condition reason must start with alphabetic character, and end with an alphanumeric one or '_'"
        faults.invalid(path, reason, problem)
    elif len(reason) > _LONGEST_REASON:
        faults.too_long(path, _LONGEST_REASON)
