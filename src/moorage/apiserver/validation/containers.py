"""Rules for containers: names, images, ports, resources, probes, mounts."""

import re
from typing import Any

from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.metadata import qualified_name
from moorage.apiserver.validation.rules import NOT_NEGATIVE, in_range, label_name, not_negative, one_of, port
from moorage.errors import InputError
from moorage.values.quantity import MILLI, ONE, parse_quantity

Json = dict[str, Any]

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
PROTOCOLS = ("SCTP", "TCP", "UDP")
_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def validate_containers(spec: Json, path: str, faults: Faults) -> None:
    """Every container of a pod spec; names are unique among all of them."""
    if not spec.get("containers"):
        faults.required(f"{path}.containers")
    volumes = {volume.get("name") for volume in spec.get("volumes", ())}
    claims = {claim.get("name") for claim in spec.get("resourceClaims", ())}
    names: set[str] = set()
    host_ports: set[tuple[Any, ...]] = set()
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(kind, ())):
            here = f"{path}.{kind}[{position}]"
            _validate_container(container, here, volumes, claims, faults)
            name = container.get("name", "")
            if name and name in names:
                faults.duplicate(f"{here}.name", name)
            names.add(name)
            if kind == "containers":
                _validate_host_ports(container, host_ports, here, faults)


def _validate_container(container: Json, path: str, volumes: set[Any], claims: set[Any], faults: Faults) -> None:
    label_name(container.get("name", ""), (), f"{path}.name", faults)
    if not container.get("image"):
        faults.required(f"{path}.image")
    one_of(container.get("imagePullPolicy"), PULL_POLICIES, f"{path}.imagePullPolicy", faults, required=True)
    one_of(
        container.get("terminationMessagePolicy"),
        ("FallbackToLogsOnError", "File"),
        f"{path}.terminationMessagePolicy",
        faults,
    )
    _validate_ports(container.get("ports", []), f"{path}.ports", faults)
    _validate_env(container.get("env", []), f"{path}.env", faults)
    _validate_mounts(container, volumes, path, faults)
    validate_resources(container.get("resources") or {}, f"{path}.resources", faults, claims=claims)
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in container:
            _validate_probe(container[probe], probe, f"{path}.{probe}", faults)


def _validate_ports(ports: list[Json], path: str, faults: Faults) -> None:
    names: set[str] = set()
    for position, each in enumerate(ports):
        here, name = f"{path}[{position}]", each.get("name", "")
        if name:
            _validate_port_name(name, f"{here}.name", names, faults)
        if not each.get("containerPort"):
            faults.required(f"{here}.containerPort")
        else:
            port(each["containerPort"], f"{here}.containerPort", faults)
        if each.get("hostPort"):
            port(each["hostPort"], f"{here}.hostPort", faults)
        one_of(each.get("protocol"), PROTOCOLS, f"{here}.protocol", faults, required=True)


