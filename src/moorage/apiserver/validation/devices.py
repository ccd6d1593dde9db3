"""Rules for devices: claims and what they become, classes, slices, taint rules."""

from collections.abc import Iterator
from typing import Any

from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.groups import validate_conditions
from moorage.apiserver.validation.metadata import dns_subdomain
from moorage.apiserver.validation.rules import immutable, label_name, not_negative, one_of
from moorage.cel import CompileError, selector
from moorage.cel.semver import parse as parse_version

Json = dict[str, Any]

MOST_REQUESTS = MOST_SELECTORS = MOST_CONSTRAINTS = MOST_CONFIGS = 32
MOST_ALTERNATIVES = 8
MOST_DEVICES = 128
MOST_CONSUMERS = 256
LONGEST_EXPRESSION = 10 * 1024
EFFECTS = ("NoSchedule", "NoExecute", "None")
_MOST_RULE_CONDITIONS = 8

_WHERE = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_NO_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"


# ------------------------------------------------------------------------------------------------- claims and classes


def validate_claim_spec(spec: Json, path: str, faults: Faults) -> None:
    """Requests with unique names, selectors that compile, constraints and configuration about requests there are."""
    devices = spec.get("devices") or {}
    for field, limit in (("requests", MOST_REQUESTS), ("constraints", MOST_CONSTRAINTS), ("config", MOST_CONFIGS)):
        count = len(devices.get(field, ()))
        if count > limit:
            faults.too_many(f"{path}.devices.{field}", count, limit)
    requests = devices.get("requests", [])
    names: set[str] = set()
    for position, request in enumerate(requests):
        here = f"{path}.devices.requests[{position}]"
        label_name(request.get("name", ""), {name for name in names if "/" not in name}, f"{here}.name", faults)
        names.add(request.get("name", ""))
        for where, choice in _choices(request, here, faults):
            if where != "exactly":
                names.add(f"{request.get('name', '')}/{choice.get('name', '')}")
            _request(choice, f"{here}.{where}", faults)
    for position, constraint in enumerate(devices.get("constraints", ())):
        _constraint(constraint, names, f"{path}.devices.constraints[{position}]", faults)
    for position, config in enumerate(devices.get("config", ())):
        _references(config, names, f"{path}.devices.config[{position}]", faults)


def _choices(request: Json, path: str, faults: Faults) -> Iterator[tuple[str, Json]]:
    alternatives = request.get("firstAvailable", [])
    if ("exactly" in request) == bool(alternatives):
        faults.required(path, "exactly one of `exactly` or `firstAvailable` is required")
    if len(alternatives) > MOST_ALTERNATIVES:
        faults.too_many(f"{path}.firstAvailable", len(alternatives), MOST_ALTERNATIVES)
    if "exactly" in request:
        yield "exactly", request["exactly"]
    seen: set[str] = set()
    for number, choice in enumerate(alternatives):
        label_name(choice.get("name", ""), seen, f"{path}.firstAvailable[{number}].name", faults)
        seen.add(choice.get("name", ""))
        yield f"firstAvailable[{number}]", choice


def _request(choice: Json, path: str, faults: Faults) -> None:
    if not choice.get("deviceClassName"):
        faults.required(f"{path}.deviceClassName")
    mode, count = choice.get("allocationMode"), choice.get("count", 0)
    one_of(mode, ("All", "ExactCount"), f"{path}.allocationMode", faults)
    if mode == "ExactCount" and count <= 0:
        faults.invalid(f"{path}.count", count, "must be greater than zero")
    if mode == "All" and count:
        faults.invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    validate_selectors(choice.get("selectors", []), f"{path}.selectors", faults)


def _constraint(constraint: Json, names: set[str], path: str, faults: Faults) -> None:
    given = [name for name in ("matchAttribute", "distinctAttribute") if name in constraint]
    if len(given) != 1:
        faults.required(path, "exactly one of `matchAttribute` or `distinctAttribute` is required")
    for name in given:
        domain, slash, id_ = constraint[name].partition("/")
        if not (domain and slash and id_):
            problem = "a fully qualified name must be a domain and a name separated by a slash"
            faults.invalid(f"{path}.{name}", constraint[name], problem)
    _references(constraint, names, path, faults)


def _references(item: Json, names: set[str], path: str, faults: Faults) -> None:
    for position, name in enumerate(item.get("requests", ())):
        if name not in names:
            faults.invalid(f"{path}.requests[{position}]", name, _NO_REQUEST)


def validate_selectors(selectors: list[Json], path: str, faults: Faults) -> None:
    """Expressions that compile."""
    if len(selectors) > MOST_SELECTORS:
        faults.too_many(path, len(selectors), MOST_SELECTORS)
    for position, one in enumerate(selectors):
        here = f"{path}[{position}].cel"
        expression = (one.get("cel") or {}).get("expression", "")
        if "cel" not in one:
            faults.required(here)
        elif len(expression) > LONGEST_EXPRESSION:
            faults.too_long(f"{here}.expression", LONGEST_EXPRESSION)
        elif isinstance(problem := selector(expression, lists=False), CompileError):
            faults.invalid(f"{here}.expression", expression, f"compilation failed: {problem}")


