"""Macros: calls that the parser replaces by folds and tests before anything is checked."""

from collections.abc import Callable

from moorage.cel.syntax import Call, Fold, Ident, ListOf, Literal, MapOf, Node, Select

#: Raises CompileError: (problem, where).
Refuse = Callable[[str, int], Exception]

ACCUMULATOR = "@result"
UNUSED = "#unused"


def expand(call: Call, refuse: Refuse) -> Node | None:
    """What a call stands for if it is a macro, else None."""
    function, args, target = call.function, call.args, call.target
    if target is None:
        return _has(call, refuse) if function == "has" and len(args) == 1 else None
    if isinstance(target, Ident) and target.name == "cel" and function == "bind" and len(args) == 3:
        name = _name(args[0], refuse, "cel.bind() variable names must be simple identifiers")
        return bind(call.at, name, args[1], args[2])
    macro = _MEMBERS.get((function, len(args)))
    return macro(call, target, refuse) if macro is not None else None


def bind(at: int, name: str, value: Node, body: Node) -> Fold:
    """Give a value a name: a fold over nothing."""
    return Fold(at, ListOf(at, []), UNUSED, "", name, value, Literal(at, False), Ident(at, name), body)


def _has(call: Call, refuse: Refuse) -> Node:
    operand = call.args[0]
    if not isinstance(operand, Select) or operand.test_only:
        raise refuse("invalid argument to has() macro", operand.at)
    return Select(call.at, operand.operand, operand.field, test_only=True)


def _name(node: Node, refuse: Refuse, problem: str = "argument must be a simple name") -> str:
    if not isinstance(node, Ident) or node.name.startswith("."):
        raise refuse(problem, node.at)
    return node.name


def _fold(call: Call, target: Node, names: tuple[str, str], initial: Node, condition: Node, step: Node) -> Fold:
    accumulator = Ident(call.at, ACCUMULATOR)
    return Fold(call.at, target, *names, ACCUMULATOR, initial, condition, step, accumulator)


def _variables(call: Call, refuse: Refuse, count: int) -> tuple[str, str]:
    names = [_name(arg, refuse) for arg in call.args[:count]]
    if count == 2 and names[0] == names[1]:
        raise refuse("duplicate variable name", call.args[1].at)
    return names[0], names[1] if count == 2 else ""


def _all(count: int) -> "Macro":
    def macro(call: Call, target: Node, refuse: Refuse) -> Node:
        at, so_far = call.at, Ident(call.at, ACCUMULATOR)
        condition = Call(at, "@not_strictly_false", [so_far])
        step = Call(at, "_&&_", [so_far, call.args[count]])
        return _fold(call, target, _variables(call, refuse, count), Literal(at, True), condition, step)

    return macro


def _exists(count: int) -> "Macro":
    def macro(call: Call, target: Node, refuse: Refuse) -> Node:
        at, so_far = call.at, Ident(call.at, ACCUMULATOR)
        condition = Call(at, "@not_strictly_false", [Call(at, "!_", [so_far])])
        step = Call(at, "_||_", [so_far, call.args[count]])
        return _fold(call, target, _variables(call, refuse, count), Literal(at, False), condition, step)

    return macro


def _exists_one(count: int) -> "Macro":
    def macro(call: Call, target: Node, refuse: Refuse) -> Node:
        at, so_far = call.at, Ident(call.at, ACCUMULATOR)
        one_more = Call(at, "_+_", [so_far, Literal(at, 1)])
        step = Call(at, "_?_:_", [call.args[count], one_more, so_far])
        fold = _fold(call, target, _variables(call, refuse, count), Literal(at, 0), Literal(at, True), step)
        fold.result = Call(at, "_==_", [so_far, Literal(at, 1)])
        return fold

    return macro


def _listing(count: int, *, filtered: bool) -> "Macro":
    """`map` and `transformList`, with or without a filter before the element's new value."""

    def macro(call: Call, target: Node, refuse: Refuse) -> Node:
        return _collect(call, target, refuse, count, call.args[-1], call.args[count] if filtered else None)

    return macro


