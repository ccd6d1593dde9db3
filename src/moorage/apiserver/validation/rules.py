"""Small rules that many kinds share."""

import ipaddress
from collections.abc import Container, Sequence
from typing import Any

import msgspec

from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.metadata import dns_label, label_value, qualified_name, validate_labels
from moorage.objects import LabelSelector
from moorage.values.quantity import parse_quantity
from moorage.values.selector import compile_selector

Json = dict[str, Any]

NOT_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"


def one_of(value: Any, choices: Sequence[str], path: str, faults: Faults, *, required: bool = False) -> None:
    """An enumeration. An absent value is a fault only where it is required."""
    if value in (None, ""):
        if required:
            faults.required(path)
    elif value not in choices:
        faults.not_supported(path, value, choices)


def not_negative(value: int | None, path: str, faults: Faults) -> None:
    """A count."""
    if value is not None and value < 0:
        faults.invalid(path, value, NOT_NEGATIVE)


def in_range(value: int | None, low: int, high: int, path: str, faults: Faults) -> None:
    """A number between two others, both included."""
    if value is not None and not low <= value <= high:
        faults.invalid(path, value, f"must be between {low} and {high}, inclusive")


def port(value: int | None, path: str, faults: Faults) -> None:
    """A port number."""
    in_range(value, 1, 65535, path, faults)


def label_key(value: str, path: str, faults: Faults) -> None:
    """A label's name."""
    if problem := qualified_name(value):
        faults.invalid(path, value, problem)


def immutable(new: Any, old: Any, path: str, faults: Faults) -> None:
    """A value that never changes."""
    if new != old:
        faults.invalid(path, new, IMMUTABLE)


def quantities(amounts: Json, path: str, faults: Faults) -> None:
    """Amounts of resources: named properly, not negative."""
    for name, value in amounts.items():
        if problem := qualified_name(name):
            faults.invalid(f"{path}.{name}", name, problem)
        if parse_quantity(value) < 0:
            faults.invalid(f"{path}[{name}]", value, NOT_NEGATIVE)


def label_name(name: str, taken: Container[str], path: str, faults: Faults) -> None:
    """A name that is a DNS label, and no other's."""
    if not name:
        faults.required(path)
    elif problem := dns_label(name):
        faults.invalid(path, name, problem)
    elif name in taken:
        faults.duplicate(path, name)


def label_selector(selector: Json | None, path: str, faults: Faults) -> None:
    """A label selector: keys, operators, values."""
    if selector is None:
        return
    validate_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels", faults)
    for position, term in enumerate(selector.get("matchExpressions", ())):
        requirement(term, f"{path}.matchExpressions[{position}]", faults)


def requirement(term: Json, path: str, faults: Faults, *, compares: bool = False) -> None:
    """One expression over a label; those of nodes also compare numbers (Gt, Lt)."""
    operator, values = term.get("operator", ""), term.get("values", [])
    if operator in ("In", "NotIn"):
        if not values:
            faults.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            faults.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif compares and operator in ("Gt", "Lt"):
        if len(values) != 1:
            faults.required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        faults.invalid(f"{path}.operator", operator, "not a valid selector operator")
    label_key(term.get("key", ""), f"{path}.key", faults)
    for position, value in enumerate(values):
        if problem := label_value(value):
            faults.invalid(f"{path}.values[{position}]", value, problem)


def selector_matches(selector: Json, labels: Json) -> bool:
    """Whether a valid label selector selects these labels."""
    return compile_selector(msgspec.convert(selector, LabelSelector)).matches(labels)


def is_empty_selector(selector: Json | None) -> bool:
    """Whether a selector selects everything."""
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


def ip_address(value: str, path: str, faults: Faults) -> None:
    """An address of version 4 or 6."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        faults.invalid(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def int_or_percent(value: int | str | None, path: str, faults: Faults) -> None:
    """A count, or a percentage of one."""
    if isinstance(value, int):
        not_negative(value, path, faults)
    elif isinstance(value, str) and not (value.endswith("%") and value[:-1].isascii() and value[:-1].isdigit()):
        faults.invalid(
            path,
            value,
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
            "used for validation is '[0-9]+%')",
        )


def not_over_all(value: int | str | None, path: str, faults: Faults) -> None:
    """A percentage of something that is there is at most all of it."""
    if isinstance(value, str) and value[:-1].isdigit() and int(value[:-1]) > 100:
        faults.invalid(path, value, "must not be greater than 100%")
