"""Label selectors, compiled once into predicates over label maps."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

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
        _check_names(key, (value,))
    expressions = tuple(_label_requirement(item) for item in selector.match_expressions)
    return Selector(_equalities(selector.match_labels) + expressions)


def compile_requirement(item: LabelSelectorRequirement, operators: Mapping[str, Callable[[int], bool]]) -> Requirement:
    """Compile one expression, given which operators are allowed and how many values each takes."""
    takes = operators.get(item.operator)
    if takes is None:
        raise InputError(f'"{item.operator}" is not a valid operator; expected one of {", ".join(operators)}')
    if not takes(len(item.values)):
        raise InputError(f'operator "{item.operator}" does not take {len(item.values)} values (key "{item.key}")')
    if item.operator in ("Gt", "Lt") and parse_int64(item.values[0]) is None:
        raise InputError(f'operator "{item.operator}" takes an integer, not "{item.values[0]}" (key "{item.key}")')
    _check_names(item.key, item.values)
    return Requirement(item.key, item.operator, frozenset(item.values))


def _check_names(key: str, values: Iterable[str]) -> None:
    """Raises InputError for what can be no label: kube-scheduler takes a selector that names such a one for broken."""
    for name, problems in ((key, label_key_problems(key)), *((one, label_value_problems(one)) for one in values)):
        if problems:
            raise InputError(f'"{name}" (key "{key}"): {problems[0]}')


def some(count: int) -> bool:
    """At least one value."""
    return count > 0


def none(count: int) -> bool:
    """No value."""
    return count == 0


def one(count: int) -> bool:
    """Exactly one value."""
    return count == 1


_LABEL_OPERATORS: Mapping[str, Callable[[int], bool]] = {
    "In": some,
    "NotIn": some,
    "Exists": none,
    "DoesNotExist": none,
}


def parse_int64(text: str) -> int | None:
    """A base-10 integer as Go's ParseInt reads it, or None."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _label_requirement(item: LabelSelectorRequirement) -> Requirement:
    return compile_requirement(item, _LABEL_OPERATORS)


def _equalities(labels: Labels) -> tuple[Requirement, ...]:
    return tuple(Requirement(key, "In", frozenset((value,))) for key, value in sorted(labels.items()))
