"""Functions over values that may be absent. `or` and `orValue` are evaluated by need, not called."""

from typing import Any

from moorage.cel.errors import EvaluationError
from moorage.cel.library import declare, nothing
from moorage.cel.values import NONE, Domains, Duration, Optional, Timestamp


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _unless_zero(value: Any) -> Optional:
    if value in (Duration(0), Timestamp(-62135596800 * 10**9)):
        return NONE
    if value is None or (isinstance(value, int | float | str | bytes | list | dict | Domains) and not value):
        return NONE
    return Optional(True, value)


def _unwrap(optionals: list[Any]) -> list[Any]:
    for one in optionals:
        if not isinstance(one, Optional):
            raise EvaluationError(f"value {one} is not optional")
    return [one.value for one in optionals if one.present]


def _by_need(_optional: Optional, _other: Any) -> Any:
    raise AssertionError("evaluated by the plan: the other side only where it is needed")


declare("optional.none() -> optional_type(A)", lambda: NONE)
declare("optional.of(A) -> optional_type(A)", lambda value: Optional(True, value))
declare("optional.ofNonZeroValue(A) -> optional_type(A)", _unless_zero)
declare("optional.unwrap(list(optional_type(A))) -> list(A)", _unwrap)
declare("list(optional_type(A))::unwrapOpt() -> list(A)", _unwrap)
declare("optional_type(A)::hasValue() -> bool", lambda optional: optional.present)
declare("optional_type(A)::value() -> A", _value)
declare("optional_type(A)::or(optional_type(A)) -> optional_type(A)", _by_need, nothing)
declare("optional_type(A)::orValue(A) -> A", _by_need, nothing)
