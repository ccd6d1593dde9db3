"""What `kubectl inspect gpushare` shows: the cards of each node, and who uses how much of them.

It reads the API server itself and counts what is promised there (allocatable memory, limits of pods), so it works
without the extender, too.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from moorage.errors import InputError
from moorage.kube.access import ClusterAccess
from moorage.kube.paths import resource_of
from moorage.kube.transport import Client
from moorage.objects import Node, Pod, decode
from moorage.objects.meta import Struct
from moorage_gpushare.cards import Cards, cards_of, holding_of, need_of

_GIB_AT_MOST = 100


class _Address(Struct, frozen=True):
    type: str = ""
    address: str = ""


class _Addresses(Struct, frozen=True):
    addresses: tuple[_Address, ...] = ()


class _Addressed(Struct, frozen=True):
    status: _Addresses = _Addresses()


class _List(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


@dataclass
class Row:
    """A node with its pods: (name, namespace, card or None, amount)."""

    name: str
    address: str
    cards: Cards
    pods: list[tuple[str, str, int | None, int]] = field(default_factory=list)

    def used(self, card: int | None) -> int:
        """What is used of a card; with None what pods hold of no card known."""
        return sum(amount for _, _, index, amount in self.pods if index == card)

    @property
    def all_used(self) -> int:
        """What is used of the node."""
        return sum(amount for *_, amount in self.pods)


async def read_rows(access: ClusterAccess, node: str = "") -> list[Row]:
    """The nodes with cards, or the one that is named. Raises InputError where that has none."""
    async with Client(access) as client:
        nodes, pods = await asyncio.gather(
            client.get(resource_of("Node").path()), client.get(resource_of("Pod").path())
        )
    rows = [_row(raw) for raw in _items(nodes)]
    rows = [row for row in rows if row.cards.is_shared and node in ("", row.name)]
    if node and not rows:
        raise InputError("has no shared cards, or is not there", where=f"node {node}")
    by_name = {row.name: row for row in rows}
    for raw in _items(pods):
        pod = decode(bytes(raw), Pod)
        row = by_name.get(pod.spec.node_name)
        need = need_of(pod)
        if row is not None and need and not pod.is_terminal:
            holding = holding_of(pod.metadata.annotations, pod)
            known = holding is not None and 0 <= holding.card < row.cards.count
            card = holding.card if holding is not None and known else None
            row.pods.append((pod.metadata.name, pod.metadata.namespace, card, need))
    return sorted(rows, key=lambda row: row.name)


def summary(rows: Sequence[Row]) -> str:
    """One line for each node."""
    widest = max((row.cards.count for row in rows), default=0)
    pending = any(row.used(None) for row in rows)
    head = ["NAME", "IPADDRESS", *(f"GPU{card}(Allocated/Total)" for card in range(widest))]
    head += [*(["PENDING(Allocated)"] if pending else []), f"GPU Memory({_unit(rows)})"]
    lines = [head]
    for row in rows:
        used = [f"{row.used(card)}/{row.cards.size}" for card in range(row.cards.count)]
        cells = [row.name, row.address, *used, *[""] * (widest - row.cards.count)]
        cells += [str(row.used(None) or "")] if pending else []
        lines.append([*cells, f"{row.all_used}/{row.cards.total}"])
    return f"{_table(lines)}{_total(rows)}"


def details(rows: Sequence[Row]) -> str:
    """The pods of each node."""
    parts = []
    for row in rows:
        pending = [None] if row.used(None) else []
        cards: list[int | None] = [*range(row.cards.count), *pending]
        names = [f"GPU{card}(Allocated)" if card is not None else "PENDING(Allocated)" for card in cards]
        lines = [["NAME", "NAMESPACE", *names]]
        for name, namespace, index, amount in sorted(row.pods, key=lambda pod: pod[:2]):
            lines.append([name, namespace, *(str(amount if index == card else 0) for card in cards)])
        share = f"{row.all_used} ({_percent(row.all_used, row.cards.total)})"
        parts.append(
            f"NAME: {row.name}\nIPADDRESS: {row.address}\n\n{_table(lines)}"
            f"Allocated : {share}\nTotal : {row.cards.total}\n" + "-" * 60 + "\n"
        )
    return "".join(parts) + _total(rows)


def _row(raw: msgspec.Raw) -> Row:
    node = decode(bytes(raw), Node)
    addresses = decode(bytes(raw), _Addressed).status.addresses
    address = next((one.address for one in addresses if one.type == "InternalIP"), "unknown")
    return Row(node.metadata.name, address, cards_of(node.status.allocatable))


def _items(body: bytes) -> Sequence[msgspec.Raw]:
    return msgspec.json.decode(body, type=_List).items or ()


def _unit(rows: Iterable[Row]) -> str:
    return "MiB" if any(row.cards.size > _GIB_AT_MOST for row in rows) else "GiB"


def _table(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join(text) + "\n"


def _total(rows: Sequence[Row]) -> str:
    used, total = sum(row.all_used for row in rows), sum(row.cards.total for row in rows)
    return f"{'-' * 60}\nAllocated/Total GPU Memory In Cluster:\n{used}/{total} ({_percent(used, total)})\n"


def _percent(used: int, total: int) -> str:
    return f"{used * 100 // total if total else 0}%"
