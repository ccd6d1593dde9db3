"""YAML and JSON as Kubernetes reads them.

Kubernetes parses with go-yaml v2, which is neither YAML 1.1 nor 1.2: `y`, `yes` and `on` are booleans, `010` and
`0o10` are 8, `1e3` is a number, while `12:30` and dates stay text. Keys become text, as in JSON. Merge keys (`<<`)
take effect where they stand: what comes later in the mapping wins.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import msgspec
import yaml

from moorage.errors import InputError

_TAG = "tag:yaml.org,2002:"
_PLAIN = "moorage:plain"
_TOO_DEEP = "nested too deeply"
_MOST_LEVELS = 1000
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_NUMBER_STARTS = frozenset("0123456789+-.")
_WORDS: Mapping[str, object] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_BASE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BASE_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def load(text: str | bytes, *, strict: bool = False) -> Any:
    """The first document of a YAML text, or a JSON value; None for an empty text.

    Strict refuses keys set twice (by a merge too), and what begins like JSON must be JSON: so Kubernetes reads
    component configuration. Raises InputError with the line.
    """
    text = _as_text(text)
    if looks_like_json(text):
        try:
            return _load_json(text, strict=strict)
        except msgspec.DecodeError as error:
            if strict:
                raise _json_error(text, error) from None
    return next(_documents(text, strict=strict), None)


def load_all(text: str | bytes, *, strict: bool = False) -> list[Any]:
    """Every document of a YAML stream, or every value of a JSON stream; empty documents are left out."""
    text = _as_text(text)
    if looks_like_json(text):
        try:
            return [_load_json(text, strict=strict)]
        except msgspec.DecodeError:
            stream = _json_stream(text, strict=strict)
            if stream is not None:
                return stream
    return [document for document in _documents(text, strict=strict) if document is not None]


def dump(value: Any) -> str:
    """Block-style YAML that Kubernetes and any YAML 1.1 or 1.2 reader take for the same value."""
    tree = msgspec.to_builtins(value, enc_hook=str)
    text = yaml.dump(tree, Dumper=KubeDumper, sort_keys=False, default_flow_style=False, width=4096, allow_unicode=True)
    return str(text)


def looks_like_json(text: str | bytes) -> bool:
    """Whether the text begins as a JSON object or list."""
    return text.lstrip()[:1] in ("{", "[", b"{", b"[")


def resolve_plain(text: str) -> Any:
    """The value of an unquoted scalar: None, a bool, an int, a float, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if text[0] == ".":
        return _float(text)
    bare = text.replace("_", "")
    match = _INTEGER.fullmatch(bare)
    if match is not None:
        number = _integer(match)
        if -(2**63) <= number < 2**63 or (number < 2**64 and not match[1]):
            return number
    value = _float(bare)
    return text if isinstance(value, str) else value


def _integer(match: re.Match[str]) -> int:
    sign, hexadecimal, binary, octal, decimal = match.groups()
    for digits, base in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10)):
        if digits is not None:
            return int(sign + digits, base)
    raise AssertionError("the pattern has no other alternative")


def _float(text: str) -> float | str:
    if _FLOAT.fullmatch(text) is None:
        return text
    value = float(text)
    return text if math.isinf(value) else value


def _as_text(raw: str | bytes) -> str:
    if isinstance(raw, str):
        return raw.removeprefix("\ufeff")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"line {line}: not UTF-8 text") from None


# JSON


def _load_json(text: str, *, strict: bool) -> Any:
    try:
        value = msgspec.json.decode(text)
        if strict:
            _refuse_repeated_names(text)
    except RecursionError:
        raise InputError(_TOO_DEEP) from None
    return value


