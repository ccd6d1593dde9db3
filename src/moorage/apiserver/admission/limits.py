"""LimitRanges: defaults for what containers ask for, and bounds."""

from typing import Any

from moorage.apiserver.operation import Operation
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
    for rule in rules:
        if rule.get("type") != "Container":
            continue
        for container in containers:
            _fill(container, rule)
            problems += _check(container, rule)
    if problems:
        text = problems[0] if len(problems) == 1 else "[" + ", ".join(problems) + "]"
        raise operation.resource.forbidden(operation.name, text)


def _fill(container: Json, rule: Json) -> None:
    resources = container["resources"]
    given_limits = set(resources.get("limits") or {})
    for name, value in (rule.get("default") or {}).items():
        resources.setdefault("limits", {}).setdefault(name, value)
    for name, value in (rule.get("defaultRequest") or {}).items():
        # A limit the user gave is also the request; a request is never invented above it.
        if name not in given_limits:
            resources.setdefault("requests", {}).setdefault(name, value)


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
