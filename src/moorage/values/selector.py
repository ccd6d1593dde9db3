"""Label selectors, compiled once into predicates over label maps."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from moorage.errors import InputError
from moorage.objects import LabelSelector, LabelSelectorRequirement
from moorage.values.names import label_key_problems, label_value_problems

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Requirement:
    """One condition on one label. Values are a set; Gt and Lt compare against a single integer."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Labels) -> bool:
        """Whether the label map meets the condition. NotIn and DoesNotExist hold where the key is absent."""
        return self.accepts(labels.get(self.key))

    def accepts(self, value: str | None) -> bool:
        """The same for the label's value alone; None means the label is absent."""
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        number = parse_int64(value)
        if number is None:
            return False
        return number > self._bound if self.operator == "Gt" else number < self._bound

    @cached_property
    def _bound(self) -> int:
        bound = parse_int64(next(iter(self.values)))
        assert bound is not None, "checked when the requirement was compiled"
        return bound


@dataclass(frozen=True)
class Selector:
    """All requirements must hold; `nothing` matches no labels whatever the requirements."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing at all and so matches everything."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Labels) -> bool:
        """Whether the label map meets every requirement."""
        if self.nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def and_labels(self, labels: Labels) -> "Selector":
        """This selector with equality on further labels. One that matches nothing stays so."""
        if self.nothing:
            return self
        return Selector(_equalities(labels) + self.requirements)


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)


def from_labels(labels: Labels) -> Selector:
    """Equality with each of these labels."""
    return Selector(_equalities(labels))


def compile_selector(selector: LabelSelector | None) -> Selector:
    """Compile an API selector: absent matches nothing, empty everything. Raises InputError on what is malformed."""
    if selector is None:
        return NOTHING
    for key, value in selector.match_labels.items():
        requirement(key, "In", (value,))
    expressions = tuple(_label_requirement(item) for item in selector.match_expressions)
    return Selector(_equalities(selector.match_labels) + expressions)


def requirement(key: str, operator: str, values: tuple[str, ...], path: str = "") -> Requirement:
    """One condition, by an operator that exists. Raises InputError in kube-scheduler's words, led by the field path."""
    of_values = child(path, "values")
    problems = []
    if wrong := label_key_problems(key):
        problems.append(invalid(child(path, "key"), key, "; ".join(wrong)))
    if wants := _WANTS.get(operator):
        count_is_right, rule = wants
        if not count_is_right(len(values)):
            problems.append(invalid(of_values, values, rule))
    if operator in _COMPARING:
        problems += [
            invalid(f"{of_values}[{index}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
            for index, value in enumerate(values)
            if parse_int64(value) is None
        ]
    for index, value in enumerate(values):
        if wrong := label_value_problems(value):
            problems.append(invalid(f"{of_values}[{index}][{key}]", value, "; ".join(wrong)))
    if problems:
        raise InputError(together(problems))
    return Requirement(key, operator, frozenset(values))


def child(path: str, name: str) -> str:
    """The path of a field within another."""
    return f"{path}.{name}" if path else name


def invalid(path: str, value: str | tuple[str, ...], rule: str) -> str:
    """What Kubernetes says of a field whose value breaks a rule."""
    return f"{path}: Invalid value: {_shown(value)}: {rule}"


def unsupported(path: str, value: str, known: Iterable[str]) -> str:
    """What Kubernetes says of a field whose value is none of those there are."""
    return f"{path}: Unsupported value: {_shown(value)}: supported values: {', '.join(map(_shown, known))}"


def together(problems: Iterable[str]) -> str:
    """Several problems as one text, each told once."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _shown(value: str | tuple[str, ...]) -> str:
    # Go writes a list that is not there as null, and what could be a tag escaped.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value or value == "" else "null"
    return text if isinstance(value, str) else text.translate(_ESCAPED)


_ESCAPED: Final = {ord(one): f"\\u{ord(one):04x}" for one in "<>&"}
_COMPARING: Final = ("Gt", "Lt")
_SOME = (lambda count: count > 0, "for 'in', 'notin' operators, values set can't be empty")
_NONE = (lambda count: count == 0, "values set must be empty for exists and does not exist")
_ONE = (lambda count: count == 1, "for 'Gt', 'Lt' operators, exactly one value is required")
#: How many values an operator takes, and the rule in words.
_WANTS: Final[Mapping[str, tuple[Callable[[int], bool], str]]] = {
    "In": _SOME,
    "NotIn": _SOME,
    "Exists": _NONE,
    "DoesNotExist": _NONE,
    "Gt": _ONE,
    "Lt": _ONE,
}


def parse_int64(text: str) -> int | None:
    """A base-10 integer as Go's ParseInt reads it, or None."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _label_requirement(item: LabelSelectorRequirement) -> Requirement:
    if item.operator not in _WANTS or item.operator in _COMPARING:
        raise InputError(f"{_shown(item.operator)} is not a valid label selector operator")
    return requirement(item.key, item.operator, tuple(item.values))


def _equalities(labels: Labels) -> tuple[Requirement, ...]:
    return tuple(Requirement(key, "In", frozenset((value,))) for key, value in sorted(labels.items()))
