"""Eviction: a delete that disruption budgets may refuse."""

from typing import Any

from moorage.apiserver import media, status
from moorage.apiserver.answering import Answering
from moorage.apiserver.fields.conform import Mismatch, conform
from moorage.apiserver.history import Item
from moorage.apiserver.registry import Operation, ServedKind
from moorage.apiserver.requests import Request, Response, Target, check_dry_run
from moorage.apiserver.validation.rules import is_empty_selector, selector_matches
from moorage.apiserver.verbs.delete import DeleteOptions, delete
from moorage.apiserver.verbs.update import find

Json = dict[str, Any]

_STRUCT = "policy/v1.Eviction"


def serve(api: Answering, resource: ServedKind, target: Target, request: Request, _verb: str) -> Response:
    """POST pods/NAME/eviction."""
    operation = api.operation(resource, target, request)
    eviction = media.read_object(request.body, request.content_type, _STRUCT)
    try:
        conform(eviction, _STRUCT)
    except Mismatch as error:
        raise status.bad_request(error.describe("Eviction")) from error
    name = (eviction.get("metadata") or {}).get("name") or operation.name
    if name != operation.name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    evict(operation, eviction.get("deleteOptions") or {})
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Response(201, media.encode(body), is_write=True)


def evict(operation: Operation, options: Json) -> None:
    """Delete a pod unless a budget forbids it; 429 then."""
    operation.is_dry_run = operation.is_dry_run or any(check_dry_run(each) for each in options.get("dryRun", ()))
    pod = find(operation).decode()
    phase = (pod.get("status") or {}).get("phase")
    # Only pods that run somewhere and are not on their way out count against a budget.
    if phase not in ("Pending", "Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]:
        _take_from_budget(operation, pod)
    preconditions = options.get("preconditions") or {}
    delete(
        operation,
        DeleteOptions(
            grace_period=options.get("gracePeriodSeconds"),
            uid=preconditions.get("uid", ""),
            resource_version=preconditions.get("resourceVersion", ""),
            propagation=options.get("propagationPolicy", ""),
        ),
    )


def _budgets(operation: Operation, pod: Json) -> list[tuple[Item, Json]]:
    collection = operation.registry.resource("poddisruptionbudgets", "policy").collection
    labels = pod["metadata"].get("labels") or {}
    found = []
    for item in collection.items(operation.namespace):
        budget = item.decode()
        selector = (budget.get("spec") or {}).get("selector")
        if selector is not None and (is_empty_selector(selector) or selector_matches(selector, labels)):
            found.append((item, budget))
    return found


def _take_from_budget(operation: Operation, pod: Json) -> None:
    budgets = _budgets(operation, pod)
    if not budgets:
        return
    if len(budgets) > 1:
        raise status.internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    budget = budgets[0][1]
    found = budget.setdefault("status", {})
    policy = (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy", "IfHealthyBudget")
    if not _is_ready(pod):
        healthy = found.get("currentHealthy", 0) >= found.get("desiredHealthy", 0) > 0
        if policy == "AlwaysAllow" or healthy:
            return
    if found.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _refuse(budget, "The disruption budget {name} is still being processed by the server.", 10)
    if found.get("disruptionsAllowed", 0) <= 0:
        raise _refuse(
            budget,
            "The disruption budget {name} needs "
            f"{found.get('desiredHealthy', 0)} healthy pods and has {found.get('currentHealthy', 0)} currently",
            0,
        )
    found["disruptionsAllowed"] -= 1
    found.setdefault("disruptedPods", {})[pod["metadata"]["name"]] = operation.registry.clock.stamp()
    if not operation.is_dry_run:
        operation.registry.resource("poddisruptionbudgets", "policy").collection.put(budget)


def _is_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions", ())
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _refuse(budget: Json, why: str, retry_after: int) -> status.Refusal:
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    cause = {"reason": "DisruptionBudget", "message": why.format(name=budget["metadata"]["name"])}
    return status.too_many_requests(message, retry_after=retry_after, cause=cause)