def validate_deviceclass(obj: Json, faults: Faults) -> None:
    """Selectors that compile."""
    validate_selectors((obj.get("spec") or {}).get("selectors", []), "spec.selectors", faults)


def validate_claim_status(new: Json, old: Json, faults: Faults) -> None:
    """An allocation comes and goes, and never turns into another; users need one, and come once each."""
    status, before = new.get("status") or {}, old.get("status") or {}
    consumers = status.get("reservedFor", [])
    if consumers and not status.get("allocation"):
        faults.forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    if len(consumers) > MOST_CONSUMERS:
        faults.too_many("status.reservedFor", len(consumers), MOST_CONSUMERS)
    seen: set[str] = set()
    for position, consumer in enumerate(consumers):
        if consumer.get("uid", "") in seen:
            faults.duplicate(f"status.reservedFor[{position}].uid", consumer.get("uid", ""))
        seen.add(consumer.get("uid", ""))
    known = {one.get("uid") for one in before.get("reservedFor", ())}
    if new["metadata"].get("deletionTimestamp") and not seen <= known:
        faults.forbidden("status.reservedFor", "new entries may not be added while `deallocationRequested` or deleting")
    if before.get("allocation") and status.get("allocation"):
        immutable(status["allocation"], before["allocation"], "status.allocation", faults)


# ---------------------------------------------------------------------------------------------------- slices and rules


def validate_slice(obj: Json, faults: Faults) -> None:
    """A driver, a pool, one rule about nodes, and devices or the counters they draw on."""
    spec = obj.get("spec") or {}
    pool = spec.get("pool") or {}
    if not spec.get("driver"):
        faults.required("spec.driver")
    elif problem := dns_subdomain(spec["driver"]):
        faults.invalid("spec.driver", spec["driver"], problem)
    if not pool.get("name"):
        faults.required("spec.pool.name")
    if pool.get("resourceSliceCount", 0) <= 0:
        faults.invalid("spec.pool.resourceSliceCount", pool.get("resourceSliceCount", 0), "must be greater than zero")
    not_negative(pool.get("generation"), "spec.pool.generation", faults)
    if sum(bool(spec.get(name)) for name in _WHERE) != 1:
        listed = ", ".join(f"`{name}`" for name in _WHERE)
        faults.invalid("spec", "{...}", f"exactly one of {listed} is required")
    devices = spec.get("devices", [])
    if devices and spec.get("sharedCounters"):
        faults.invalid("spec", "{...}", "only one of `sharedCounters` or `devices` is allowed")
    if len(devices) > MOST_DEVICES:
        faults.too_many("spec.devices", len(devices), MOST_DEVICES)
    seen: set[str] = set()
    for position, device in enumerate(devices):
        label_name(device.get("name", ""), seen, f"spec.devices[{position}].name", faults)
        seen.add(device.get("name", ""))
        _device(device, f"spec.devices[{position}]", faults)


def _device(device: Json, path: str, faults: Faults) -> None:
    for name, attribute in (device.get("attributes") or {}).items():
        here = f"{path}.attributes[{name}]"
        if len(attribute) != 1:
            faults.invalid(here, "{...}", "exactly one value must be specified")
        version = attribute.get("version")
        if version is not None and parse_version(version) is None:
            problem = "must be a string compatible with semver.org spec 2.0.0"
            faults.invalid(f"{here}.version", version, problem)
    for position, taint in enumerate(device.get("taints", ())):
        validate_device_taint(taint, f"{path}.taints[{position}]", faults)
    if bool(device.get("bindingConditions")) != bool(device.get("bindingFailureConditions")):
        faults.required(path, "`bindingConditions` and `bindingFailureConditions` come together")


def validate_device_taint(taint: Json, path: str, faults: Faults) -> None:
    """A key and an effect."""
    if not taint.get("key"):
        faults.required(f"{path}.key")
    one_of(taint.get("effect"), EFFECTS, f"{path}.effect", faults, required=True)


def validate_slice_update(new: Json, old: Json, faults: Faults) -> None:
    """A slice stays in its pool, with its driver, on its node."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    for name in ("driver", "nodeName"):
        immutable(spec.get(name), before.get(name), f"spec.{name}", faults)
    pools = ((one.get("pool") or {}).get("name") for one in (spec, before))
    immutable(next(pools), next(pools), "spec.pool.name", faults)


def validate_taintrule(obj: Json, faults: Faults) -> None:
    """A taint."""
    validate_device_taint((obj.get("spec") or {}).get("taint") or {}, "spec.taint", faults)


def validate_taintrule_status(new: Json, _old: Json, faults: Faults) -> None:
    """Whole conditions, and not too many."""
    conditions = (new.get("status") or {}).get("conditions", [])
    validate_conditions(conditions, faults)
    if len(conditions) > _MOST_RULE_CONDITIONS:
        faults.too_many("status.conditions", len(conditions), _MOST_RULE_CONDITIONS)
