"""Static types: what is wrong with an expression before any device is there."""

from collections.abc import Callable, Mapping
from typing import Any

from moorage.cel import functions as _declared
from moorage.cel.errors import CompileError, EvaluationError, NotASelector
from moorage.cel.functions.formatting import ACCEPTED, call_problems, unfit
from moorage.cel.functions.texts import compiled
from moorage.cel.library import FUNCTIONS, Overload
from moorage.cel.syntax import Call, Fold, Ident, ListOf, Literal, MapOf, Node, Select
from moorage.cel.types import (
    ANY,
    BOOL,
    DEVICE,
    DYN,
    INT,
    LITERALS,
    NULL,
    QUANTITY,
    STRING,
    Bindings,
    Type,
    is_open,
    list_of,
    map_of,
    optional,
    shown,
)
from moorage.cel.values import kind_of

assert _declared.__all__, "the library is declared by importing its modules"

#: What a device shows of itself.
FIELDS: Mapping[str, Type] = {
    "driver": STRING,
    "allowMultipleAllocations": BOOL,
    "attributes": map_of(STRING, map_of(STRING, DYN)),
    "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
}
FIELDS_WITHOUT_LISTS: Mapping[str, Type] = {**FIELDS, "attributes": map_of(STRING, map_of(STRING, ANY))}
_TYPE_NAMES = ("bool", "bytes", "double", "int", "uint", "string", "list", "map", "null_type", "type")
_QUALIFIED_TYPES = ("google.protobuf.Timestamp", "google.protobuf.Duration")
_OPEN_LIST, _OPEN_MAP = list_of(DYN), map_of(DYN, DYN)
_BASIC = {"int": INT, "bool": BOOL, "string": STRING, "null_type": NULL, **LITERALS}


def check(node: Node, source: str, *, lists: bool = True) -> Type:
    """Give every call its overloads; the type of the whole. Without `lists` no attribute is one.

    Raises CompileError.
    """
    checker = _Checker(source, FIELDS if lists else FIELDS_WITHOUT_LISTS)
    type_ = checker.types.resolve(checker.check(node), final=True)
    checker.check_formats()
    return type_


def check_selector(node: Node, source: str, *, lists: bool = True) -> None:
    """Check an expression that is to say yes or no. Raises CompileError."""
    type_ = check(node, source, lists=lists)
    if type_ != BOOL and not is_open(type_):
        raise NotASelector(f"must evaluate to bool or the unknown type, not {type_}", source)


def qualified_type(node: Select) -> str:
    """The name of a type that is written like a path of fields, "" where it is none."""
    names = [node.field]
    inner = node.operand
    while isinstance(inner, Select) and not inner.test_only:
        names.append(inner.field)
        inner = inner.operand
    if node.test_only or not isinstance(inner, Ident):
        return ""
    name = ".".join((inner.name.removeprefix("."), *reversed(names)))
    return name if name in _QUALIFIED_TYPES else ""


