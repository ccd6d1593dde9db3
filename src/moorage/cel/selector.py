"""A device selector: compiled once, asked of each device once."""

from functools import lru_cache
from typing import Any

from moorage.cel.checking import check_selector
from moorage.cel.errors import CompileError, CostExceeded, EvaluationError, NotASelector
from moorage.cel.parsing import parse
from moorage.cel.planning import COST_LIMIT, Planner, Scope
from moorage.cel.semver import parse as parse_version
from moorage.cel.values import Domains, Quantity, kind_of
from moorage.errors import InputError
from moorage.objects import Device, DeviceAttribute
from moorage.values.quantity import parse_quantity


class Selector:
    """A compiled expression over one device. Raises CompileError if it is none.

    Without `lists` no attribute is one, as before v1.37: what walks an attribute does not compile.
    """

    def __init__(self, expression: str, *, lists: bool = True) -> None:
        self.expression = expression
        try:
            tree = parse(expression)
            check_selector(tree, expression, lists=lists)
            planner = Planner()
            self._run = planner.plan(tree)
        except EvaluationError as problem:
            raise NotASelector(f"program instantiation failed: {problem}", expression) from None
        except RecursionError:
            raise CompileError("expression recursion limit exceeded", expression, 0) from None
        self._slots = planner.slots

    def matches(self, device: "DeviceView") -> bool:
        """Whether the device is one of those meant. Raises EvaluationError or CostExceeded."""
        return self.evaluate(device)[0]

    def evaluate(self, device: "DeviceView") -> tuple[bool, int]:
        """The answer, and what it cost."""
        scope = Scope(device.fields, self._slots)
        value = self._run(scope)
        if scope.cost > COST_LIMIT:
            raise CostExceeded
        if type(value) is not bool:
            kind = kind_of(value)
            raise EvaluationError(
                f"CEL result of type {kind} could not be converted to bool: "
                f"unsupported type conversion from '{kind}' to 'bool'"
            )
        return value, scope.cost


@lru_cache(maxsize=1024)
def selector(expression: str, *, lists: bool = True) -> Selector | CompileError:
    """The selector of an expression, or why there is none."""
    try:
        return Selector(expression, lists=lists)
    except CompileError as problem:
        return problem


class DeviceView:
    """What selectors see of a device. Raises EvaluationError where the device itself cannot be read."""

    __slots__ = ("fields",)

    def __init__(self, driver: str, device: Device, *, lists: bool = True) -> None:
        attributes: dict[str, dict[str, Any]] = {}
        for name, attribute in device.attributes.items():
            domain, id_ = _qualified(name, driver)
            attributes.setdefault(domain, {})[id_] = _value(name, attribute, lists)
        capacity: dict[str, dict[str, Any]] = {}
        for name, amount in device.capacity.items():
            domain, id_ = _qualified(name, driver)
            capacity.setdefault(domain, {})[id_] = _quantity(name, amount.value)
        self.fields: dict[str, Any] = {
            "driver": driver,
            "allowMultipleAllocations": device.allow_multiple_allocations,
            "attributes": Domains(attributes),
            "capacity": Domains(capacity),
        }


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, id_ = name.partition("/")
    return (domain, id_) if slash else (driver, name)


def _value(name: str, attribute: DeviceAttribute, lists: bool) -> Any:
    if lists:
        for items in (attribute.ints, attribute.bools, attribute.strings):
            if items is not None:
                return list(items)
        if attribute.versions is not None:
            return [_version(name, text) for text in attribute.versions]
    for value in (attribute.int_value, attribute.bool_value, attribute.string):
        if value is not None:
            return value
    if attribute.version is not None:
        return _version(name, attribute.version)
    raise EvaluationError(f"attribute {name}: unsupported attribute value")


def _version(name: str, text: str) -> Any:
    version = parse_version(text)
    if version is None:
        raise EvaluationError(f"attribute {name}: parse semantic version: {text!r} is none")
    return version


def _quantity(name: str, text: str | int | float) -> Quantity:
    try:
        return Quantity(parse_quantity(text))
    except InputError as problem:
        raise EvaluationError(f"capacity {name}: {problem.problem}") from None
