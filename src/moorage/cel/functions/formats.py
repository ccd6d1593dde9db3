"""Formats by name: what is wrong with a text that is to be a DNS label, a URI, a date..."""

import math
import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from moorage.cel.functions.uris import uri_problem
from moorage.cel.library import declare, one
from moorage.cel.values import NONE, Format, Optional, size_of
from moorage.values.names import label_key_problems, label_value_problems

_FORMAT = "kubernetes.NamedFormat"
_PART = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_PART}(\.{_PART})*"
_DNS1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_ENDS = "and must start and end with an alphanumeric character"
_LABEL_RULE = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
_SUBDOMAIN_RULE = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
)
_DNS1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character"
)
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BASE64 = re.compile(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(.\d+)?(z|[+-]\d\d:\d\d)", re.ASCII)


def _name_problems(text: str, pattern: str, longest: int, rule: str, examples: Sequence[str]) -> list[str]:
    problems = []
    if len(text.encode()) > longest:
        problems.append(f"must be no more than {longest} characters")
    if not re.fullmatch(pattern, text):
        shown = " or ".join(f"'{example}', " for example in examples)
        problems.append(f"{rule} (e.g. {shown}regex used for validation is '{pattern}')")
    return problems


def _label(text: str) -> list[str]:
    problems = _name_problems(text, _PART, 63, _LABEL_RULE, ("my-name", "123-abc"))
    if problems and re.fullmatch(_SUBDOMAIN, text) and not re.fullmatch(_PART, text):
        problems[-1] = "must not contain dots"
    return problems


def _subdomain(text: str) -> list[str]:
    return _name_problems(text, _SUBDOMAIN, 253, _SUBDOMAIN_RULE, ("example.com",))


def _dns1035_label(text: str) -> list[str]:
    return _name_problems(text, _DNS1035, 63, _DNS1035_RULE, ("my-name", "abc-123"))


def _prefix_of(problems: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The same for what a name begins with. QUIRK: a dash at the end hides what stands before it."""

    def of_prefix(text: str) -> list[str]:
        raw = text.encode()
        if len(raw) > 1 and raw.endswith(b"-"):
            text = (raw[:-2] + b"a").decode(errors="replace")
        return problems(text)

    return of_prefix


def _unless(holds: Callable[[str], Any], problem: str) -> Callable[[str], list[str]]:
    return lambda text: [] if holds(text) else [problem]


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    year, month, day = map(int, text.split("-"))
    try:
        # Year 0 was a leap year, and is none of Python's.
        date(year or 2000, month, day)
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    day, *times = text.lower().split("t")
    found = _TIME.fullmatch(times[0]) if times and _is_date(day) else None
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _uri(text: str) -> list[str]:
    problem = uri_problem(text)
    return [problem] if problem else []


_FORMATS = {
    "dns1123Label": Format("DNS1123Label", _label, 30),
    "dns1123Subdomain": Format("DNS1123Subdomain", _subdomain, 60),
    "dns1035Label": Format("DNS1035Label", _dns1035_label, 30),
    "qualifiedName": Format("QualifiedName", label_key_problems, 60),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", _prefix_of(_label), 30),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", _prefix_of(_subdomain), 60),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _prefix_of(_dns1035_label), 30),
    "labelValue": Format("LabelValue", label_value_problems, 40),
    "uri": Format("URI", _uri, 1103),
    "uuid": Format("uuid", _unless(_UUID.fullmatch, "does not match the UUID format"), 70),
    "byte": Format("byte", _unless(_BASE64.fullmatch, "invalid base64"), 84),
    "date": Format("date", _unless(_is_date, "invalid date"), 71),
    "datetime": Format("datetime", _unless(_is_datetime, "invalid datetime"), 71),
}


def _named(name: str) -> Optional:
    return Optional(True, _FORMATS[name]) if name in _FORMATS else NONE


def _validate(format_: Format, text: str) -> Optional:
    problems = format_.problems(text)
    return Optional(True, problems) if problems else NONE


def _checking(args: Sequence[Any], _result: Any) -> int:
    """As much as matching a regular expression of the format's weight."""
    weight: int = args[0].weight
    return math.ceil((1.0 + size_of(args[1])) * 0.1) * math.ceil(weight * 0.25)


for _name, _format in _FORMATS.items():
    declare(f"format.{_name}() -> {_FORMAT}", lambda found=_format: found)
declare(f"format.named(string) -> optional_type({_FORMAT})", _named, one)
declare(f"{_FORMAT}::validate(string) -> optional_type(list(string))", _validate, _checking)
