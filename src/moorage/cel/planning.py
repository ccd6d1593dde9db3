"""From a checked tree to Python closures. Each takes the scope: the device, local variables, and what it has cost."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from moorage.cel.checking import qualified_type
from moorage.cel.errors import NO_OVERLOAD, CostExceeded, EvaluationError
from moorage.cel.library import Cost, Overload, dispatch, one
from moorage.cel.syntax import Call, Fold, Ident, ListOf, Literal, MapOf, Node, Select
from moorage.cel.values import (
    NONE,
    Domains,
    Optional,
    Quantity,
    TypeValue,
    UInt,
    contains,
    equal,
    kind_of,
    lookup,
    size_of,
)

COST_LIMIT = 1_000_000

_CONVERSIONS = frozenset(("int", "uint", "double", "bool", "string", "bytes", "dyn", "type", "timestamp", "duration"))


class Scope:
    """The variables of one evaluation, by slot, and its cost so far."""

    __slots__ = ("cost", "values")

    def __init__(self, device: Any, slots: int) -> None:
        self.values: list[Any] = [device] + [None] * (slots - 1)
        self.cost = 0


Run = Callable[[Scope], Any]


class Planner:
    """Plans one expression."""

    def __init__(self) -> None:
        self._names: list[dict[str, int]] = [{"device": 0}]
        #: How many variables are alive at once, at most.
        self.slots = 1

    def plan(self, node: Node) -> Run:
        """The closure that evaluates a node. Raises EvaluationError where a constant conversion cannot work."""
        if is_constant(node):
            value = constant(node)
            return lambda _scope: value
        match node:
            case Ident():
                return self._ident(node)
            case Select():
                return self._has(node) if node.test_only else self._select(node)
            case Call():
                return self._call(node)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Fold():
                return self._fold(node)
        raise AssertionError(node)

    # ---------------------------------------------------------------------------------------------------- variables

    def _slot(self, name: str) -> int | None:
        bare = name.removeprefix(".")
        return next((names[bare] for names in reversed(self._names) if bare in names), None)

    def _ident(self, node: Ident) -> Run:
        slot = self._slot(node.name)
        assert slot is not None, "names of types are constant"

        def run(scope: Scope) -> Any:
            scope.cost += 1
            value = scope.values[slot]
            if type(value) is _Broken:
                raise value.error
            return value

        return run

    def _select(self, node: Select) -> Run:
        operand, field, cost = self.plan(node.operand), node.field, _step_cost(node.operand)

        def run(scope: Scope) -> Any:
            value = operand(scope)
            scope.cost += cost
            return _selected(value, field)

        return run

    def _has(self, node: Select) -> Run:
        operand, field = self.plan(node.operand), node.field

        def run(scope: Scope) -> bool:
            value = operand(scope)
            if isinstance(value, Optional):
                return _has_field(value.value, field) if value.present else False
            return _has_field(value, field)

        return run

    # -------------------------------------------------------------------------------------------------------- calls

    def _call(self, node: Call) -> Run:
        special = _SPECIAL.get(node.function)
        if special is not None:
            return special(self, node)
        if node.function in ("or", "orValue") and node.target is not None:
            return self._or(node)
        operands = [self.plan(operand) for operand in node.operands]
        # An operator that is not settled before the values are there counts as one step, whatever they are.
        settled = len(node.overloads) == 1 or not node.function.startswith("_")
        return _invocation(node.overloads, operands, None if settled else one)

    def _and(self, node: Call) -> Run:
        return self._junction(node, deciding=False)

    def _either(self, node: Call) -> Run:
        return self._junction(node, deciding=True)

    def _junction(self, node: Call, *, deciding: bool) -> Run:
        """`&&` and `||`: one side may decide although the other is broken."""
        left, right = (self.plan(arg) for arg in node.args)

        def run(scope: Scope) -> bool:
            failure: EvaluationError | None = None
            for side in (left, right):
                try:
                    value = side(scope)
                    if not isinstance(value, bool):
                        failure = failure or EvaluationError(NO_OVERLOAD)
                    elif value == deciding:
                        return value
                except EvaluationError as error:
                    failure = failure or error
            if failure is not None:
                raise failure
            return not deciding

        return run

    def _not(self, node: Call) -> Run:
        operand = self.plan(node.args[0])

        def run(scope: Scope) -> bool:
            value = operand(scope)
            scope.cost += 1
            if not isinstance(value, bool):
                raise EvaluationError(NO_OVERLOAD)
            return not value

        return run

    def _not_strictly_false(self, node: Call) -> Run:
        operand = self.plan(node.args[0])

        def run(scope: Scope) -> bool:
            scope.cost += 1
            try:
                return operand(scope) is not False
            except EvaluationError:
                return True

        return run

    def _choice(self, node: Call) -> Run:
        condition = self.plan(node.args[0])
        yes, no = (self._inner(arg) for arg in node.args[1:])

        def run(scope: Scope) -> Any:
            value = condition(scope)
            if type(value) is not bool:
                raise EvaluationError(NO_OVERLOAD)
            return yes(scope) if value else no(scope)

        return run

    def _inner(self, node: Node) -> Run:
        """A variable inside another one's path, or to choose from, costs one less: only the whole is looked up."""
        run = self.plan(node)
        if is_constant(node) or not _is_attribute(node):
            return run

        def cheaper(scope: Scope) -> Any:
            scope.cost -= 1
            return run(scope)

        return cheaper

    def _equality(self, node: Call) -> Run:
        left, right = (self.plan(arg) for arg in node.args)
        wanted = node.function == "_==_"

        def run(scope: Scope) -> bool:
            a, b = left(scope), right(scope)
            scope.cost += 1 if type(a) is Quantity else math.ceil(min(size_of(a), size_of(b)) * 0.1)
            return equal(a, b) is wanted

        return run

    def _within(self, node: Call) -> Run:
        item, container = (self.plan(arg) for arg in node.args)
        # A list that is written out in full is made into a set; what may be a list counts as one step.
        listed = node.args[1]
        free = isinstance(listed, ListOf) and all(isinstance(item, Literal) for item in listed.items)
        settled = node.settled

        def run(scope: Scope) -> bool:
            value, within = item(scope), container(scope)
            if type(within) is list:
                scope.cost += 0 if free else len(within) if settled else 1
                return contains(within, value)
            if isinstance(within, dict | Domains):
                scope.cost += 1
                return value in within if type(value) is str else lookup(within, value)[0]
            raise EvaluationError(NO_OVERLOAD)

        return run

    def _index(self, node: Call) -> Run:
        operand, key = self.plan(node.args[0]), self._inner(node.args[1])
        cost = _step_cost(node.args[0])

        def run(scope: Scope) -> Any:
            value, wanted = operand(scope), key(scope)
            scope.cost += cost
            return _indexed(value, wanted)

        return run

    def _optional_index(self, node: Call) -> Run:
        return self._optionally(node.args[0], self._inner(node.args[1]))

    def _optional_select(self, node: Call) -> Run:
        return self._optionally(node.args[0], self.plan(node.args[1]))

    def _optionally(self, on: Node, key: Run) -> Run:
        operand, cost = self.plan(on), _step_cost(on)

        def run(scope: Scope) -> Optional:
            value, wanted = operand(scope), key(scope)
            if type(value) is Optional:
                if not value.present:
                    return NONE
                value = value.value
            found, inner = _find(value, wanted)
            scope.cost += cost if found else cost - 1
            return Optional(True, inner) if found else NONE

        return run

    def _or(self, node: Call) -> Run:
        first, other = self.plan(node.operands[0]), self.plan(node.operands[1])
        unwrap = node.function == "orValue"

        def run(scope: Scope) -> Any:
            value = first(scope)
            if type(value) is not Optional:
                raise EvaluationError(NO_OVERLOAD)
            if value.present:
                return value.value if unwrap else value
            return other(scope)

        return run

    # ------------------------------------------------------------------------------------------- lists, maps and folds

    def _list(self, node: ListOf) -> Run:
        items = [(self.plan(item), index in node.optional) for index, item in enumerate(node.items)]

        def run(scope: Scope) -> list[Any]:
            made = []
            for item, maybe in items:
                value = item(scope)
                if not maybe:
                    made.append(value)
                elif value.present:
                    made.append(value.value)
            scope.cost += 10
            return made

        return run

    def _map(self, node: MapOf) -> Run:
        entries = [(self.plan(key), self.plan(value), maybe) for key, value, maybe in node.entries]

        def run(scope: Scope) -> dict[Any, Any]:
            made = {}
            for key, item, maybe in entries:
                name, value = key(scope), item(scope)
                if maybe and not value.present:
                    continue
                made[name] = value.value if maybe else value
            scope.cost += 30
            return made

        return run

    def _fold(self, node: Fold) -> Run:
        over, initial = self.plan(node.range), self.plan(node.initial)
        accumulator = self._push(node.accumulator)
        first = self._push(node.variable)
        second = self._push(node.second) if node.second else -1
        condition, step = self.plan(node.condition), self.plan(node.step)
        del self._names[-2 if node.second else -1 :]
        result = self.plan(node.result)
        self._names.pop()

        def run(scope: Scope) -> Any:
            values = scope.values
            elements = _elements(over(scope), bool(node.second))
            total: Any = _attempt(initial, scope)
            for element in elements:
                values[accumulator] = total
                if second < 0:
                    values[first] = element
                else:
                    values[first], values[second] = element
                if condition(scope) is not True:
                    break
                total = _attempt(step, scope)
                if scope.cost > COST_LIMIT:
                    raise CostExceeded
            values[accumulator] = total
            return result(scope)

        return run

    def _push(self, name: str) -> int:
        slot = sum(len(names) for names in self._names)
        self._names.append({name: slot})
        self.slots = max(self.slots, slot + 1)
        return slot


