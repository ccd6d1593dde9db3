"""Which texts are URIs that could be asked for: absolute ones, and paths, as Go's net/url takes them."""

import ipaddress
import re

from moorage.cel.functions.texts import quoted

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_ESCAPE = re.compile(r"%(?:[0-9A-Fa-f]{2})?")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_HOST = re.compile(r"[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>\"%\u0080-\U0010ffff]*")
_PORT = re.compile(r"(?::[0-9]*)?")


class NotAUri(ValueError):
    """Why a text is none."""


def uri_problem(text: str, *, is_request: bool = True) -> str:
    """What is wrong with a URI, in Go's words; empty if nothing. Without `is_request` it may be relative."""
    try:
        _check(text, is_request)
    except NotAUri as problem:
        return f"parse {quoted(text)}: {problem}"
    return ""


def _check(text: str, is_request: bool) -> None:
    if any(character < " " or character == "\x7f" for character in text):
        raise NotAUri("net/url: invalid control character in URL")
    if not text and is_request:
        raise NotAUri("empty url")
    if text == "*":
        return
    if text.startswith(":"):
        raise NotAUri("missing protocol scheme")
    scheme, colon, rest = text.partition(":")
    if not colon or not _SCHEME.fullmatch(scheme):
        scheme, rest = "", text
    rest = rest.partition("?")[0]
    if not rest.startswith("/"):
        _check_rootless(scheme, rest, is_request)
        return
    if rest.startswith("//") and (scheme or (not is_request and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        _check_authority(scheme.lower(), authority)
        rest = slash + path
    _check_escapes(rest)


def _check_rootless(scheme: str, rest: str, is_request: bool) -> None:
    """`mailto:somebody` says nothing of a host or a path."""
    if scheme:
        return
    if is_request:
        raise NotAUri("invalid URI for request")
    if ":" in rest.partition("/")[0]:
        raise NotAUri("first path segment in URL cannot contain colon")
    _check_escapes(rest)


def _check_authority(scheme: str, authority: str) -> None:
    user, at, host = authority.rpartition("@")
    if host.startswith("["):
        _check_literal(host)
    elif "[" in host:
        raise NotAUri("invalid IP-literal")
    else:
        # Only these two take a strict view of colons.
        before, colon, port = host.partition(":") if scheme in ("http", "https") else host.rpartition(":")
        if colon:
            _check_port(colon + port)
        _check_host(host if not colon else before + colon + port)
    if at:
        if not _USER.fullmatch(user):
            raise NotAUri("net/url: invalid userinfo")
        _check_escapes(user)


def _check_literal(host: str) -> None:
    address, bracket, port = host[1:].rpartition("]")
    if not bracket:
        raise NotAUri("missing ']' in host")
    _check_port(port)
    name, percent, zone = address.partition("%25")
    _check_host(name)
    if percent:
        _check_escapes(zone)
        if not _HOST.fullmatch(zone.replace("%20", "")):
            raise NotAUri(_foreign(zone))
    try:
        found = ipaddress.ip_address(name)
    except ValueError:
        raise NotAUri(f"invalid host: ParseAddr({quoted(address)}): unable to parse IP") from None
    if found.version == 4:
        raise NotAUri("invalid IP-literal")


def _check_port(text: str) -> None:
    if not _PORT.fullmatch(text):
        raise NotAUri(f"invalid port {quoted(text)} after host")


def _check_host(text: str) -> None:
    """Only what is not ASCII may be escaped in a host."""
    if not _HOST.fullmatch(text):
        raise NotAUri(_foreign(text))
    _check_escapes(text)
    for escape in _ESCAPE.findall(text):
        if escape != "%25" and int(escape[1], 16) < 8:
            raise NotAUri(f"invalid URL escape {quoted(escape)}")


def _foreign(host: str) -> str:
    first = next(character for character in host if not _HOST.fullmatch(character))
    return f"invalid character {quoted(first)} in host name"


def _check_escapes(text: str) -> None:
    for found in _ESCAPE.finditer(text):
        if found.group() == "%":
            raise NotAUri(f"invalid URL escape {quoted(text[found.start() : found.start() + 3])}")
