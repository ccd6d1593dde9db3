"""Node selectors and required node affinity: which nodes a pod or a volume may use."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from moorage.errors import InputError
from moorage.objects import (
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
)
from moorage.values import selector as labels_of
from moorage.values.selector import Labels, Requirement, Selector

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")
_NAME_FIELD = "metadata.name"


@dataclass(frozen=True)
class Term:
    """One compiled alternative: requirements on labels and on the node's name, all of which must hold."""

    labels: tuple[Requirement, ...]
    names: tuple[Requirement, ...]

    def matches(self, node_name: str, labels: Labels) -> bool:
        """Whether a node of this name and these labels meets the term."""
        return all(item.matches(labels) for item in self.labels) and all(item.accepts(node_name) for item in self.names)


@dataclass(frozen=True)
class TermSelector:
    """Alternatives, of which one must match. No usable alternative: no node matches."""

    terms: tuple[Term, ...]

    @property
    def only_name(self) -> str | None:
        """The one node that can match by its name, None where it is not that simple."""
        if len(self.terms) != 1 or self.terms[0].labels or len(self.terms[0].names) != 1:
            return None
        (name,) = self.terms[0].names
        return next(iter(name.values)) if name.operator == "In" and len(name.values) == 1 else None

    def matches(self, node_name: str, labels: Labels) -> bool:
        """Whether some term matches the node."""
        return any(term.matches(node_name, labels) for term in self.terms)


@dataclass(frozen=True)
class RequiredNodeAffinity:
    """spec.nodeSelector and the required part of node affinity, compiled together."""

    node_selector: Selector | None
    affinity: TermSelector | None

    @property
    def is_trivial(self) -> bool:
        """Whether every node qualifies."""
        return self.node_selector is None and self.affinity is None

    def matches(self, node_name: str, labels: Labels) -> bool:
        """Whether the node qualifies."""
        if self.node_selector is not None and not self.node_selector.matches(labels):
            return False
        return self.affinity is None or self.affinity.matches(node_name, labels)


def compile_term(term: NodeSelectorTerm, path: str = "") -> Term | None:
    """Compile a term; None for one without any requirement, which matches nothing.

    Raises InputError that names every malformed field below the path.
    """
    if not term.match_expressions and not term.match_fields:
        return None
    labels = _each(term.match_expressions, _label_requirement, labels_of.child(path, "matchExpressions"))
    names = _each(term.match_fields, _field_requirement, labels_of.child(path, "matchFields"))
    if problems := [one for one in (*labels, *names) if isinstance(one, InputError)]:
        raise InputError(labels_of.together(one.problem for one in problems))
    return Term(_compiled(labels), _compiled(names))


_Compile = Callable[[NodeSelectorRequirement, str], Requirement]


def _each(items: Iterable[NodeSelectorRequirement], how: _Compile, path: str) -> list[Requirement | InputError]:
    found: list[Requirement | InputError] = []
    for index, item in enumerate(items):
        try:
            found.append(how(item, f"{path}[{index}]"))
        except InputError as problem:
            found.append(problem)
    return found


def _compiled(found: Iterable[Requirement | InputError]) -> tuple[Requirement, ...]:
    return tuple(one for one in found if isinstance(one, Requirement))


def _label_requirement(item: NodeSelectorRequirement, path: str) -> Requirement:
    _check_operator(item, _LABEL_OPERATORS, path)
    return labels_of.requirement(item.key, item.operator, tuple(item.values), path)


def _field_requirement(item: NodeSelectorRequirement, path: str) -> Requirement:
    """What a field requires of the node's name. QUIRK: fields that cannot be selected count as empty on every node."""
    _check_operator(item, _FIELD_OPERATORS, path)
    if len(item.values) != 1:
        raise InputError(labels_of.invalid(f"{path}.values", tuple(item.values), "must have one element"))
    required = Requirement(item.key, item.operator, frozenset(item.values))
    if item.key == _NAME_FIELD:
        return required
    return Requirement(_NAME_FIELD, "NotIn" if required.accepts("") else "In")


def _check_operator(item: NodeSelectorRequirement, known: tuple[str, ...], path: str) -> None:
    if item.operator not in known:
        raise InputError(labels_of.unsupported(f"{path}.operator", item.operator, known))


def compile_terms(terms: Iterable[NodeSelectorTerm]) -> tuple[Term, ...]:
    """Compile alternatives, leaving out those that match nothing. Raises InputError if any is malformed."""
    return tuple(
        term for _, term in _strictly((f"nodeSelectorTerms[{index}]", 1, term) for index, term in enumerate(terms))
    )


def _strictly(items: Iterable[tuple[str, int, NodeSelectorTerm]]) -> list[tuple[int, Term]]:
    found, problems = [], []
    for path, weight, term in items:
        try:
            compiled = compile_term(term, path)
        except InputError as problem:
            problems.append(problem.problem)
            continue
        if compiled is not None:
            found.append((weight, compiled))
    if problems:
        raise InputError(labels_of.together(problems))
    return found


def compile_node_selector(selector: NodeSelector) -> TermSelector:
    """Compile the alternatives. A malformed one can never match, as in kube-scheduler; the others stand."""
    return TermSelector(tuple(_usable(selector.node_selector_terms)))


def compile_preferred(wishes: Iterable[PreferredSchedulingTerm]) -> tuple[tuple[int, Term], ...]:
    """Compile weighted wishes, leaving out those without weight or terms. Raises InputError if one is malformed."""
    wanted = ((f"[{index}]", wish.weight, wish.preference) for index, wish in enumerate(wishes) if wish.weight)
    return tuple(_strictly(wanted))


def required_node_affinity(pod: Pod) -> RequiredNodeAffinity:
    """What the pod's spec requires of a node's labels and name."""
    spec = pod.spec
    wanted = labels_of.from_labels(spec.node_selector) if spec.node_selector else None
    affinity = spec.affinity.node_affinity if spec.affinity else None
    return RequiredNodeAffinity(wanted, required_terms(affinity))


def required_terms(affinity: NodeAffinity | None) -> TermSelector | None:
    """The compiled required part of a node affinity, None where it has none."""
    if affinity is None or affinity.required_during_scheduling_ignored_during_execution is None:
        return None
    return compile_node_selector(affinity.required_during_scheduling_ignored_during_execution)


def _usable(terms: Iterable[NodeSelectorTerm]) -> Iterable[Term]:
    for term in terms:
        try:
            compiled = compile_term(term)
        except InputError:
            continue
        if compiled is not None:
            yield compiled