class _Checker:
    def __init__(self, source: str, fields: Mapping[str, Type]) -> None:
        self._source = source
        self._fields = fields
        self._scopes: list[dict[str, Type]] = [{"device": DEVICE}]
        self.types = Bindings()
        #: Of what is looked at again when all types are known: the items of texts that are formatted.
        self._types: dict[int, Type] = {}
        self._formats: list[Call] = []
        #: How many calls of `format` are open: lists and maps within one may be of mixed types.
        self._formatting = 0

    def check(self, node: Node) -> Type:
        """The type of a node, as far as it is known."""
        if not self._formatting:
            return self._check(node)
        return self._types.setdefault(id(node), self._check(node))

    def _check(self, node: Node) -> Type:
        match node:
            case Literal():
                return _BASIC[kind_of(node.value)]
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Fold():
                return self._fold(node)

    def _refuse(self, problem: str, at: int) -> CompileError:
        return CompileError(problem, self._source, at)

    def _known(self, node: Node) -> Type:
        return self.types.resolve(self.check(node))

    def _variable(self, name: str) -> Type | None:
        bare = name.removeprefix(".")
        return next((scope[bare] for scope in reversed(self._scopes) if bare in scope), None)

    def _ident(self, node: Ident) -> Type:
        found = self._variable(node.name)
        if found is not None:
            if self.types.resolve(found).name == "type":
                # QUIRK: a variable that holds a type is taken for the name of one.
                raise NotASelector(
                    f"program instantiation failed: reference to undefined type: {node.name}", self._source
                )
            return found
        if node.name.removeprefix(".") in _TYPE_NAMES:
            name = node.name.removeprefix(".")
            node.is_type = True
            inner = {"list": _OPEN_LIST, "map": _OPEN_MAP, "type": Type("type")}.get(name) or _BASIC[name]
            return Type("type", (inner,))
        raise self._refuse(f"undeclared reference to '{node.name}' (in container '')", node.at)

    def _select(self, node: Select) -> Type:
        named = qualified_type(node)
        if named and self._variable(named.partition(".")[0]) is None:
            node.is_type = True
            return Type("type", (Type(named),))
        operand = self._known(node.operand)
        maybe = operand.name == "optional_type"
        type_ = self._field(self.types.resolve(operand.of[0]) if maybe else operand, node.field, node.at)
        if node.test_only:
            return BOOL
        return optional(type_) if maybe else type_

    def _field(self, operand: Type, field: str, at: int) -> Type:
        if operand.name == "map":
            return operand.of[1]
        if operand == DEVICE:
            if field not in self._fields:
                raise self._refuse(f"undefined field '{field}'", at)
            return self._fields[field]
        if is_open(operand) or operand.is_variable:
            return DYN
        raise self._refuse(f"type '{operand}' does not support field selection", at)

    # ------------------------------------------------------------------------------------------------------- calls

    def _call(self, node: Call) -> Type:
        special = _SPECIAL.get((node.function, len(node.operands)))
        if special is not None:
            return special(self, node)
        self._qualify(node)
        if node.function not in FUNCTIONS:
            if node.target is not None:
                self.check(node.target)
            raise self._refuse(f"undeclared reference to '{node.function}' (in container '')", node.at)
        is_format = node.function == "format"
        self._formatting += is_format
        given = tuple(self._known(operand) for operand in node.operands)
        self._formatting -= is_format
        if is_format:
            self._formats.append(node)
        self._check_literals(node)
        return self._resolve(node, FUNCTIONS[node.function], given)

    def _qualify(self, node: Call) -> None:
        """`optional.of(x)` is written like a member, but is the name of a function."""
        target = node.target
        if isinstance(target, Ident):
            qualified = f"{target.name.removeprefix('.')}.{node.function}"
            if qualified in FUNCTIONS:
                node.function, node.target = qualified, None

    def _resolve(self, node: Call, overloads: list[Overload], given: tuple[Type, ...]) -> Type:
        fitting: list[Overload] = []
        result: Type | None = None
        for overload in overloads:
            if overload.is_member != (node.target is not None) or len(overload.params) != len(given):
                continue
            *params, returned = self.types.renamed((*overload.params, overload.result))
            if self.types.fit(given, tuple(params)):
                fitting.append(overload)
                returned = self.types.resolve(returned)
                result = returned if result is None or result == returned else DYN
        if result is None:
            raise self._mismatch(node, given)
        node.overloads = tuple(fitting)
        return result

    def _mismatch(self, node: Call, given: tuple[Type, ...]) -> CompileError:
        words = [shown(self.types.resolve(type_, final=True)) for type_ in given]
        applied = f"({', '.join(words)})" if node.target is None else f"{words[0]}.({', '.join(words[1:])})"
        return self._refuse(f"found no matching overload for '{node.function}' applied to '{applied}'", node.at)

    def _check_literals(self, node: Call) -> None:
        """What is written out, and is read as something else, must be readable."""
        if node.function in ("timestamp", "duration") and len(node.args) == 1 and isinstance(node.args[0], Literal):
            value = node.args[0].value
            for overload in FUNCTIONS[node.function]:
                if overload.takes([value]):
                    try:
                        overload.call(value)
                    except EvaluationError:
                        raise self._refuse(f"invalid {node.function} argument", node.args[0].at) from None
        if node.function == "matches" and isinstance(node.operands[-1], Literal):
            pattern = node.operands[-1]
            if isinstance(pattern.value, str):
                try:
                    compiled(pattern.value)
                except EvaluationError:
                    raise self._refuse("invalid matches argument", pattern.at) from None

    def check_formats(self) -> None:
        """Texts and values to format that are both written out must go together."""
        for node in self._formats:
            text, values = node.target, node.args[0]
            if isinstance(text, Literal) and isinstance(text.value, str) and isinstance(values, ListOf):
                letters, problem = call_problems(text.value, len(values.items))
                for letter, item in zip(letters, values.items, strict=False):
                    self._check_formatted(letter, item)
                if problem:
                    raise self._refuse(problem, node.at)

    def _check_formatted(self, letter: str, item: Node) -> None:
        type_ = self.types.resolve(self._types[id(item)], final=True)
        accepted, _ = ACCEPTED[letter.lower()]
        if type_ != DYN and type_.name not in accepted:
            name = "google.protobuf.Any" if type_ == ANY else type_.name
            raise self._refuse(str(unfit(letter, name)), item.at)
        if letter != "s":
            return
        inner = [part for key, value, _ in item.entries for part in (key, value)] if isinstance(item, MapOf) else []
        for one in item.items if isinstance(item, ListOf) else inner:
            self._check_formatted(letter, one)

    def _fits(self, node: Call, params: tuple[Type, ...], result: Type) -> Type:
        given = tuple(self._known(operand) for operand in node.operands)
        *wanted, returned = self.types.renamed((*params, result))
        if not self.types.fit(given, tuple(wanted)):
            raise self._mismatch(node, given)
        return returned

    def _logic(self, node: Call) -> Type:
        return self._fits(node, (BOOL,) * len(node.operands), BOOL)

    def _equality(self, node: Call) -> Type:
        return self._fits(node, (Type("A"), Type("A")), BOOL)

    def _choice(self, node: Call) -> Type:
        return self._fits(node, (BOOL, Type("A"), Type("A")), Type("A"))

    def _alternatives(self, node: Call, alternatives: tuple[tuple[tuple[Type, ...], Type], ...]) -> Type:
        given = tuple(self._known(operand) for operand in node.operands)
        results = []
        for params, result in alternatives:
            *wanted, returned = self.types.renamed((*params, result))
            if self.types.fit(given, tuple(wanted)):
                results.append(self.types.resolve(returned))
        if not results:
            raise self._mismatch(node, given)
        node.settled = len(results) == 1
        return results[0] if all(one == results[0] for one in results) else DYN

    def _index(self, node: Call) -> Type:
        key, value = Type("A"), Type("B")
        return self._alternatives(
            node,
            (
                ((list_of(key), INT), key),
                ((map_of(key, value), key), value),
                ((optional(list_of(key)), INT), optional(key)),
                ((optional(map_of(key, value)), key), optional(value)),
            ),
        )

    def _optional_index(self, node: Call) -> Type:
        key, value = Type("A"), Type("B")
        return self._alternatives(
            node,
            (
                ((list_of(key), INT), optional(key)),
                ((map_of(key, value), key), optional(value)),
                ((optional(list_of(key)), INT), optional(key)),
                ((optional(map_of(key, value)), key), optional(value)),
            ),
        )

    def _within(self, node: Call) -> Type:
        key = Type("A")
        return self._alternatives(node, (((key, list_of(key)), BOOL), ((key, map_of(key, Type("B"))), BOOL)))

    def _optional_select(self, node: Call) -> Type:
        operand = self._known(node.args[0])
        field = node.args[1]
        assert isinstance(field, Literal)
        if operand.name == "optional_type":
            operand = self.types.resolve(operand.of[0])
        return optional(self._field(operand, field.value, node.at))

    # ------------------------------------------------------------------------------------------- lists, maps and folds

    def _list(self, node: ListOf) -> Type:
        items = []
        for index, item in enumerate(node.items):
            items.append((self._unwrapped(item, index in node.optional), item.at))
        return list_of(self._common(items))

    def _map(self, node: MapOf) -> Type:
        keys = [(self._known(key), key.at) for key, _, _ in node.entries]
        values = [(self._unwrapped(value, maybe), value.at) for _, value, maybe in node.entries]
        return map_of(self._common(keys), self._common(values))

    def _unwrapped(self, node: Node, maybe: bool) -> Type:
        type_ = self._known(node)
        if not maybe or is_open(type_):
            return type_
        if type_.name != "optional_type":
            raise self._refuse(f"expected type 'optional_type({type_})' but found '{type_}'", node.at)
        return self.types.resolve(type_.of[0])

    def _common(self, found: list[tuple[Type, int]]) -> Type:
        """The one type of all of them: lists and maps of mixed types are refused."""
        if not found:
            return self.types.fresh()
        first = found[0][0]
        for type_, at in found[1:]:
            same = is_open(first) == is_open(type_) and self.types.fit((type_,), (first,))
            if type_.name == "type":
                same = same and first == type_
            if not same and self._formatting:
                return DYN
            if not same:
                wanted, got = (shown(self.types.resolve(one, final=True)) for one in (first, type_))
                raise self._refuse(f"expected type '{wanted}' but found '{got}'", at)
        return self.types.resolve(first)

    def _fold(self, node: Fold) -> Type:
        over = self._known(node.range)
        accumulator = self.check(node.initial)
        self._scopes.append({node.accumulator: accumulator})
        self._scopes.append(self._variables(node, over))
        condition = self._known(node.condition)
        if not self.types.fit((condition,), (BOOL,)):
            raise self._refuse(f"expected type 'bool' but found '{condition}'", node.condition.at)
        step = self._known(node.step)
        if not self.types.fit((step,), (accumulator,)):
            wanted = self.types.resolve(accumulator, final=True)
            raise self._refuse(f"expected type '{wanted}' but found '{step}'", node.step.at)
        self._scopes.pop()
        result = self.check(node.result)
        self._scopes.pop()
        return result

    def _variables(self, node: Fold, over: Type) -> dict[str, Type]:
        if over.name == "list":
            first, second = (INT, over.of[0]) if node.second else (over.of[0], DYN)
        elif over.name == "map":
            first, second = over.of
        elif over == DYN or over.is_variable:
            first = second = DYN
        else:
            problem = "cannot be range of a comprehension (must be list, map, or dynamic)"
            raise self._refuse(f"expression of type '{over}' {problem}", node.range.at)
        return {node.variable: first, **({node.second: second} if node.second else {})}


_SPECIAL: dict[tuple[str, int], Callable[[Any, Call], Type]] = {
    ("_&&_", 2): _Checker._logic,
    ("_||_", 2): _Checker._logic,
    ("!_", 1): _Checker._logic,
    ("@not_strictly_false", 1): _Checker._logic,
    ("_==_", 2): _Checker._equality,
    ("_!=_", 2): _Checker._equality,
    ("_?_:_", 3): _Checker._choice,
    ("_[_]", 2): _Checker._index,
    ("_[?_]", 2): _Checker._optional_index,
    ("_?._", 2): _Checker._optional_select,
    ("@in", 2): _Checker._within,
}
