"""Binding: how a pod gets its node, once."""

from typing import Any

from moorage.apiserver import media, status
from moorage.apiserver.admission.pods import TOPOLOGY_LABELS
from moorage.apiserver.answering import Answering
from moorage.apiserver.registry import Operation, ServedKind
from moorage.apiserver.requests import Request, Response, Target
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.verbs.bodies import check_fields
from moorage.apiserver.verbs.update import find

Json = dict[str, Any]

_CREATED = media.encode({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})


def serve(api: Answering, resource: ServedKind, target: Target, request: Request, _verb: str) -> Response:
    """POST pods/NAME/binding."""
    operation = api.operation(resource, target, request)
    binding = media.read_object(request.body, request.content_type, "core/v1.Binding")
    check_fields(binding, "core/v1.Binding", api.registry.resource("bindings").kind, operation)
    bind(operation, binding)
    return Response(201, _CREATED, is_write=True)


def bind(operation: Operation, binding: Json) -> None:
    """Set the pod's node and the condition that says so. 409 for a pod that has one or is going."""
    metadata = binding.get("metadata") or {}
    name = metadata.get("name", operation.name)
    if name != operation.name:
        raise status.bad_request("name in URL does not match name in Binding object")
    node = _node(binding, operation)
    item = find(operation)
    pod = item.decode()
    _check(operation, pod, metadata)
    pod["spec"]["nodeName"] = node
    pod.setdefault("status", {}).pop("nominatedNodeName", None)
    _add_metadata(operation, pod["metadata"], metadata, node)
    _set_scheduled(pod, operation)
    if not operation.is_dry_run:
        operation.resource.collection.put(pod)


def _add_metadata(operation: Operation, found: Json, given: Json, node: str) -> None:
    """The binding's labels and annotations go to the pod, and with them the zone and region of its node."""
    if given.get("annotations"):
        found.setdefault("annotations", {}).update(given["annotations"])
    labels = dict(given.get("labels") or {})
    host = operation.registry.store.collection("nodes").get("", node)
    if host is not None:
        labels |= {key: host.labels[key] for key in TOPOLOGY_LABELS if key in host.labels}
    if labels:
        found.setdefault("labels", {}).update(labels)


def _node(binding: Json, operation: Operation) -> str:
    target = binding.get("target") or {}
    faults = Faults()
    if target.get("kind") not in ("", None, "Node"):
        faults.not_supported("target.kind", target["kind"], ("Node", "<empty>"))
    node: str = target.get("name", "")
    if not node:
        faults.required("target.name")
    if faults:
        raise status.invalid("Binding", "", operation.name, faults)
    return node


def _check(operation: Operation, pod: Json, metadata: Json) -> None:
    resource, found = operation.resource, pod["metadata"]
    uid = metadata.get("uid")
    if uid and uid != found["uid"]:
        raise resource.conflict(
            operation.name,
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {found['uid']}",
        )
    version = metadata.get("resourceVersion")
    if version and version != found["resourceVersion"]:
        raise resource.conflict(
            operation.name,
            f"Precondition failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta: "
            f"{found['resourceVersion']}",
        )
    if "deletionTimestamp" in found:
        raise _refused(operation, f"pod {operation.name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        raise _refused(operation, f'pod {operation.name} is already assigned to node "{pod["spec"]["nodeName"]}"')
    if pod["spec"].get("schedulingGates"):
        raise _refused(operation, f"pod {operation.name} has non-empty .spec.schedulingGates")


def _refused(operation: Operation, why: str) -> status.Refusal:
    return status.conflict("pods/binding", "", operation.name, why)


def _set_scheduled(pod: Json, operation: Operation) -> None:
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": operation.registry.clock.stamp(),
    }
    conditions = pod["status"].setdefault("conditions", [])
    for position, old in enumerate(conditions):
        if old.get("type") == "PodScheduled":
            conditions[position] = condition
            return
    conditions.append(condition)