def _filter(call: Call, target: Node, refuse: Refuse) -> Node:
    return _collect(call, target, refuse, 1, call.args[0], call.args[1])


def _collect(call: Call, target: Node, refuse: Refuse, count: int, item: Node, only_if: Node | None) -> Node:
    at, so_far = call.at, Ident(call.at, ACCUMULATOR)
    step: Node = Call(at, "_+_", [so_far, ListOf(at, [item])])
    if only_if is not None:
        step = Call(at, "_?_:_", [only_if, step, so_far])
    return _fold(call, target, _variables(call, refuse, count), ListOf(at, []), Literal(at, True), step)


def _mapping(*, entry: bool, filtered: bool) -> "Macro":
    """`transformMap` and `transformMapEntry`."""

    def macro(call: Call, target: Node, refuse: Refuse) -> Node:
        at, so_far = call.at, Ident(call.at, ACCUMULATOR)
        names = _variables(call, refuse, 2)
        inserted: list[Node] = [so_far, call.args[-1]] if entry else [so_far, Ident(at, names[0]), call.args[-1]]
        step: Node = Call(at, "cel.@mapInsert", inserted)
        if filtered:
            step = Call(at, "_?_:_", [call.args[2], step, so_far])
        return _fold(call, target, names, MapOf(at), Literal(at, True), step)

    return macro


def _opt_map(call: Call, target: Node, refuse: Refuse) -> Node:
    value = _if_present(call, target, refuse)
    return _or_none(call, target, Call(call.at, "optional.of", [value]))


def _opt_flat_map(call: Call, target: Node, refuse: Refuse) -> Node:
    return _or_none(call, target, _if_present(call, target, refuse))


def _if_present(call: Call, target: Node, refuse: Refuse) -> Node:
    name = _name(call.args[0], refuse, "optMap() variable name must be a simple identifier")
    return bind(call.at, name, Call(call.at, "value", [], target), call.args[1])


def _or_none(call: Call, target: Node, value: Node) -> Node:
    present = Call(call.at, "hasValue", [], target)
    return Call(call.at, "_?_:_", [present, value, Call(call.at, "optional.none", [])])


def _sort_by(call: Call, target: Node, refuse: Refuse) -> Node:
    at, name = call.at, "@__sortBy_input__"
    _name(call.args[0], refuse, "sortBy can only be applied to a list, identifier, comprehension, call or select")
    keys = _collect(Call(at, "map", call.args, Ident(at, name)), Ident(at, name), refuse, 1, call.args[1], None)
    return bind(at, name, target, Call(at, "@sortByAssociatedKeys", [keys], Ident(at, name)))


Macro = Callable[[Call, Node, Refuse], Node]

_MEMBERS: dict[tuple[str, int], Macro] = {
    ("all", 2): _all(1),
    ("all", 3): _all(2),
    ("exists", 2): _exists(1),
    ("exists", 3): _exists(2),
    ("exists_one", 2): _exists_one(1),
    ("existsOne", 2): _exists_one(1),
    ("existsOne", 3): _exists_one(2),
    ("exists_one", 3): _exists_one(2),
    ("map", 2): _listing(1, filtered=False),
    ("map", 3): _listing(1, filtered=True),
    ("filter", 2): _filter,
    ("transformList", 3): _listing(2, filtered=False),
    ("transformList", 4): _listing(2, filtered=True),
    ("transformMap", 3): _mapping(entry=False, filtered=False),
    ("transformMap", 4): _mapping(entry=False, filtered=True),
    ("transformMapEntry", 3): _mapping(entry=True, filtered=False),
    ("transformMapEntry", 4): _mapping(entry=True, filtered=True),
    ("optMap", 2): _opt_map,
    ("optFlatMap", 2): _opt_flat_map,
    ("sortBy", 2): _sort_by,
}
