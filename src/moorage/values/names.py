"""What Kubernetes accepts as a label key (a "qualified name"), a label value, an extended resource's name.

Each function returns what is wrong, in Kubernetes' own words for it; an empty list means the name is good.
"""

import re

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_LONGEST_NAME = 63
_LONGEST_SUBDOMAIN = 253
_NATIVE_DOMAIN = "kubernetes.io/"
_QUOTA_PREFIX = "requests."

_name_pattern = re.compile(_NAME)
_subdomain_pattern = re.compile(_DNS_SUBDOMAIN)

_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME_EXAMPLES = f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"


def label_key_problems(text: str) -> list[str]:
    """An optional DNS subdomain and '/', then a name of at most 63 characters."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_NAME_RULE} {_NAME_EXAMPLES} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {problem}" for problem in dns_subdomain_problems(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > _LONGEST_NAME:
        problems.append(f"name part must be no more than {_LONGEST_NAME} bytes")
    if _name_pattern.fullmatch(name) is None:
        problems.append(f"name part {_NAME_RULE} {_NAME_EXAMPLES}")
    return problems


def label_value_problems(text: str) -> list[str]:
    """Empty, or a name of at most 63 characters."""
    problems = []
    if len(text) > _LONGEST_NAME:
        problems.append(f"must be no more than {_LONGEST_NAME} bytes")
    if text and _name_pattern.fullmatch(text) is None:
        problems.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
            f"for validation is '({_NAME})?')"
        )
    return problems


def dns_subdomain_problems(text: str) -> list[str]:
    """Lower-case DNS labels joined by dots, at most 253 characters."""
    problems = []
    if len(text) > _LONGEST_SUBDOMAIN:
        problems.append(f"must be no more than {_LONGEST_SUBDOMAIN} bytes")
    if _subdomain_pattern.fullmatch(text) is None:
        problems.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            f"'{_DNS_SUBDOMAIN}')"
        )
    return problems


def is_extended_resource(name: str) -> bool:
    """Whether a resource belongs to neither Kubernetes nor quotas: `vendor.example/gpu`."""
    if "/" not in name or _NATIVE_DOMAIN in name or name.startswith(_QUOTA_PREFIX):
        return False
    return not label_key_problems(_QUOTA_PREFIX + name)
