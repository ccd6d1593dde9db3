"""Conditions of a status: setting one among others."""

from collections.abc import Iterable
from typing import Any

import msgspec

from moorage.controllers.objects.meta import Condition, condition_of

Json = dict[str, Any]


def with_condition(conditions: tuple[Condition, ...], new: Condition) -> tuple[Condition, ...]:
    """The conditions with one set. Its time of transition stays where its status does."""
    old = condition_of(conditions, new.type)
    if old is not None and (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
        return conditions
    if old is not None and old.status == new.status:
        new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    return (*without_condition(conditions, new.type), new)


def without_condition(conditions: Iterable[Condition], kind: str) -> tuple[Condition, ...]:
    """The conditions but for one type."""
    return tuple(condition for condition in conditions if condition.type != kind)


def as_json(conditions: Iterable[Condition]) -> list[Json]:
    """As the API takes them."""
    return [msgspec.to_builtins(condition) for condition in conditions]
