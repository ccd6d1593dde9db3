"""Dry runs by arithmetic, for pods whose fitting is a matter of sums: a few resources and a slot."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from moorage.columns import NodeInfo, PodInfo
from moorage.values.requests import PODS, Request

_request_of = attrgetter("request")


class Run(NamedTuple):
    """Neighbours in the order of importance that hold the same: what each holds of the resources needed."""

    share: tuple[int, ...]
    pods: list[PodInfo]


class Sums:
    """What a pod needs, resource by resource in a fixed order, and what other pods hold of the same."""

    def __init__(self, needs: Mapping[str, int]) -> None:
        self._names = tuple(needs)
        self._needs = tuple(needs.values())
        #: By identity: pods of a class share one Request. Kept beside its share, so that its id stays its own.
        self._shares: dict[int, tuple[Request, tuple[int, ...]]] = {}

    def runs(self, pods: Iterable[PodInfo]) -> list[Run]:
        """The pods in runs of equal shares."""
        return [Run(self._share(request), list(run)) for request, run in groupby(pods, _request_of)]

    def spare_without(self, node: NodeInfo, leaving: Sequence[Run]) -> list[int]:
        """What would be left beyond the needs if these pods left the node; below 0 where it does not suffice."""
        spare = [node.free(name) - need for name, need in zip(self._names, self._needs, strict=True)]
        for share, pods in leaving:
            count = len(pods)
            spare = [left + count * amount for left, amount in zip(spare, share, strict=True)]
        return spare

    def victims(self, runs: Sequence[Run], spare: list[int]) -> list[PodInfo]:
        """Put the pods back in order while what is to spare (changed here) suffices; the rest must go."""
        victims: list[PodInfo] = []
        for share, pods in runs:
            stay = min([left // amount for left, amount in zip(spare, share, strict=True) if amount] or [len(pods)])
            stay = min(stay, len(pods))
            spare[:] = [left - stay * amount for left, amount in zip(spare, share, strict=True)]
            victims += pods[stay:]
        return victims

    def _share(self, request: Request) -> tuple[int, ...]:
        known = self._shares.get(id(request))
        if known is None:
            amounts = request.amounts
            share = tuple(1 if name == PODS else amounts.get(name, 0) for name in self._names)
            known = self._shares[id(request)] = (request, share)
        return known[1]
