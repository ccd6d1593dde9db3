"""What a pod effectively asks of a node: containers, init containers, sidecars, pod level, overhead, resizes.

Amounts are nano units (see values.quantity) while they are added up and become whole units only at the end, in
`Request`: cpu in thousandths, everything else in its own unit, rounded up.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True)
class RequestRules:
    """What counts where versions of Kubernetes, or their gates, do not agree.

    `pod_level`: resources that are asked for the pod as a whole. `pod_level_resize`: what its status says of them.
    `compared_taints`: tolerations may compare numbers (operators Lt and Gt).
    `resize_totals`: of a pod being resized the largest of three totals counts (what is asked, allocated, actuated);
    else the largest of the three for each container.
    """

    pod_level: bool = True
    pod_level_resize: bool = True
    resize_totals: bool = True
    compared_taints: bool = False


DEFAULT_RULES: Final = RequestRules()


def pod_request(pod: Pod, *, on_node: bool = False, rules: RequestRules = DEFAULT_RULES) -> Request:
    """The pod's effective request; `on_node` also honours what an in-place resize has actuated."""
    pod_level = rules.pod_level and _has_pod_level_requests(pod)
    plain = _pod_amounts(pod, {}, rules, pod_level=pod_level, on_node=on_node)
    missing = {name: amount for name, amount in _DEFAULTS.items() if not (pod_level and name in plain)}
    scored = _pod_amounts(pod, missing, rules, pod_level=pod_level, on_node=on_node) if missing else plain
    return Request(
        {name: units(name, amount) for name, amount in plain.items() if is_counted(name)},
        milli(scored.get(CPU, 0)),
        whole(scored.get(MEMORY, 0)),
    )


def container_request(pod: Pod, name: str, *, with_defaults: bool) -> int:
    """What the pod's containers and overhead ask of one resource, its pod-level resources left aside."""
    defaults = _DEFAULTS if with_defaults else {}
    return units(name, _pod_amounts(pod, defaults, DEFAULT_RULES, pod_level=False, on_node=False).get(name, 0))


def units(name: str, nano: int) -> int:
    """An amount in the unit the scheduler counts that resource in."""
    return milli(nano) if name == CPU else whole(nano)


def amount(name: str, quantity: str | int | float) -> int:
    """A quantity as Kubernetes writes it ("500m", "2Gi"), in the units nodes and pods are counted in here: cpu in
    thousandths, all else in whole units. Raises InputError."""
    return units(name, parse_quantity(quantity))


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


def _pod_amounts(pod: Pod, defaults: Amounts, rules: RequestRules, *, pod_level: bool, on_node: bool) -> Amounts:
    if not on_node:
        total = _aggregate(pod, defaults, _asked)
    elif rules.resize_totals:
        total = _largest_total(pod, defaults, rules)
    else:
        total = _aggregate(pod, defaults, _ByContainer(pod))
    if pod_level:
        total.update(_pod_level_amounts(pod, rules, on_node=on_node))
    _add(total, _parsed(pod.spec.overhead))
    return total


#: What a container is taken to need.
_AmountsOf = Callable[[Container], Amounts]


def _aggregate(pod: Pod, defaults: Amounts, amounts_of: _AmountsOf) -> Amounts:
    """All containers together: init containers come one after the other, sidecars among them stay."""
    total: Amounts = {}
    for container in pod.spec.containers:
        _add(total, {**defaults, **amounts_of(container)})
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in pod.spec.init_containers:
        amounts = {**defaults, **amounts_of(container)}
        if container.is_sidecar:
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise_to(peak, sidecars)
        else:
            _add(amounts, sidecars)
            _raise_to(peak, amounts)
    _raise_to(total, peak)
    return total


def _asked(container: Container) -> Amounts:
    return _parsed(container.resources.requests)


def _largest_total(pod: Pod, defaults: Amounts, rules: RequestRules) -> Amounts:
    """During an in-place resize the largest of three totals counts: what is asked, allocated and actuated."""
    infeasible = _is_resize_infeasible(pod)
    total = {} if infeasible else _aggregate(pod, defaults, _asked)
    status = pod.status
    if rules.pod_level_resize and status.allocated_resources and status.resources and status.resources.requests:
        _raise_to(total, _parsed(status.resources.requests))
        _raise_to(total, _parsed(status.allocated_resources))
        return total
    statuses = _statuses(pod)

    def allocated(container: Container) -> Amounts:
        seen = statuses.get(container.name)
        if seen is not None and seen.allocated_resources:
            return _parsed(seen.allocated_resources)
        return {} if infeasible else _asked(container)

    def actuated(container: Container) -> Amounts:
        seen = statuses.get(container.name)
        if seen is not None and seen.resources is not None and seen.resources.requests:
            return _parsed(seen.resources.requests)
        return allocated(container)

    _raise_to(total, _aggregate(pod, defaults, actuated))
    _raise_to(total, _aggregate(pod, defaults, allocated))
    return total


class _ByContainer:
    """For each container the largest of what is asked, allocated and actuated; plain init containers left aside."""

    def __init__(self, pod: Pod) -> None:
        self._statuses = _statuses(pod)
        self._infeasible = _is_resize_infeasible(pod)
        self._plain_init = {one.name for one in pod.spec.init_containers if not one.is_sidecar}

    def __call__(self, container: Container) -> Amounts:
        asked = _asked(container)
        status = None if container.name in self._plain_init else self._statuses.get(container.name)
        if status is None or status.resources is None:
            return asked
        amounts = {} if self._infeasible else asked
        _raise_to(amounts, _parsed(status.resources.requests))
        _raise_to(amounts, _parsed(status.allocated_resources))
        return amounts


def _statuses(pod: Pod) -> dict[str, ContainerStatus]:
    return {one.name: one for one in (*pod.status.init_container_statuses, *pod.status.container_statuses)}


def _pod_level_amounts(pod: Pod, rules: RequestRules, *, on_node: bool) -> Amounts:
    assert pod.spec.resources is not None
    asked = _parsed(pod.spec.resources.requests)
    amounts = asked
    if on_node and rules.pod_level_resize and pod.status.resources is not None:
        amounts = {} if _is_resize_infeasible(pod) else dict(asked)
        _raise_to(amounts, _parsed(pod.status.resources.requests))
        _raise_to(amounts, _parsed(pod.status.allocated_resources))
    names = amounts if rules.resize_totals else asked
    return {name: amounts.get(name, 0) for name in names if _is_pod_level(name)}


def _is_resize_infeasible(pod: Pod) -> bool:
    pending = next((one for one in pod.status.conditions if one.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"


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
