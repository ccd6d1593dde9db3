"""Label and field selectors as they come in queries, and matching items with them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from moorage.apiserver import status
from moorage.apiserver.history import Item, Json
from moorage.values.selector import EVERYTHING, Requirement, Selector, parse_int64

_TOKEN = re.compile(r"\s*(!=|==|=|!|<|>|\(|\)|,|[^\s!=<>(),]+)")
_SYMBOLS = frozenset({"!=", "==", "=", "!", "<", ">", "(", ")", ","})
_KEY = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def parse_labels(text: str) -> Selector:
    """A label selector: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>3`. Refuses garbage with 400."""
    if not text.strip():
        return EVERYTHING
    return Selector(tuple(_LabelParser(text).requirements()))


class _LabelParser:
    """Reads requirements from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise self.error(f"unexpected {text[position]!r}")
            self.tokens.append(match[1])
            position = match.end()
        self.position = 0

    def error(self, why: str) -> status.Refusal:
        return status.bad_request(f"unable to parse requirement: {why} in label selector {self.text!r}")

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.position += 1
        return token

    def requirements(self) -> list[Requirement]:
        found = [self.requirement()]
        while self.peek():
            if self.next() != ",":
                raise self.error("found no ',' between requirements")
            found.append(self.requirement())
        return found

    def requirement(self) -> Requirement:
        if self.peek() == "!":
            self.next()
            return Requirement(self.key(), "DoesNotExist")
        key, operator = self.key(), self.peek()
        if operator in ("", ","):
            return Requirement(key, "Exists")
        self.next()
        if operator in ("=", "=="):
            return Requirement(key, "In", frozenset((self.value(),)))
        if operator == "!=":
            return Requirement(key, "NotIn", frozenset((self.value(),)))
        if operator in ("in", "notin"):
            return Requirement(key, "In" if operator == "in" else "NotIn", self.values())
        if operator in ("<", ">"):
            return Requirement(key, "Gt" if operator == ">" else "Lt", frozenset((self.integer(),)))
        raise self.error(f"found {operator!r}, expected: in, notin, =, ==, !=, gt, lt")

    def key(self) -> str:
        key = self.next()
        if not _KEY.fullmatch(key):
            raise self.error(f"invalid label key {key!r}")
        return key

    def value(self) -> str:
        if self.peek() in ("", ",", ")"):
            return ""
        value = self.next()
        if not _VALUE.fullmatch(value):
            raise self.error(f"invalid label value {value!r}")
        return value

    def integer(self) -> str:
        value = self.value()
        if parse_int64(value) is None:
            raise self.error("for 'Gt', 'Lt' operators, the value must be an integer")
        return value

    def values(self) -> frozenset[str]:
        if self.next() != "(":
            raise self.error("expected '('")
        found = {self.value()}
        while (token := self.next()) == ",":
            found.add(self.value())
        if token != ")":
            raise self.error("expected ',' or ')'")
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """`field=value` or `field!=value`."""

    field: str
    value: str
    is_equal: bool = True


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """A field selector: `spec.nodeName=n1,status.phase!=Failed`. Refuses garbage with 400."""
    terms = []
    for part in re.findall(r"(?:[^,\\]|\\.)+", text):
        match = re.fullmatch(r"\s*([^=!\s]+)\s*(!=|==|=)((?:[^=\\]|\\.)*)", part, re.S)
        if match is None:
            raise status.bad_request(f"invalid selector: {text!r}; can't understand {part!r}")
        value = re.sub(r"\\([\\,=])", r"\1", match[3])
        terms.append(FieldTerm(match[1], value, match[2] != "!="))
    return tuple(terms)


class Matcher:
    """A label selector and a field selector over items of one collection."""

    def __init__(self, labels: Selector, terms: Sequence[FieldTerm], field_names: Sequence[str]) -> None:
        self.labels = labels
        self._tests: list[tuple[int, str, bool]] = []
        for term in terms:
            self._tests.append((_position(term.field, field_names), term.value, term.is_equal))

    @property
    def is_everything(self) -> bool:
        """Whether no item is left out."""
        return not self._tests and self.labels.is_empty

    @property
    def equality(self) -> tuple[int, str] | None:
        """A field that must equal a value, for histories that can follow just that: (position, value)."""
        return next(((p, value) for p, value, is_equal in self._tests if is_equal and p >= 0), None)

    @property
    def name(self) -> str | None:
        """The one name that matches, if `metadata.name=` is asked for."""
        return next((value for p, value, is_equal in self._tests if is_equal and p == _NAME), None)

    def matches(self, item: Item) -> bool:
        """Whether the item is selected."""
        for position, value, is_equal in self._tests:
            if (_field(item, position) == value) is not is_equal:
                return False
        return self.labels.is_empty or self.labels.matches(item.labels)


_NAME, _NAMESPACE = -1, -2


def _position(field: str, names: Sequence[str]) -> int:
    if field == "metadata.name":
        return _NAME
    if field == "metadata.namespace":
        return _NAMESPACE
    if field in names:
        return list(names).index(field)
    raise status.bad_request(f"field label not supported: {field}")


def _field(item: Item, position: int) -> str:
    if position >= 0:
        return item.fields[position]
    return item.name if position == _NAME else item.namespace


#: Fields that selectors may name beside metadata.name and metadata.namespace, by stored resource.
SELECTABLE: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "replicationcontrollers": ("status.replicas",),
    "replicasets.apps": ("status.replicas",),
    "jobs.batch": ("status.successful",),
    "certificatesigningrequests.certificates.k8s.io": ("spec.signerName",),
    "resourceslices.resource.k8s.io": ("spec.nodeName", "spec.driver"),
}
#: Where the value is not at the path of the same name.
_ELSEWHERE = {"status.successful": ("status", "succeeded"), "source": ("source", "component")}
#: What an absent value counts as.
_ABSENT = {
    "spec.hostNetwork": "false",
    "spec.unschedulable": "false",
    "status.replicas": "0",
    "status.successful": "0",
}


class FieldPaths:
    """Paths into an object, read as the strings that field selectors compare."""

    def __init__(self, names: Sequence[str]) -> None:
        self._paths = [(_ELSEWHERE.get(n) or tuple(n.split(".")), _ABSENT.get(n, "")) for n in names]

    def __call__(self, obj: Json) -> tuple[str, ...]:
        return tuple(_read(obj, path, absent) for path, absent in self._paths)


def _read(obj: Json, path: tuple[str, ...], absent: str) -> str:
    value: object = obj
    for step in path:
        if not isinstance(value, dict):
            return absent
        value = value.get(step)
    if value is None:
        return absent
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
