"""LimitRanges: defaults for what containers ask for, and bounds."""

from typing import Any

from moorage.apiserver.registry import Operation
from moorage.values.quantity import parse_quantity

Json = dict[str, Any]


def apply_limit_ranges(operation: Operation, pod: Json) -> None:
    """Fill in requests and limits from the namespace's LimitRanges, then refuse what is out of bounds."""
    collection = operation.registry.store.collection("limitranges")
    if not len(collection):
        return
    ranges = [item.decode() for item in collection.items(operation.namespace)]
    rules = [rule for each in ranges for rule in (each.get("spec") or {}).get("limits", ())]
    containers = [*pod["spec"].get("containers", ()), *pod["spec"].get("initContainers", ())]
    problems: list[str] = []
    notes: list[str] = []
    for rule in rules:
        if rule.get("type") != "Container":
            continue
        for container in containers:
            notes += _fill(container, rule)
            problems += _check(container, rule)
    if notes:
        text = "LimitRanger plugin set: " + "; ".join(notes)
        pod["metadata"].setdefault("annotations", {})["kubernetes.io/limit-ranger"] = text
    if problems:
        text = problems[0] if len(problems) == 1 else "[" + ", ".join(problems) + "]"
        raise operation.resource.forbidden(operation.name, text)


def _fill(container: Json, rule: Json) -> list[str]:
    """Set what is missing; answer what was set, for people."""
    resources, notes = container["resources"], []
    for field, source, word in (("requests", "defaultRequest", "request"), ("limits", "default", "limit")):
        missing = {
            name: value for name, value in (rule.get(source) or {}).items() if name not in resources.get(field, {})
        }
        if missing:
            resources.setdefault(field, {}).update(missing)
            notes.append(f"{', '.join(sorted(missing))} {word} for container {container.get('name', '')}")
    return notes


def _check(container: Json, rule: Json) -> list[str]:
    resources = container["resources"]
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    problems = []
    for name, bound in (rule.get("min") or {}).items():
        if name not in requests:
            problems.append(f"minimum {name} usage per Container is {bound}.  No request is specified")
        elif parse_quantity(requests[name]) < parse_quantity(bound):
            problems.append(f"minimum {name} usage per Container is {bound}, but request is {requests[name]}")
    for name, bound in (rule.get("max") or {}).items():
        if name not in limits:
            problems.append(f"maximum {name} usage per Container is {bound}.  No limit is specified")
        elif parse_quantity(limits[name]) > parse_quantity(bound):
            problems.append(f"maximum {name} usage per Container is {bound}, but limit is {limits[name]}")
    return problems
