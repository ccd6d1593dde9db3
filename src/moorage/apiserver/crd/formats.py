"""String formats that schemas may name. Unknown ones are not checked, as in Kubernetes."""

import base64
import binascii
import datetime
import ipaddress
import re
import uuid
from collections.abc import Callable
from urllib.parse import urlsplit

from moorage.apiserver.fields import values

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_HOSTNAME = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?)*"
)


def _succeeds(check: Callable[[str], object]) -> Callable[[str], bool]:
    """A check that answers by not raising."""

    def passes(value: str) -> bool:
        try:
            check(value)
        except (ValueError, OverflowError, binascii.Error):
            return False
        return True

    return passes


def _date(value: str) -> None:
    if not _DATE.fullmatch(value):
        raise ValueError("not a date")
    datetime.date.fromisoformat(value)


def _uri(value: str) -> None:
    if not urlsplit(value).scheme:
        raise ValueError("no scheme")


FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": _succeeds(values.check_micro_time),
    "datetime": _succeeds(values.check_micro_time),
    "date": _succeeds(_date),
    "duration": _succeeds(values.check_duration),
    "byte": _succeeds(lambda value: base64.b64decode(value, validate=True)),
    "uuid": _succeeds(uuid.UUID),
    "ipv4": _succeeds(ipaddress.IPv4Address),
    "ipv6": _succeeds(ipaddress.IPv6Address),
    "cidr": _succeeds(lambda value: ipaddress.ip_network(value, strict=False)),
    "uri": _succeeds(_uri),
    "email": lambda value: _EMAIL.fullmatch(value) is not None,
    "hostname": lambda value: _HOSTNAME.fullmatch(value) is not None,
}
