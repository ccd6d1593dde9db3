"""What a pod effectively asks of a node: containers, init containers, sidecars, pod level, overhead, resizes.

Amounts are nano units (see values.quantity) while they are added up and become whole units only at the end, in
`Request`: cpu in thousandths, everything else in its own unit, rounded up.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from moorage.objects import Container, ContainerStatus, Pod, Quantities
from moorage.values.quantity import MILLI, ONE, milli, parse_quantity, whole

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

#: What a container without a request is taken to need when nodes are scored.
DEFAULT_CPU_MILLI = 100
DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024

_DEFAULTS = {CPU: DEFAULT_CPU_MILLI * MILLI, MEMORY: DEFAULT_MEMORY_BYTES * ONE}
_LABEL_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL_PREFIX = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")

Amounts = dict[str, int]


@dataclass(frozen=True, slots=True)
class Request:
    """Whole units by resource name. `scored_*` count the defaults for containers that ask for nothing."""

    amounts: Mapping[str, int]
    scored_cpu: int
    scored_memory: int


def pod_request(pod: Pod, *, on_node: bool = False) -> Request:
    """The pod's effective request; `on_node` also honours what an in-place resize has actuated."""
    plain = _pod_amounts(pod, {}, pod_level=True, on_node=on_node)
    missing = {
        name: amount for name, amount in _DEFAULTS.items() if not (_has_pod_level_requests(pod) and name in plain)
    }
    scored = _pod_amounts(pod, missing, pod_level=True, on_node=on_node) if missing else plain
    return Request(
        {name: units(name, amount) for name, amount in plain.items() if is_counted(name)},
        milli(scored.get(CPU, 0)),
        whole(scored.get(MEMORY, 0)),
    )


def container_request(pod: Pod, name: str, *, with_defaults: bool) -> int:
    """What the pod's containers and overhead ask of one resource, its pod-level resources left aside."""
    defaults = _DEFAULTS if with_defaults else {}
    return units(name, _pod_amounts(pod, defaults, pod_level=False, on_node=False).get(name, 0))


def units(name: str, nano: int) -> int:
    """An amount in the unit the scheduler counts that resource in."""
    return milli(nano) if name == CPU else whole(nano)


def allocatable_amounts(quantities: Quantities) -> Amounts:
    """A node's allocatable in whole units, without the names the scheduler does not count."""
    return {
        name: units(name, parse_quantity(text)) for name, text in quantities.items() if name == PODS or is_counted(name)
    }


def is_counted(name: str) -> bool:
    """Whether the scheduler counts this resource at all."""
    return name in (CPU, MEMORY, EPHEMERAL_STORAGE) or is_scalar(name)


def is_scalar(name: str) -> bool:
    """Whether it is counted beside cpu, memory and ephemeral storage: extended, huge pages, attachable volumes."""
    return is_extended(name) or name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether it is an extended resource: a domain of somebody else's before the slash."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return is_qualified_name(f"requests.{name}")


def is_qualified_name(name: str) -> bool:
    """`prefix/name` or `name`, as label keys and resource names are spelled."""
    prefix, slash, short = name.rpartition("/")
    if slash and not (0 < len(prefix) <= 253 and _LABEL_PREFIX.fullmatch(prefix)):
        return False
    return "/" not in prefix and _LABEL_NAME.fullmatch(short) is not None


def _pod_amounts(pod: Pod, defaults: Amounts, *, pod_level: bool, on_node: bool) -> Amounts:
    total = _containers_amounts(pod, defaults, on_node=on_node)
    if pod_level and _has_pod_level_requests(pod):
        total.update(_pod_level_amounts(pod, on_node=on_node))
    _add(total, _parsed(pod.spec.overhead))
    return total


def _containers_amounts(pod: Pod, defaults: Amounts, *, on_node: bool) -> Amounts:
    statuses: dict[str, ContainerStatus] = {}
    if on_node:
        statuses = {s.name: s for s in (*pod.status.container_statuses, *pod.status.init_container_statuses)}
    total: Amounts = {}
    for container in pod.spec.containers:
        _add(total, _container_amounts(pod, container, defaults, statuses))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in pod.spec.init_containers:
        seen = statuses if container.is_sidecar else {}
        amounts = _container_amounts(pod, container, defaults, seen)
        if container.is_sidecar:
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise_to(peak, sidecars)
        else:
            _add(amounts, sidecars)
            _raise_to(peak, amounts)
    _raise_to(total, peak)
    return total


def _container_amounts(
    pod: Pod, container: Container, defaults: Amounts, statuses: Mapping[str, ContainerStatus]
) -> Amounts:
    amounts = _parsed(container.resources.requests)
    status = statuses.get(container.name)
    if status is not None and status.resources is not None:
        amounts = _resized(pod, amounts, status.resources.requests, status.allocated_resources)
    return {**defaults, **amounts}


def _pod_level_amounts(pod: Pod, *, on_node: bool) -> Amounts:
    assert pod.spec.resources is not None
    wanted = {name: amount for name, amount in _parsed(pod.spec.resources.requests).items() if _is_pod_level(name)}
    if on_node and pod.status.resources is not None:
        effective = _resized(
            pod,
            _parsed(pod.spec.resources.requests),
            pod.status.resources.requests,
            pod.status.allocated_resources,
        )
        return {name: effective.get(name, 0) for name in wanted}
    return wanted


def _resized(pod: Pod, spec: Amounts, actuated: Quantities, allocated: Quantities) -> Amounts:
    """During an in-place resize the largest of what is asked, allocated and actuated counts."""
    pending = next((c for c in pod.status.conditions if c.type == "PodResizePending"), None)
    effective: Amounts = {} if pending is not None and pending.reason == "Infeasible" else dict(spec)
    _raise_to(effective, _parsed(actuated))
    _raise_to(effective, _parsed(allocated))
    return effective


def _has_pod_level_requests(pod: Pod) -> bool:
    return pod.spec.resources is not None and any(_is_pod_level(name) for name in pod.spec.resources.requests)


def _is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def _parsed(quantities: Quantities) -> Amounts:
    return {name: parse_quantity(text) for name, text in quantities.items()}


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: Amounts, floor: Mapping[str, int]) -> None:
    for name, amount in floor.items():
        if amount > total.get(name, amount - 1):
            total[name] = amount
