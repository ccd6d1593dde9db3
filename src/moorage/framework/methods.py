"""The methods of a plugin class, held against the contracts before anything is made: what would fail at each pod, or
never be called, is told at the start, with its line."""

import inspect
from collections.abc import Iterable
from typing import Final

from moorage.errors import InputError, did_you_mean
from moorage.framework.answers import CONTRACTS, definition, place_of
from moorage.framework.grouping import NormalizePlacementScore, PlacementFeasible
from moorage.framework.points import (
    POINTS,
    EnqueueExtensions,
    Explaining,
    FilterBySums,
    NormalizeScore,
    PostFilterUntil,
    PreBindPreFlight,
    PreFilterExtensions,
    ScoresAlike,
    Starting,
    Stopping,
)

#: What a plugin may have besides the methods of its points.
_OPTIONAL: Final[tuple[type, ...]] = (
    PreFilterExtensions,
    Explaining,
    FilterBySums,
    PostFilterUntil,
    ScoresAlike,
    NormalizeScore,
    PreBindPreFlight,
    EnqueueExtensions,
    Starting,
    Stopping,
    PlacementFeasible,
    NormalizePlacementScore,
)

#: The methods that may be `async`, or are.
_AWAITED: Final = frozenset({one.method for one in CONTRACTS.values() if one.is_awaited} | {"start", "stop"})


def point_methods() -> frozenset[str]:
    """The names of the methods that serve extension points."""
    return frozenset(name for contracts in POINTS.values() for one in contracts for name in methods_of(one))


def methods_of(contract: type) -> list[str]:
    """What a contract wants a class to have."""
    return [name for name, member in vars(contract).items() if callable(member) and not name.startswith("_")]


def has_methods(plugin: type, contract: type) -> bool:
    """Whether the class has all of it."""
    return all(callable(getattr(plugin, name, None)) for name in methods_of(contract))


def check_methods(plugin: type) -> None:
    """Raises InputError where a method cannot serve, or is only nearly called as one that is asked for."""
    contracts = [*(one for several in POINTS.values() for one in several), *_OPTIONAL]
    known = {name: contract for contract in contracts for name in methods_of(contract)}
    _check_spelling(plugin, known)
    for name, contract in known.items():
        method = getattr(plugin, name, None)
        if method is None:
            continue
        if isinstance(method, property):
            raise InputError(f"{name} is a property: expected a method (at {definition(method.fget)})")
        if not callable(method):
            raise InputError(f"{name} is {method!r}: expected a method{place_of(plugin)}")
        _check_whole(plugin, name, contract)
        _check_called(plugin, name, contract)


def _check_spelling(plugin: type, known: Iterable[str]) -> None:
    """A name in another case is one that was meant: Go's own, or Java's."""
    meant = {name.replace("_", ""): name for name in known}
    for own, member in vars(plugin).items():
        name = meant.get(own.replace("_", "").lower())
        if name not in (None, own) and not own.startswith("_") and inspect.isfunction(member):
            raise InputError(f"it has {own}, which nobody calls; did you mean {name}? (at {definition(member)})")


def _check_whole(plugin: type, name: str, contract: type) -> None:
    missing = [one for one in methods_of(contract) if not hasattr(plugin, one)]
    if missing:
        raise InputError(f"it has {name} and lacks {', '.join(missing)}: they go together{place_of(plugin)}")


def _check_called(plugin: type, name: str, contract: type) -> None:
    """Whether it can be called as it will be, and is not async where nobody awaits it."""
    method = getattr(plugin, name)
    where = definition(method)
    if not where:  # not written in Python, or an object of another kind: it is seen when it is called
        return
    if name not in _AWAITED and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)):
        raise InputError(f"{name} is async, and nothing is awaited there (at {where})")
    # On an instance a function has had its `self` already, and so has a classmethod.
    bound = inspect.getattr_static(plugin, name)
    expected = list(inspect.signature(getattr(contract, name)).parameters)[1:]
    signature = inspect.signature(method)
    try:
        signature.bind(*expected) if isinstance(bound, staticmethod | classmethod) else signature.bind("", *expected)
    except TypeError:
        taken = ", ".join(str(one).partition(":")[0] for one in signature.parameters.values())
        raise InputError(
            f"{name} is called with (self, {', '.join(expected)}): it takes ({taken}) (at {where})"
        ) from None


def what_is_missing(plugin: type) -> str:
    """Why a class serves no point: a method whose name is near, or none at all."""
    methods = point_methods()
    for own, member in vars(plugin).items():
        if not own.startswith("_") and callable(member) and (hint := did_you_mean(own, methods)):
            return f"it has {own}{hint}{place_of(member)}"
    return f"it has none of the methods of {', '.join(POINTS)}{place_of(plugin)}"
