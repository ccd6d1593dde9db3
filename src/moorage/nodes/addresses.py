"""Addresses for pods, each held by one at a time."""

import ipaddress

POD_ADDRESSES = ipaddress.IPv4Network("10.64.0.0/10")


class PodAddresses:
    """The addresses of one network, given out one after the other, so that an old one does not come back soon."""

    def __init__(self, network: ipaddress.IPv4Network = POD_ADDRESSES) -> None:
        self._first = int(network.network_address) + 1
        self._count = network.num_addresses - 2
        self._held: set[int] = set()
        self._next = 0

    def take(self) -> str:
        """A free address; an empty one where there is none left."""
        if len(self._held) >= self._count:
            return ""
        while self._next in self._held:
            self._next = (self._next + 1) % self._count
        taken = self._next
        self._held.add(taken)
        self._next = (taken + 1) % self._count
        return str(ipaddress.IPv4Address(self._first + taken))

    def hold(self, address: str) -> None:
        """Keep an address that a pod has from earlier from being given out."""
        if (number := self._number(address)) is not None:
            self._held.add(number)

    def give_back(self, address: str) -> None:
        """Let others have an address."""
        if (number := self._number(address)) is not None:
            self._held.discard(number)

    def _number(self, address: str) -> int | None:
        try:
            number = int(ipaddress.IPv4Address(address)) - self._first
        except ipaddress.AddressValueError:
            return None
        return number if 0 <= number < self._count else None
