"""From tokens to a tree."""

from typing import NoReturn

from moorage.cel.errors import CompileError
from moorage.cel.lexing import RESERVED, Token, tokens
from moorage.cel.macros import expand
from moorage.cel.syntax import Call, Ident, ListOf, Literal, MapOf, Node, Select
from moorage.cel.values import MAX_INT, MAX_UINT, UInt

MAX_DEPTH = 250
_RELATIONS = {"<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "==": "_==_", "!=": "_!=_", "in": "@in"}
_SUMS = {"+": "_+_", "-": "_-_"}
_PRODUCTS = {"*": "_*_", "/": "_/_", "%": "_%_"}


def parse(source: str) -> Node:
    """The tree of an expression, macros expanded. Raises CompileError."""
    parser = _Parser(source)
    node = parser.expression()
    if parser.token.kind != "end":
        parser.unexpected("<EOF>")
    return node


class _Parser:
    """One pass over the tokens, by recursive descent."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = tokens(source)
        self._next = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        """The token to look at."""
        return self._tokens[self._next]

    def unexpected(self, wanted: str) -> NoReturn:
        """Refuse the token at hand."""
        raise self._refuse(f"Syntax error: mismatched input '{self.token.value}' expecting {wanted}", self.token.at)

    def expression(self) -> Node:
        """Anything: a choice, or what binds tighter."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._refuse("expression recursion limit exceeded", self.token.at)
        node = self._either()
        if self.token.kind == "?":
            at = self._take().at
            yes = self._either()
            self._expect(":")
            node = Call(at, "_?_:_", [node, yes, self.expression()])
        self._depth -= 1
        return node

    def _refuse(self, problem: str, at: int) -> CompileError:
        return CompileError(problem, self._source, at)

    def _take(self) -> Token:
        token = self.token
        self._next += 1
        return token

    def _expect(self, kind: str) -> Token:
        if self.token.kind != kind:
            self.unexpected(f"'{kind}'")
        return self._take()

    def _accept(self, kind: str) -> bool:
        if self.token.kind != kind:
            return False
        self._next += 1
        return True

    def _either(self) -> Node:
        node = self._both()
        while self.token.kind == "||":
            node = Call(self._take().at, "_||_", [node, self._both()])
        return node

    def _both(self) -> Node:
        node = self._relation()
        while self.token.kind == "&&":
            node = Call(self._take().at, "_&&_", [node, self._relation()])
        return node

    def _relation(self) -> Node:
        node = self._sum()
        while self.token.kind in _RELATIONS:
            token = self._take()
            node = Call(token.at, _RELATIONS[token.kind], [node, self._sum()])
        return node

    def _sum(self) -> Node:
        node = self._product()
        while self.token.kind in _SUMS:
            token = self._take()
            node = Call(token.at, _SUMS[token.kind], [node, self._product()])
        return node

    def _product(self) -> Node:
        node = self._unary()
        while self.token.kind in _PRODUCTS:
            token = self._take()
            node = Call(token.at, _PRODUCTS[token.kind], [node, self._unary()])
        return node

    def _unary(self) -> Node:
        sign = self.token
        if sign.kind not in ("!", "-"):
            return self._member()
        count = 0
        while self._accept(sign.kind):
            count += 1
        if sign.kind == "-" and count == 1 and self.token.kind == "literal" and type(self.token.value) in (int, float):
            # The sign belongs to the number: the smallest one has no positive twin.
            return self._member(sign=sign)
        node = self._member()
        return Call(sign.at, "!_" if sign.kind == "!" else "-_", [node]) if count % 2 else node

    def _member(self, *, sign: Token | None = None) -> Node:
        node = self._literal(sign) if sign is not None else self._primary()
        while True:
            token = self.token
            if token.kind == ".":
                node = self._selected(node)
            elif token.kind == "[":
                self._take()
                optional = self._accept("?")
                node = Call(token.at, "_[?_]" if optional else "_[_]", [node, self.expression()])
                self._expect("]")
            elif token.kind == "{" and isinstance(node, Ident | Select) and _is_path(node):
                raise self._refuse(f"undeclared reference to '{_path(node)}' (in container '')", token.at)
            else:
                return node

    def _selected(self, operand: Node) -> Node:
        dot = self._take()
        optional = self._accept("?")
        name = self._expect("name").value
        if optional:
            return Call(dot.at, "_?._", [operand, Literal(dot.at, name)])
        if self.token.kind != "(":
            return Select(dot.at, operand, name)
        at = self._take().at
        return self._called(Call(at, name, self._items(")"), operand))

    def _called(self, call: Call) -> Node:
        expanded = expand(call, self._refuse)
        return call if expanded is None else expanded

    def _primary(self) -> Node:
        token = self.token
        match token.kind:
            case "literal":
                return self._literal()
            case "name":
                return self._named("")
            case ".":
                self._take()
                return self._named(".")
            case "(":
                self._take()
                node = self.expression()
                if self.token.kind != ")":
                    raise self._refuse(f"Syntax error: missing ')' at '{self.token.value}'", self.token.at)
                self._take()
                return node
            case "[":
                return self._list()
            case "{":
                return self._map()
        return self.unexpected("an operand")

    def _named(self, prefix: str) -> Node:
        token = self._expect("name")
        if token.value in RESERVED:
            raise self._refuse(f"reserved identifier: {token.value}", token.at)
        if self.token.kind != "(":
            return Ident(token.at, prefix + token.value)
        at = self._take().at
        return self._called(Call(at, token.value, self._items(")")))

    def _literal(self, sign: Token | None = None) -> Node:
        token = self._take()
        value = -token.value if sign is not None else token.value
        if (type(value) is int and value > MAX_INT) or (value.__class__ is int and value < -MAX_INT - 1):
            raise self._refuse("invalid int literal", token.at)
        if type(value) is UInt and value > MAX_UINT:
            raise self._refuse("invalid uint literal", token.at)
        return Literal(token.at if sign is None else sign.at, value)

    def _items(self, closing: str) -> list[Node]:
        items: list[Node] = []
        while not self._accept(closing):
            if items:
                self._expect(",")
            items.append(self.expression())
        return items

    def _list(self) -> Node:
        at = self._take().at
        items: list[Node] = []
        optional = set()
        while not self._accept("]"):
            if self._accept("?"):
                optional.add(len(items))
            items.append(self.expression())
            if self.token.kind != "]":
                self._expect(",")
        return ListOf(at, items, frozenset(optional))

    def _map(self) -> Node:
        node = MapOf(self._take().at)
        while not self._accept("}"):
            optional = self._accept("?")
            key = self.expression()
            self._expect(":")
            node.entries.append((key, self.expression(), optional))
            if self.token.kind != "}":
                self._expect(",")
        return node


def _is_path(node: Node) -> bool:
    return isinstance(node, Ident) or (isinstance(node, Select) and _is_path(node.operand))


def _path(node: Node) -> str:
    if isinstance(node, Select):
        return f"{_path(node.operand)}.{node.field}"
    assert isinstance(node, Ident)
    return node.name
