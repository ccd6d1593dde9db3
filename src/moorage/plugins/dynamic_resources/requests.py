"""What claims ask for, checked and made ready for the search on one node."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from moorage.columns.devices import DeviceFacts
from moorage.objects import ALL_DEVICES, EXACT_COUNT, DeviceClass, DeviceRequest, DeviceSubRequest, ResourceClaim
from moorage.plugins.dynamic_resources.constraints import Constraint, make_constraint
from moorage.plugins.dynamic_resources.rules import BrokenSearch, Rules

#: A claim's status holds no more devices than this.
MOST_DEVICES = 32


@dataclass(slots=True, eq=False)
class Wanted:
    """A request, or one alternative of it."""

    #: Its own name, and the request's it is an alternative of, "" if it is none.
    name: str
    parent: str
    spec: DeviceSubRequest
    class_: DeviceClass
    count: int = 0
    #: With allocation mode All: the devices that have to be taken, every one.
    every: list[DeviceFacts] | None = None
    #: Device -> whether it is what is wanted, as far as that was asked.
    selectable: dict[DeviceFacts, bool] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """As results and configurations name it."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def base_name(self) -> str:
        """The name of the request."""
        return self.parent or self.name


@dataclass(slots=True)
class Choice:
    """A request of a claim: its alternatives, of which one is enough."""

    name: str
    wanted: list[Wanted]
    is_list: bool
    #: Which alternative was taken.
    taken: int = 0

    @property
    def chosen(self) -> Wanted:
        """The alternative that was taken."""
        return self.wanted[self.taken]


@dataclass(slots=True)
class ClaimPlan:
    """A claim, ready to be searched for."""

    claim: ResourceClaim
    choices: list[Choice]
    constraints: list[Constraint]

    def constraining(self, wanted: Wanted) -> list[Constraint]:
        """The constraints that are about devices of this request."""
        return [one for one in self.constraints if one.concerns(wanted.base_name, wanted.full_name)]


def plan(
    claims: Sequence[ResourceClaim],
    class_of: Callable[[str], DeviceClass | None],
    every: Callable[[ResourceClaim, Wanted], list[DeviceFacts]],
    rules: Rules,
) -> list[ClaimPlan]:
    """The claims, checked in order; `every` finds the devices of mode All. Raises BrokenSearch."""
    return [_plan_claim(claim, class_of, every, rules) for claim in claims]


def _plan_claim(
    claim: ResourceClaim,
    class_of: Callable[[str], DeviceClass | None],
    every: Callable[[ResourceClaim, Wanted], list[DeviceFacts]],
    rules: Rules,
) -> ClaimPlan:
    choices = []
    least = 0
    for request in claim.spec.devices.requests:
        _check_gates(claim, request, rules)
        wanted = []
        for spec in request.first_available or (request.exactly or DeviceSubRequest(),):
            parent = request.name if request.first_available else ""
            one = _wanted(claim, spec, spec.name if parent else request.name, parent, class_of)
            _count(claim, one, every)
            wanted.append(one)
        fewest = min(one.count for one in wanted)
        if rules.limit_by_request and fewest > MOST_DEVICES - least:
            raise BrokenSearch(
                f"claim {claim.key}, request {request.name}: adding {fewest} devices exceeds the claim limit of "
                f"{MOST_DEVICES}, with {least} already accounted for"
            )
        least += fewest
        choices.append(Choice(request.name, wanted, bool(request.first_available)))
    if least > MOST_DEVICES:
        text = f"number of requested devices {least} exceeds the claim limit of {MOST_DEVICES}"
        raise BrokenSearch(f"claim {claim.key}: {text}")
    constraints = [make_constraint(claim, index, rules) for index in range(len(claim.spec.devices.constraints))]
    return ClaimPlan(claim, choices, constraints)


def _check_gates(claim: ResourceClaim, request: DeviceRequest, rules: Rules) -> None:
    if request.first_available and not rules.prioritized_list:
        text = "has subrequests, but the DRAPrioritizedList feature is disabled"
        raise BrokenSearch(f"claim {claim.key}, request {request.name}: {text}")
    if rules.consumable:
        return
    text = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
    if request.exactly is not None and request.exactly.capacity is not None:
        raise BrokenSearch(f"claim {claim.key}, request {request.name}: {text}")
    for spec in request.first_available:
        if spec.capacity is not None:
            raise BrokenSearch(f"claim {claim.key}, subrequest {spec.name}: {text}")


def _wanted(
    claim: ResourceClaim,
    spec: DeviceSubRequest,
    name: str,
    parent: str,
    class_of: Callable[[str], DeviceClass | None],
) -> Wanted:
    where = f"claim {claim.key}, request {name}"
    for index, selector in enumerate(spec.selectors):
        if selector.cel is None:
            raise BrokenSearch(f"{where}, selector #{index}: CEL expression empty (unsupported selector type?)")
    if not spec.device_class_name:
        raise BrokenSearch(f"{where}: missing device class name (unsupported request type?)")
    class_ = class_of(spec.device_class_name)
    if class_ is None:
        missing = f'deviceclass.resource.k8s.io "{spec.device_class_name}" not found'
        raise BrokenSearch(f"{where}: could not retrieve device class {spec.device_class_name}: {missing}")
    return Wanted(name, parent, spec, class_)


def _count(claim: ResourceClaim, wanted: Wanted, every: Callable[[ResourceClaim, Wanted], list[DeviceFacts]]) -> None:
    match wanted.spec.allocation_mode:
        case mode if mode == EXACT_COUNT:
            wanted.count = wanted.spec.count
        case mode if mode == ALL_DEVICES:
            wanted.every = every(claim, wanted)
            wanted.count = len(wanted.every)
        case other:
            raise BrokenSearch(f"claim {claim.key}, request {wanted.name}: unsupported count mode {other}")
