"""Rules for Workloads: trees of templates from which groups of pods are made."""

from collections.abc import Iterator
from typing import Any

from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.groups import (
    keep,
    long_name,
    one_member,
    short_name,
    unique,
    validate_settings,
    validate_settings_update,
)
from moorage.apiserver.validation.metadata import path_segment

Json = dict[str, Any]

MOST_TEMPLATES = 8
DEEPEST = 4

_LEAVES, _BRANCHES = "podGroupTemplates", "compositePodGroupTemplates"


def validate_workload(obj: Json, faults: Faults) -> None:
    """A new Workload."""
    spec = obj.get("spec") or {}
    _validate_controller(spec.get("controllerRef"), faults)
    if "v1alpha2" in obj.get("apiVersion", ""):
        if not spec.get(_LEAVES):
            faults.required(f"spec.{_LEAVES}")
    else:
        given = {name: spec[name] for name in (_LEAVES, _BRANCHES) if spec.get(name)}
        one_member(given, (_LEAVES, _BRANCHES), "spec", faults)
    _validate_children(spec, "spec", faults)
    validate_tree(obj, faults)


def keeps_workload(new: Json, old: Json, faults: Faults) -> None:
    """Before v1beta1 nothing of a Workload changes."""
    keep(new.get("spec") or {}, old.get("spec") or {}, ("controllerRef", _LEAVES), "spec", faults)


def validate_workload_update(new: Json, old: Json, faults: Faults) -> None:
    """Templates neither come nor go; of each the size of its gang may change."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    keep(spec, before, ("controllerRef",), "spec", faults)
    _validate_children_update(spec, before, "spec", faults)
    validate_tree(new, faults)


def validate_tree(obj: Json, faults: Faults) -> None:
    """What holds of all templates together: names, depth, one priority, no branch without leaves."""
    spec = obj.get("spec") or {}
    _validate_names(spec, "spec", {leaf.get("name", "") for leaf in spec.get(_LEAVES, ())}, faults)
    for position, branch in enumerate(spec.get(_BRANCHES, ())):
        if _depth(branch) >= DEEPEST:
            shown, path = branch.get(_BRANCHES, []), f"spec.{_BRANCHES}[{position}]"
            faults.invalid(path, shown, f"maximum template hierarchy depth is {DEEPEST}")
    priorities = {(each.get("priorityClassName", ""), each.get("priority")) for each in _all(spec)}
    if len(priorities) > 1:
        faults.invalid("spec", None, "all priority and priorityClassName values must be identical")
    _validate_branches(spec, "spec", faults)


def _validate_controller(reference: Json | None, faults: Faults) -> None:
    if reference is None:
        return
    long_name(reference.get("apiGroup"), "spec.controllerRef.apiGroup", faults)
    for name in ("kind", "name"):
        path, value = f"spec.controllerRef.{name}", reference.get(name, "")
        if not value:
            faults.required(path)
        elif problem := path_segment(value):
            faults.invalid(path, value, problem)


def _validate_children(parent: Json, path: str, faults: Faults) -> None:
    for name in (_LEAVES, _BRANCHES):
        templates, here = parent.get(name, []), f"{path}.{name}"
        if len(templates) > MOST_TEMPLATES:
            faults.too_many(here, len(templates), MOST_TEMPLATES)
            continue
        unique(templates, here, faults)
        for position, template in enumerate(templates):
            _validate_template(template, f"{here}[{position}]", faults)


def _validate_template(template: Json, path: str, faults: Faults) -> None:
    short_name(template.get("name"), f"{path}.name", faults, required=True)
    validate_settings(template, path, faults)
    _validate_children(template, path, faults)


def _validate_children_update(parent: Json, before: Json, path: str, faults: Faults) -> None:
    for name in (_LEAVES, _BRANCHES):
        templates, here = parent.get(name, []), f"{path}.{name}"
        old = {template["name"]: template for template in before.get(name, ())}
        names = [template.get("name", "") for template in templates]
        found = len(faults)
        for position, each in enumerate(names):
            if each not in old:
                faults.forbidden(f"{here}[{position}]", "item may not be added")
        for _gone in old.keys() - set(names):
            faults.forbidden(here, "item may not be removed")
        if len(faults) > found:
            continue
        for position, template in enumerate(templates):
            validate_settings_update(template, old[names[position]], f"{here}[{position}]", faults)
            _validate_children_update(template, old[names[position]], f"{here}[{position}]", faults)


def _validate_names(parent: Json, path: str, taken: set[str], faults: Faults) -> None:
    """Names are unique in the whole tree; those of one list among themselves are looked at elsewhere."""
    branches = parent.get(_BRANCHES, [])
    for position, branch in enumerate(branches):
        if branch.get("name", "") in taken:
            faults.duplicate(f"{path}.{_BRANCHES}[{position}].name", branch.get("name", ""))
    taken |= {branch.get("name", "") for branch in branches}
    for position, branch in enumerate(branches):
        here = f"{path}.{_BRANCHES}[{position}]"
        leaves = branch.get(_LEAVES, [])
        for number, leaf in enumerate(leaves):
            if leaf.get("name", "") in taken:
                faults.duplicate(f"{here}.{_LEAVES}[{number}].name", leaf.get("name", ""))
        taken |= {leaf.get("name", "") for leaf in leaves}
        _validate_names(branch, here, taken, faults)


def _validate_branches(parent: Json, path: str, faults: Faults) -> None:
    for position, branch in enumerate(parent.get(_BRANCHES, ())):
        here = f"{path}.{_BRANCHES}[{position}]"
        if not branch.get(_LEAVES) and not branch.get(_BRANCHES):
            faults.invalid(here, branch.get("name", ""), "must have at least one child template")
        _validate_branches(branch, here, faults)


def _depth(branch: Json) -> int:
    return 1 + max((_depth(child) for child in branch.get(_BRANCHES, ())), default=0)


def _all(parent: Json) -> Iterator[Json]:
    yield from parent.get(_LEAVES, ())
    for branch in parent.get(_BRANCHES, ()):
        yield branch
        yield from _all(branch)
