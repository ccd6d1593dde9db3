"""Rules for what steers scheduling: affinity, spreading, tolerations, taints, node selectors."""

from typing import Any

from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.metadata import dns_label, label_value
from moorage.apiserver.validation.rules import label_key, label_selector, one_of, requirement
from moorage.values.selector import parse_int64

Json = dict[str, Any]

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_tolerations(tolerations: list[Json], path: str, faults: Faults) -> None:
    """Each toleration on its own."""
    for position, toleration in enumerate(tolerations):
        _validate_toleration(toleration, f"{path}[{position}]", faults)


def _validate_toleration(toleration: Json, path: str, faults: Faults) -> None:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        label_key(key, f"{path}.key", faults)
    elif operator != "Exists":
        faults.invalid(
            f"{path}.operator",
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        )
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        faults.invalid(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator in ("", "Equal"):
        if problem := label_value(value):
            faults.invalid(f"{path}.operator", value, problem)
    elif operator == "Exists":
        if value:
            faults.invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("Lt", "Gt"):
        if parse_int64(value) is None:
            faults.invalid(f"{path}.value", value, "must be a valid decimal integer")
    else:
        faults.not_supported(f"{path}.operator", operator, ("Equal", "Exists"))
    one_of(effect, EFFECTS, f"{path}.effect", faults)


def validate_taints(taints: list[Json], path: str, faults: Faults) -> None:
    """Each taint on its own, and no two alike."""
    seen = set()
    for position, taint in enumerate(taints):
        here = f"{path}[{position}]"
        label_key(taint.get("key", ""), f"{here}.key", faults)
        if problem := label_value(taint.get("value", "")):
            faults.invalid(f"{here}.value", taint.get("value", ""), problem)
        one_of(taint.get("effect"), EFFECTS, f"{here}.effect", faults, required=True)
        identity = (taint.get("key"), taint.get("effect"))
        if identity in seen:
            faults.duplicate(here, taint)
        seen.add(identity)


def validate_affinity(affinity: Json, path: str, faults: Faults) -> None:
    """Node affinity, pod affinity and anti-affinity."""
    if "nodeAffinity" in affinity:
        _validate_node_affinity(affinity["nodeAffinity"], f"{path}.nodeAffinity", faults)
    for name in ("podAffinity", "podAntiAffinity"):
        if name in affinity:
            _validate_pod_affinity(affinity[name], f"{path}.{name}", faults)


def _validate_node_affinity(rules: Json, path: str, faults: Faults) -> None:
    if _REQUIRED in rules:
        validate_node_selector(rules[_REQUIRED], f"{path}.{_REQUIRED}", faults)
    for position, preference in enumerate(rules.get(_PREFERRED, ())):
        here = f"{path}.{_PREFERRED}[{position}]"
        _validate_weight(preference, here, faults)
        validate_node_selector_term(preference.get("preference", {}), f"{here}.preference", faults)


def _validate_weight(preference: Json, path: str, faults: Faults) -> None:
    weight = preference.get("weight", 0)
    if not 1 <= weight <= 100:
        faults.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def validate_node_selector(selector: Json, path: str, faults: Faults) -> None:
    """At least one term."""
    terms = selector.get("nodeSelectorTerms", [])
    if not terms:
        faults.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for position, term in enumerate(terms):
        validate_node_selector_term(term, f"{path}.nodeSelectorTerms[{position}]", faults)


def validate_node_selector_term(term: Json, path: str, faults: Faults) -> None:
    """Expressions over labels, and over the name."""
    for position, expression in enumerate(term.get("matchExpressions", ())):
        requirement(expression, f"{path}.matchExpressions[{position}]", faults, compares=True)
    for position, expression in enumerate(term.get("matchFields", ())):
        _validate_field_requirement(expression, f"{path}.matchFields[{position}]", faults)


def _validate_field_requirement(expression: Json, path: str, faults: Faults) -> None:
    operator, values = expression.get("operator", ""), expression.get("values", [])
    if operator not in ("In", "NotIn"):
        faults.invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        faults.required(
            f"{path}.values",
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )
    if expression.get("key") != "metadata.name":
        faults.invalid(f"{path}.key", expression.get("key", ""), "not a valid field selector key")


def _validate_pod_affinity(rules: Json, path: str, faults: Faults) -> None:
    for position, term in enumerate(rules.get(_REQUIRED, ())):
        _validate_term(term, f"{path}.{_REQUIRED}[{position}]", faults)
    for position, preference in enumerate(rules.get(_PREFERRED, ())):
        here = f"{path}.{_PREFERRED}[{position}]"
        _validate_weight(preference, here, faults)
        _validate_term(preference.get("podAffinityTerm", {}), f"{here}.podAffinityTerm", faults)


def _validate_term(term: Json, path: str, faults: Faults) -> None:
    label_selector(term.get("labelSelector"), f"{path}.labelSelector", faults)
    label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector", faults)
    for name in term.get("namespaces", ()):
        if problem := dns_label(name):
            faults.invalid(f"{path}.namespace", name, problem)
    _validate_label_keys(term, path, faults)
    if not term.get("topologyKey"):
        faults.required(f"{path}.topologyKey", "can not be empty")
    label_key(term.get("topologyKey", ""), f"{path}.topologyKey", faults)


def _validate_label_keys(term: Json, path: str, faults: Faults) -> None:
    match, mismatch = term.get("matchLabelKeys", []), term.get("mismatchLabelKeys", [])
    for field, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and "labelSelector" not in term:
            faults.forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set")
        for position, key in enumerate(keys):
            label_key(key, f"{path}.{field}[{position}]", faults)
    for position, key in enumerate(match):
        if key in mismatch:
            faults.invalid(
                f"{path}.matchLabelKeys[{position}]", key, "exists in both matchLabelKeys and mismatchLabelKeys"
            )


def validate_spread(constraints: list[Json], path: str, faults: Faults) -> None:
    """Topology spread constraints: each on its own, and no two alike."""
    kinds = [(constraint.get("topologyKey"), constraint.get("whenUnsatisfiable", "")) for constraint in constraints]
    for position, constraint in enumerate(constraints):
        here = f"{path}[{position}]"
        skew, action = constraint.get("maxSkew", 0), constraint.get("whenUnsatisfiable", "")
        if skew <= 0:
            faults.invalid(f"{here}.maxSkew", skew, "must be greater than zero")
        if not constraint.get("topologyKey"):
            faults.required(f"{here}.topologyKey", "can not be empty")
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            faults.not_supported(f"{here}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
        if kinds[position] in kinds[position + 1 :]:
            text = "{" + ", ".join(str(each) for each in kinds[position]) + "}"
            faults.duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", text)
        _validate_domains(constraint, here, faults)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            one_of(constraint.get(name), ("Honor", "Ignore"), f"{here}.{name}", faults)
        _validate_label_keys(constraint, here, faults)
        label_selector(constraint.get("labelSelector"), f"{here}.labelSelector", faults)


def _validate_domains(constraint: Json, path: str, faults: Faults) -> None:
    domains = constraint.get("minDomains")
    if domains is None:
        return
    if domains <= 0:
        faults.invalid(f"{path}.minDomains", domains, "must be greater than zero")
    if constraint.get("whenUnsatisfiable") != "DoNotSchedule":
        action = constraint.get("whenUnsatisfiable", "")
        faults.invalid(
            f"{path}.minDomains", domains, f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        )
