"""The arithmetic of cards: what a node has, what a pod needs, which card it gets. Units are the device plugin's."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from moorage.errors import InputError
from moorage.objects import Container, Pod
from moorage.values.quantity import ONE, parse_quantity

MEMORY: Final = "aliyun.com/gpu-mem"
COUNT: Final = "aliyun.com/gpu-count"

INDEX: Final = "ALIYUN_COM_GPU_MEM_IDX"
CARD_SIZE: Final = "ALIYUN_COM_GPU_MEM_DEV"
NEED: Final = "ALIYUN_COM_GPU_MEM_POD"
ASSIGNED: Final = "ALIYUN_COM_GPU_MEM_ASSIGNED"
ASSUMED_AT: Final = "ALIYUN_COM_GPU_MEM_ASSUME_TIME"

UNHEALTHY_PREFIX: Final = "unhealthy-gpu-"
UNHEALTHY_NAMESPACE: Final = "kube-system"

Amounts = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Cards:
    """The cards of a node: equal ones, as far as anybody can tell from outside."""

    count: int = 0
    size: int = 0
    #: All of the node's memory, which may be a little more than the cards' together.
    total: int = 0

    @property
    def is_shared(self) -> bool:
        """Whether the node offers memory of cards at all."""
        return self.total > 0


class Holding(NamedTuple):
    """What a pod holds: so much of one card."""

    card: int
    amount: int


def cards_of(capacity: Amounts) -> Cards:
    """The cards that a node's capacity (not its allocatable) speaks of."""
    total, count = _whole(capacity.get(MEMORY, 0)), _whole(capacity.get(COUNT, 0))
    return Cards(count, total // count, total) if count > 0 else Cards(total=total)


def need_of(pod: Pod) -> int:
    """What the pod needs on one card: its containers' limits together, or its hungriest init container if more.

    Sidecars (init containers that stay) run beside everything that starts after them.
    """
    staying = starting = 0
    for container in pod.spec.init_containers:
        amount = _limit(container)
        if container.is_sidecar:
            staying += amount
        starting = max(starting, staying if container.is_sidecar else staying + amount)
    running = staying + sum(map(_limit, pod.spec.containers))
    return max(running, starting)


def holding_of(annotations: Mapping[str, str], pod: Pod) -> Holding | None:
    """What the annotations of a bound pod say it holds; None where they name no card."""
    try:
        card = int(annotations[INDEX])
    except (KeyError, ValueError):
        return None
    try:
        amount = int(annotations[NEED])
    except (KeyError, ValueError):
        amount = need_of(pod)
    return Holding(card, max(amount, 0))


def free_by_card(cards: Cards, holdings: Iterable[Holding]) -> list[int]:
    """What is free of each card; less than nothing where somebody took more than there is."""
    free = [cards.size] * cards.count
    for holding in holdings:
        if 0 <= holding.card < cards.count:
            free[holding.card] -= holding.amount
    return free


def best_fit(free: Iterable[int], need: int, unhealthy: Collection[int]) -> int | None:
    """The healthy card with the least free memory that suffices, the first among equals."""
    fitting = [(left, index) for index, left in enumerate(free) if left >= need and index not in unhealthy]
    return min(fitting)[1] if fitting else None


def read_unhealthy(text: str) -> frozenset[int]:
    """The cards in a list like "0,2"; what is no number means nothing."""
    parts = (part.strip() for part in text.split(","))
    return frozenset(int(part) for part in parts if part.isascii() and part.isdigit())


def annotations_for(card: int, cards: Cards, need: int, now: float) -> dict[str, str]:
    """The five annotations by which the device plugin finds the pod and its card."""
    return {
        INDEX: str(card),
        CARD_SIZE: str(cards.size),
        NEED: str(need),
        ASSIGNED: "false",
        ASSUMED_AT: str(int(now * 1_000_000_000)),
    }


def _limit(container: Container) -> int:
    return _whole(container.resources.limits.get(MEMORY, 0))


def _whole(amount: str | int | float) -> int:
    try:
        # Rounded up; amounts that 64 bits cannot hold fit nowhere, where Go would read them as nothing.
        return max(-(-parse_quantity(amount) // ONE), 0)
    except InputError:
        return 0
