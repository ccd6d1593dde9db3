"""Delete: preconditions, grace, finalizers, propagation."""

from dataclasses import dataclass
from typing import Any

from moorage.apiserver import media, status
from moorage.apiserver.admission.namespaces import IMMORTAL
from moorage.apiserver.fields.conform import Mismatch, conform
from moorage.apiserver.history import Item
from moorage.apiserver.registry import Operation
from moorage.apiserver.requests import Request, check_dry_run
from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.verbs.stored import load, remove_object, store_object
from moorage.apiserver.verbs.update import check_version, find
from moorage.values.time import parse_time

Json = dict[str, Any]

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How an object is to go."""

    grace_period: int | None = None
    uid: str = ""
    resource_version: str = ""
    propagation: str = ""
    orphan_dependents: bool | None = None
    is_dry_run: bool = False


def read_options(request: Request) -> DeleteOptions:
    """Options come in the body, or else in the query."""
    body: Json = {}
    if request.body:
        body = media.read_object(request.body, request.content_type, "meta.DeleteOptions")
        try:
            conform(body, "meta.DeleteOptions")
        except Mismatch as error:
            raise status.bad_request(error.describe("DeleteOptions")) from error
    else:
        body = _options_from_query(request)
    preconditions = body.get("preconditions") or {}
    options = DeleteOptions(
        grace_period=body.get("gracePeriodSeconds"),
        uid=preconditions.get("uid", ""),
        resource_version=preconditions.get("resourceVersion", ""),
        propagation=body.get("propagationPolicy", ""),
        orphan_dependents=body.get("orphanDependents"),
        is_dry_run=request.is_dry_run or any(check_dry_run(each) for each in body.get("dryRun", ())),
    )
    _check(options)
    return options


def _options_from_query(request: Request) -> Json:
    options: Json = {}
    grace = request.integer("gracePeriodSeconds")
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    if policy := request.query.get("propagationPolicy"):
        options["propagationPolicy"] = policy
    if "orphanDependents" in request.query:
        options["orphanDependents"] = request.flag("orphanDependents")
    return options


def _check(options: DeleteOptions) -> None:
    faults = Faults()
    if options.orphan_dependents is not None and options.propagation:
        faults.invalid(
            "propagationPolicy",
            options.propagation,
            "orphanDependents and deletionPropagation cannot be both set",
        )
    if options.propagation not in ("", "Foreground", "Background", "Orphan"):
        faults.not_supported("propagationPolicy", options.propagation, ("Foreground", "Background", "Orphan", "nil"))
    if faults:
        raise status.invalid("DeleteOptions", "meta.k8s.io", "", faults)


def delete(operation: Operation, options: DeleteOptions) -> tuple[Item, bool]:
    """Delete an object, or mark it to go. Answers its last state and whether it is gone."""
    operation.is_dry_run = operation.is_dry_run or options.is_dry_run
    item = find(operation)
    obj = load(operation, item)
    _check_preconditions(operation, options, obj["metadata"])
    if operation.resource.strategy.on_delete is not None:
        operation.resource.strategy.on_delete(operation, obj)
    if operation.resource.kind.resource == "namespaces":
        return _delete_namespace(operation, item, obj)
    metadata = obj["metadata"]
    before = dict(metadata)
    _set_propagation(metadata, options)
    grace = _grace(operation, obj, options)
    if not metadata.get("finalizers") and grace == 0:
        if operation.resource.strategy.grace_period is not None:
            _mark(operation, obj, 0)
        return remove_object(operation, item, obj), True
    _mark(operation, obj, grace)
    if metadata == before:
        return item, False
    return store_object(operation, obj), False


def _check_preconditions(operation: Operation, options: DeleteOptions, metadata: Json) -> None:
    if options.uid and options.uid != metadata["uid"]:
        raise _stale(operation, "UID", options.uid, metadata["uid"])
    if options.resource_version and options.resource_version != metadata["resourceVersion"]:
        raise _stale(operation, "ResourceVersion", options.resource_version, metadata["resourceVersion"])


def _stale(operation: Operation, what: str, wanted: str, found: str) -> status.Refusal:
    kind = operation.resource.kind
    why = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). "
    why += "The object might have been " + ("deleted and then recreated" if what == "UID" else "modified")
    return status.conflict(kind.kind, kind.group, operation.name, why)


def _set_propagation(metadata: Json, options: DeleteOptions) -> None:
    """Dependents are the garbage collector's business: finalizers tell it what the user wants."""
    policy = options.propagation
    if options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if not policy:
        return
    finalizers = [name for name in metadata.get("finalizers", ()) if name not in (ORPHAN, FOREGROUND)]
    if policy == "Orphan":
        finalizers.append(ORPHAN)
    elif policy == "Foreground":
        finalizers.append(FOREGROUND)
    metadata["finalizers"] = finalizers
    if not finalizers:
        del metadata["finalizers"]


def _grace(operation: Operation, obj: Json, options: DeleteOptions) -> int:
    rule = operation.resource.strategy.grace_period
    if rule is None:
        return 0
    grace = max(0, rule(obj, options.grace_period))
    if options.grace_period is not None and options.grace_period < 0:
        grace = 1
    metadata = obj["metadata"]
    if "deletionTimestamp" in metadata:
        given = metadata.get("deletionGracePeriodSeconds", 0)
        # A second delete may shorten the wait, never lengthen it.
        grace = min(grace, given) if options.grace_period is not None else given
    return grace


def _mark(operation: Operation, obj: Json, grace: int) -> None:
    metadata = obj["metadata"]
    clock = operation.registry.clock
    if "deletionTimestamp" in metadata:
        given = metadata.get("deletionGracePeriodSeconds", 0)
        if grace < given:
            started = parse_time(metadata["deletionTimestamp"]) - given
            metadata["deletionTimestamp"] = clock.stamp(started + grace - clock.now())
            metadata["deletionGracePeriodSeconds"] = grace
        return
    metadata["deletionTimestamp"] = clock.stamp(grace)
    metadata["deletionGracePeriodSeconds"] = grace
    if operation.resource.kind.counts_generations:
        metadata["generation"] = metadata.get("generation", 0) + 1


def _delete_namespace(operation: Operation, item: Item, obj: Json) -> tuple[Item, bool]:
    if operation.name in IMMORTAL:
        raise operation.resource.forbidden(operation.name, "this namespace may not be deleted")
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = operation.registry.clock.stamp()
        obj.setdefault("status", {})["phase"] = "Terminating"
        return store_object(operation, obj), False
    if not obj.get("spec", {}).get("finalizers") and not metadata.get("finalizers"):
        return remove_object(operation, item, obj), True
    return item, False


def finalize(operation: Operation, obj: Json) -> Item:
    """Store the finalizers that the client leaves; a namespace that is to go and has none goes."""
    item = find(operation)
    old = item.decode()
    check_version(operation, obj["metadata"], item, old["metadata"])
    finalizers = (obj.get("spec") or {}).get("finalizers")
    old["spec"] = {"finalizers": finalizers} if finalizers else {}
    metadata = old["metadata"]
    if "deletionTimestamp" in metadata and not finalizers and not metadata.get("finalizers"):
        return remove_object(operation, item, old)
    return store_object(operation, old)