class _Broken:
    """An accumulator that a step broke; a later step may make up for it."""

    __slots__ = ("error",)

    def __init__(self, error: EvaluationError) -> None:
        self.error = error


def _attempt(run: Run, scope: Scope) -> Any:
    try:
        return run(scope)
    except EvaluationError as error:
        return _Broken(error)


def is_constant(node: Node) -> bool:
    """Whether a node is written out in full, or the conversion of such a one: its value is made once."""
    match node:
        case Literal():
            return True
        case Ident() | Select():
            return node.is_type
        case Call():
            return node.function in _CONVERSIONS and all(is_constant(operand) for operand in node.operands)
        case ListOf():
            return not node.optional and all(is_constant(item) for item in node.items)
        case MapOf():
            return all(is_constant(key) and is_constant(value) and not maybe for key, value, maybe in node.entries)
    return False


def constant(node: Node) -> Any:
    """The value of a constant node. Raises EvaluationError where a conversion cannot work."""
    match node:
        case Call():
            return _apply(node.overloads, [constant(operand) for operand in node.operands])
        case ListOf():
            return [constant(item) for item in node.items]
        case MapOf():
            return {constant(key): constant(value) for key, value, _ in node.entries}
        case Literal():
            return node.value
        case Ident():
            return TypeValue(node.name.removeprefix("."))
        case Select():
            return TypeValue(qualified_type(node))
    raise AssertionError(node)