def _validate_port_name(name: str, path: str, taken: set[str], faults: Faults) -> None:
    problems = []
    if len(name) > 15:
        problems.append("must be no more than 15 bytes")
    if not re.fullmatch("[-a-z0-9]+", name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name[0] == "-" or name[-1] == "-":
        problems.append("must not begin or end with a hyphen")
    for problem in problems:
        faults.invalid(path, name, problem)
    if not problems and name in taken:
        faults.duplicate(path, name)
    taken.add(name)


def _validate_host_ports(container: Json, taken: set[tuple[Any, ...]], path: str, faults: Faults) -> None:
    for position, each in enumerate(container.get("ports", ())):
        if each.get("hostPort"):
            identity = (each["hostPort"], each.get("protocol"), each.get("hostIP", ""))
            if identity in taken:
                text = f"{identity[1]}/{identity[2]}/{identity[0]}"
                faults.duplicate(f"{path}.ports[{position}].hostPort", text)
            taken.add(identity)


def _validate_env(variables: list[Json], path: str, faults: Faults) -> None:
    for position, variable in enumerate(variables):
        name = variable.get("name", "")
        if not name:
            faults.required(f"{path}[{position}].name")
        elif "=" in name or not name.isprintable() or not name.isascii():
            faults.invalid(
                f"{path}[{position}].name",
                name,
                "a valid environment variable name must consist only of printable ASCII characters other than '='",
            )
        if variable.get("value") and variable.get("valueFrom"):
            faults.invalid(f"{path}[{position}].valueFrom", "", "may not be specified when `value` is not empty")


def _validate_mounts(container: Json, volumes: set[Any], path: str, faults: Faults) -> None:
    paths = set()
    for position, mount in enumerate(container.get("volumeMounts", ())):
        here = f"{path}.volumeMounts[{position}]"
        if not mount.get("name"):
            faults.required(f"{here}.name")
        if mount.get("name", "") not in volumes:
            faults.not_found(f"{here}.name", mount.get("name", ""))
        place = mount.get("mountPath", "")
        if not place:
            faults.required(f"{here}.mountPath")
        elif place in paths:
            faults.invalid(f"{here}.mountPath", place, "must be unique")
        paths.add(place)


def validate_resources(resources: Json, path: str, faults: Faults, *, claims: set[Any] | None = None) -> None:
    """Requests and limits: names, amounts, requests within limits, no overcommitment of extended resources."""
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            _validate_amount(name, value, f"{path}.{kind}", faults)
    for name, request in requests.items():
        limit = limits.get(name)
        if limit is not None and parse_quantity(request) > parse_quantity(limit):
            faults.invalid(f"{path}.requests", request, f"must be less than or equal to {name} limit of {limit}")
        elif not _is_overcommittable(name) and limit != request:
            if limit is None:
                faults.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
            else:
                faults.invalid(f"{path}.requests", request, f"must be equal to {name} limit of {limit}")
    _validate_hugepages(requests, limits, path, faults)
    for position, claim in enumerate(resources.get("claims", ())):
        if claims is not None and claim.get("name") not in claims:
            detail = "must be one of the names in pod.spec.resourceClaims"
            detail += "" if claims else " which is empty"
            faults.not_found(f"{path}.claims[{position}]", claim.get("name", ""), detail)


def _validate_hugepages(requests: Json, limits: Json, path: str, faults: Faults) -> None:
    asked = {**requests, **limits}
    huge = [name for name in asked if name.startswith("hugepages-")]
    for name in huge:
        amount, size = parse_quantity(asked[name]), _page_size(name)
        kind = "requests" if name in requests else "limits"
        if size is None:
            faults.invalid(f"{path}.{kind}[{name}]", asked[name], "unable to parse the size of the page")
        elif amount % size:
            problem = f"{asked[name]} is not positive integer multiple of {name}"
            faults.invalid(f"{path}.{kind}[{name}]", asked[name], problem)
    if huge and not asked.keys() & {"cpu", "memory"}:
        faults.forbidden(path, "HugePages require cpu or memory")


def _page_size(name: str) -> int | None:
    try:
        return parse_quantity(name.removeprefix("hugepages-")) or None
    except InputError:
        return None


def _validate_amount(name: str, value: str, path: str, faults: Faults) -> None:
    here = f"{path}[{name}]"
    if problem := qualified_name(name):
        faults.invalid(here, name, problem)
    elif "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
        faults.invalid(here, name, "must be a standard resource type or fully qualified")
        faults.invalid(here, name, "must be a standard resource for containers")
    nano = parse_quantity(value)
    if nano < 0:
        faults.invalid(here, value, NOT_NEGATIVE)
    elif not _is_overcommittable(name) and nano % ONE:
        faults.invalid(here, value, "must be an integer")
    elif name == "cpu" and 0 < nano < MILLI:
        faults.invalid(here, value, "must not be less than 1m")


def _is_overcommittable(name: str) -> bool:
    return (
        name in _STANDARD
        or name.partition("/")[0].endswith("kubernetes.io")
        or ("/" not in name and not name.startswith("hugepages-"))
    )


def _validate_probe(probe: Json, name: str, path: str, faults: Faults) -> None:
    given = [handler for handler in _HANDLERS if handler in probe]
    if not given:
        faults.required(path, "must specify a handler type")
    else:
        number = probe[given[0]].get("port")
        if isinstance(number, int):
            in_range(number, 1, 65535, f"{path}.{given[0]}.port", faults)
    for handler in given[1:]:
        faults.forbidden(f"{path}.{handler}", "may not specify more than 1 handler type")
    for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        not_negative(probe.get(field), f"{path}.{field}", faults)
    if name != "readinessProbe" and probe.get("successThreshold", 1) != 1:
        faults.invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")
