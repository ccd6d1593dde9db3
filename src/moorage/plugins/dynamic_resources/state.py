"""What the plugin remembers of a pod from PreFilter to PreBind."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from moorage.objects import Allocation, ResourceClaim
from moorage.plugins.dynamic_resources.extended import IN_MEMORY, SpecialClaim
from moorage.values.nodeselector import TermSelector

KEY = "DynamicResources"


@dataclass(frozen=True, slots=True)
class NodeDevices:
    """What the pod would get on a node: an allocation for each claim that has none, in the claims' order."""

    allocations: tuple[Allocation, ...]
    special: SpecialClaim | None = None


@dataclass(slots=True)
class PodDevices:
    """The claims of a pod in one attempt. The last may be the special one for extended resources."""

    claims: list[ResourceClaim] = field(default_factory=list)
    special: ResourceClaim | None = None
    #: For claims that are allocated: the nodes from which they can be reached, None for all.
    reachable: dict[int, TermSelector | None] = field(default_factory=dict)
    #: Claims that are allocated, and of no use on some node: giving one back may help.
    unavailable: set[int] = field(default_factory=set)
    #: What was reserved, by the claim's place among `claims`.
    reserved: dict[int, Allocation] = field(default_factory=dict)
    reserved_special: SpecialClaim | None = None
    #: The uid under which the special claim is in flight.
    special_uid: str = ""

    def clone(self) -> "PodDevices":
        """For a dry run: nothing of it depends on which pods are on the nodes."""
        return self

    def to_allocate(self) -> Iterator[tuple[int, ResourceClaim]]:
        """The claims that have no devices yet, with their places."""
        return ((place, claim) for place, claim in enumerate(self.claims) if claim.status.allocation is None)

    def is_special(self, place: int) -> bool:
        """Whether the claim at this place is the one for extended resources."""
        return self.special is not None and place == len(self.claims) - 1

    @property
    def user_claims(self) -> list[ResourceClaim]:
        """The claims the pod names."""
        return self.claims[:-1] if self.special is not None else self.claims

    @property
    def leftover(self) -> ResourceClaim | None:
        """A special claim that an earlier attempt wrote."""
        return self.special if self.special is not None and self.special.metadata.name != IN_MEMORY else None