def _refuse_repeated_names(text: str) -> None:
    """Raise InputError where an object has a name twice. Reading the text as YAML finds the line."""
    repeated: list[str] = []

    def note_repeated(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        repeated.extend(name for index, name in enumerate(names) if name in names[:index])

    json.loads(text, object_pairs_hook=note_repeated)
    if repeated:
        next(_documents(text, strict=True))
        raise InputError(f'key "{repeated[0]}" is already set')


def _json_error(text: str, error: msgspec.DecodeError) -> InputError:
    problem, _, position = str(error).partition(" (byte ")
    byte = int(position.rstrip(")")) if position else len(text)
    line = text.encode()[:byte].count(b"\n") + 1
    return InputError(f"line {line}: {problem}")


def _json_stream(text: str, *, strict: bool) -> list[Any] | None:
    """The values of concatenated JSON, or None where it is not that."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        try:
            value, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError:
            return None
        if strict:
            _refuse_repeated_names(text[position:end])
        values.append(value)
        position = end
    return values


# YAML


class KubeLoader(_BASE_LOADER):  # type: ignore[misc]
    """libyaml's parser, with plain scalars left for resolve_plain to judge."""

    depth = 0

    def descend_resolver(self, _parent: Any, _index: Any) -> None:
        """Called on the way into every node: libyaml's composer has no bound of its own and would crash."""
        self.depth += 1
        if self.depth > _MOST_LEVELS:
            raise InputError(_TOO_DEEP)

    def ascend_resolver(self) -> None:
        """Called on the way out of every node."""
        self.depth -= 1

    def resolve(self, kind: type[yaml.Node], _value: Any, implicit: Any) -> str:
        """Mark plain scalars; quoted ones are text."""
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _TAG + "str"
        return _TAG + ("map" if kind is yaml.MappingNode else "seq")


class KubeDumper(_BASE_DUMPER):  # type: ignore[misc]
    """Quotes text that Kubernetes or a YAML 1.1 reader would take for something else."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """The type a plain scalar would be read as."""
        if kind is yaml.ScalarNode and implicit[0]:
            read = resolve_plain(value)
            if not isinstance(read, str):
                return _TAG + _type_name(read)
        return str(super().resolve(kind, value, implicit))

    def ignore_aliases(self, _data: Any) -> bool:
        """Write shared values out in full: anchors are for people, not for generated files."""
        return True


def _represent_text(dumper: KubeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    node: yaml.Node = dumper.represent_scalar(_TAG + "str", text, style=style)
    return node


KubeDumper.add_representer(str, _represent_text)


def _type_name(value: Any) -> str:
    return {bool: "bool", int: "int", float: "float", type(None): "null"}.get(type(value), "str")


def _documents(text: str, *, strict: bool) -> Iterator[Any]:
    try:
        loader = KubeLoader(text)
        try:
            while loader.check_node():
                yield _Builder(strict).build(loader.get_node())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise InputError(f"{where}{error.problem or error.context}{_cure(error, text)}") from None
    except yaml.reader.ReaderError as error:
        raise InputError(f"character {error.position}: {error.reason}") from None
    except RecursionError:
        raise InputError(_TOO_DEEP) from None


def _cure(error: yaml.MarkedYAMLError, text: str) -> str:
    """What to do about the commonest faults, which the parser words in its own terms."""
    mark = error.problem_mark
    lines = text.splitlines()
    if mark is not None and mark.line < len(lines) and lines[mark.line][mark.column : mark.column + 1] == "\t":
        return ": it is a tab; YAML is indented by spaces"
    if "block" in (error.context or ""):
        return "; is the line indented like those it belongs with?"
    return ""


class _Builder:
    """Turns one document's nodes into plain values; every alias becomes its own copy."""

    # Aliases of aliases grow without bound ("billion laughs"): this many built through aliases is no honest file.
    _MOST_ALIASED = 400_000

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.seen: set[int] = set()
        self.open: set[int] = set()
        self.aliased = 0

    def build(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        if isinstance(node, yaml.SequenceNode):
            with self.inside(node):
                return [self.build(item) for item in node.value]
        mapping: dict[str, Any] = {}
        self.fill(node, mapping)
        return mapping

    @contextmanager
    def inside(self, node: yaml.Node) -> Iterator[None]:
        """Keep track of aliases while a list or mapping is built: no loops, no explosion."""
        identity = id(node)
        if identity in self.open:
            self.fail(node, "the value of an anchor contains itself")
        if identity in self.seen:
            self.aliased += len(node.value) + 1
            if self.aliased > self._MOST_ALIASED:
                self.fail(node, "excessive aliasing")
        self.seen.add(identity)
        self.open.add(identity)
        yield
        self.open.discard(identity)

    def fill(self, node: yaml.Node, mapping: dict[str, Any]) -> None:
        with self.inside(node):
            self.fill_pairs(node, mapping)

    def fill_pairs(self, node: yaml.Node, mapping: dict[str, Any]) -> None:
        for key_node, value_node in node.value:
            if self.is_merge(key_node):
                self.merge(value_node, mapping)
                continue
            key = self.key(key_node)
            if self.strict and key in mapping:
                self.fail(value_node, f'key "{key}" is already set in this mapping')
            mapping[key] = self.build(value_node)

    def merge(self, node: yaml.Node, mapping: dict[str, Any]) -> None:
        # In a list the first mapping wins, so it is laid down last.
        sources = reversed(node.value) if isinstance(node, yaml.SequenceNode) else (node,)
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                self.fail(node, "a merge (<<) takes a mapping or a list of mappings")
            self.fill(source, mapping)

    def key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self.fail(node, "a mapping or a list cannot be a key")
        value = self.scalar(node)
        match value:
            case bool():
                return "true" if value else "false"
            case float():
                return f"{value:g}"
            case None:
                self.fail(node, "null cannot be a key")
        return str(value)

    def scalar(self, node: yaml.ScalarNode) -> Any:
        text: str = node.value
        if node.tag == _PLAIN:
            return resolve_plain(text)
        kind = node.tag.removeprefix(_TAG)
        if kind in ("bool", "int", "float", "null"):
            value = resolve_plain(text)
            if kind == "float" and type(value) is int:
                return float(value)
            if _type_name(value) != kind:
                self.fail(node, f'cannot read "{text}" as !!{kind}')
            return value
        if kind == "binary":
            return self.binary(node)
        return text

    def binary(self, node: yaml.ScalarNode) -> str:
        try:
            return bytes(msgspec.convert("".join(node.value.split()), bytes)).decode()
        except (msgspec.ValidationError, UnicodeDecodeError):
            self.fail(node, "!!binary does not hold base64 of text")

    @staticmethod
    def is_merge(node: yaml.Node) -> bool:
        return isinstance(node, yaml.ScalarNode) and node.value == "<<" and node.tag in (_PLAIN, _TAG + "merge")

    @staticmethod
    def fail(node: yaml.Node, problem: str) -> NoReturn:
        raise InputError(f"line {node.start_mark.line + 1}: {problem}")