def _is_attribute(node: Node) -> bool:
    """Whether a node is a variable, or a step into one."""
    match node:
        case Ident():
            return True
        case Select():
            return not node.test_only and _is_attribute(node.operand)
        case Call():
            return node.function == "_[_]" and _is_attribute(node.args[0])
    return False


def _step_cost(operand: Node) -> int:
    """A step into a variable costs one; into the result of anything else, that result's name as well."""
    if isinstance(operand, Ident) or (isinstance(operand, Select) and not operand.test_only):
        return 1
    return 1 if isinstance(operand, Call) and operand.function in ("_[_]", "_[?_]", "_?._") else 2


def _invocation(overloads: tuple[Overload, ...], operands: list[Run], cost: Cost | None) -> Run:
    def run(scope: Scope) -> Any:
        args = [operand(scope) for operand in operands]
        overload = overloads[0] if overloads[0].takes(args) else dispatch(overloads, args)
        result = overload.call(*args)
        scope.cost += (cost or overload.cost)(args, result)
        return result

    return run


def _apply(overloads: tuple[Overload, ...], args: list[Any]) -> Any:
    return dispatch(overloads, args).call(*args)


def _selected(value: Any, field: str) -> Any:
    if type(value) is Optional:
        if not value.present:
            return NONE
        found, inner = _find(value.value, field)
        return Optional(True, inner) if found else NONE
    return _indexed(value, field)


def _indexed(value: Any, key: Any) -> Any:
    if type(value) is Optional:
        return _selected(value, key)
    found, inner = _find(value, key)
    if found:
        return inner
    raise EvaluationError(f"index out of bounds: {key}" if type(value) is list else f"no such key: {key}")


def _find(value: Any, key: Any) -> tuple[bool, Any]:
    if isinstance(value, Mapping):
        return lookup(value, key)
    if type(value) is list:
        if type(key) not in (int, UInt) and not (type(key) is float and key.is_integer()):
            raise EvaluationError(f"unsupported index type '{kind_of(key)}' in list")
        return (True, value[int(key)]) if 0 <= key < len(value) else (False, None)
    raise EvaluationError(NO_OVERLOAD)


def _has_field(value: Any, field: str) -> bool:
    if isinstance(value, Mapping):
        return lookup(value, field)[0]
    raise EvaluationError(NO_OVERLOAD)


def _elements(value: Any, paired: bool) -> Any:
    if type(value) is list:
        return list(enumerate(value)) if paired else value
    if isinstance(value, Mapping):
        return list(value.items()) if paired else list(value)
    raise EvaluationError(NO_OVERLOAD)


_SPECIAL: dict[str, Callable[[Planner, Call], Run]] = {
    "_&&_": Planner._and,
    "_||_": Planner._either,
    "!_": Planner._not,
    "@not_strictly_false": Planner._not_strictly_false,
    "_?_:_": Planner._choice,
    "_==_": Planner._equality,
    "_!=_": Planner._equality,
    "_[_]": Planner._index,
    "_[?_]": Planner._optional_index,
    "_?._": Planner._optional_select,
    "@in": Planner._within,
}
