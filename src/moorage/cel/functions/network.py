"""Addresses, networks and URLs."""

import ipaddress
import math
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from moorage.cel.errors import EvaluationError
from moorage.cel.functions.uris import uri_problem
from moorage.cel.library import declare, traversal
from moorage.cel.values import Cidr, Ip, Url, size_of

_IP, _CIDR, _URL = "net.IP", "net.CIDR", "kubernetes.URL"


def _ip(text: str) -> Ip:
    address = _address(text)
    if address is None:
        raise EvaluationError(f"IP Address {text!r} parse error during conversion from string")
    return Ip(address)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if address.version == 6 and (address.ipv4_mapped or "%" in text):
        return None
    return address


def _network(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | None:
    address, slash, length = text.partition("/")
    if not slash or not length.isdigit() or _address(address) is None:
        return None
    try:
        return ipaddress.ip_interface(text)
    except ValueError:
        return None


def _cidr(text: str) -> Cidr:
    interface = _network(text)
    if interface is None:
        raise EvaluationError(f"network address parse error during conversion from string: {text!r}")
    return Cidr(interface)


def _contains_ip(cidr: Cidr, other: Any) -> bool:
    address = other if isinstance(other, Ip) else _ip(other)
    return address.address in cidr.interface.network


def _contains_cidr(cidr: Cidr, other: Any) -> bool:
    inner = (other if isinstance(other, Cidr) else _cidr(other)).interface.network
    outer: Any = cidr.interface.network
    return inner.version == outer.version and bool(inner.subnet_of(outer))


def _masked(cidr: Cidr) -> Cidr:
    return Cidr(ipaddress.ip_interface(str(cidr.interface.network)))


def _url(text: str) -> Url:
    problem = uri_problem(text) or uri_problem(text.partition("#")[0], is_request=False)
    if not problem:
        try:
            return Url(urlsplit(text))
        except ValueError as refusal:
            problem = str(refusal)
    raise EvaluationError(f"URL parse error during conversion from string: {problem}")


def _host(url: Url) -> str:
    return url.parts.netloc.rpartition("@")[2]


def _hostname(url: Url) -> str:
    host = _host(url)
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def _port(url: Url) -> str:
    return _host(url).rpartition("]")[2].partition(":")[2]


def _global(ip: Ip) -> bool:
    address = ip.address
    broadcast = str(address) == "255.255.255.255"
    others = (address.is_unspecified, address.is_loopback, address.is_multicast, address.is_link_local, broadcast)
    return not any(others)


def _link_local_multicast(ip: Ip) -> bool:
    networks = ("224.0.0.0/24", "ff02::/16")
    return any(ip.address in ipaddress.ip_network(one) for one in networks)


def _within(*, nested: bool, parsed: bool) -> Any:
    """The cost of asking whether a network holds an address, or another network; parsed from text or not."""

    def cost(args: Any, _result: Any) -> int:
        network = _bytes(args[0])
        total = math.ceil(2 * network * 0.1)
        if nested:
            total += math.ceil(network * 0.1) + 1
        return total + (math.ceil(size_of(args[1]) * 0.1) if parsed else 0)

    return cost


def _bytes(cidr: Cidr) -> int:
    return math.ceil(cidr.interface.network.prefixlen / 8)


declare(f"ip(string) -> {_IP}", _ip, traversal())
declare("isIP(string) -> bool", lambda text: _address(text) is not None, traversal())
declare("ip.isCanonical(string) -> bool", lambda text: str(_ip(text).address) == text, traversal(2))
declare(f"{_IP}::family() -> int", lambda ip: ip.address.version)
declare(f"{_IP}::isUnspecified() -> bool", lambda ip: ip.address.is_unspecified)
declare(f"{_IP}::isLoopback() -> bool", lambda ip: ip.address.is_loopback)
declare(f"{_IP}::isLinkLocalMulticast() -> bool", _link_local_multicast)
declare(f"{_IP}::isLinkLocalUnicast() -> bool", lambda ip: ip.address.is_link_local)
declare(f"{_IP}::isGlobalUnicast() -> bool", _global)
declare(f"string({_IP}) -> string", lambda ip: str(ip.address))
declare(f"cidr(string) -> {_CIDR}", _cidr, traversal())
declare("isCIDR(string) -> bool", lambda text: _network(text) is not None, traversal())
declare(f"{_CIDR}::containsIP(string) -> bool", _contains_ip, _within(nested=False, parsed=True))
declare(f"{_CIDR}::containsIP({_IP}) -> bool", _contains_ip, _within(nested=False, parsed=False))
declare(f"{_CIDR}::containsCIDR(string) -> bool", _contains_cidr, _within(nested=True, parsed=True))
declare(f"{_CIDR}::containsCIDR({_CIDR}) -> bool", _contains_cidr, _within(nested=True, parsed=False))
declare(f"{_CIDR}::ip() -> {_IP}", lambda cidr: Ip(cidr.interface.ip))
declare(f"{_CIDR}::prefixLength() -> int", lambda cidr: cidr.interface.network.prefixlen)
declare(f"{_CIDR}::masked() -> {_CIDR}", _masked)
declare(f"string({_CIDR}) -> string", lambda cidr: cidr.interface.with_prefixlen)
declare(f"url(string) -> {_URL}", _url, traversal())
declare("isURL(string) -> bool", lambda text: not uri_problem(text))
declare(f"{_URL}::getScheme() -> string", lambda url: url.parts.scheme)
declare(f"{_URL}::getHost() -> string", _host)
declare(f"{_URL}::getHostname() -> string", _hostname)
declare(f"{_URL}::getPort() -> string", _port)
declare(f"{_URL}::getEscapedPath() -> string", lambda url: quote(url.parts.path, safe="/%$&+,:;=@!'()*~-._"))
declare(
    f"{_URL}::getQuery() -> map(string, list(string))", lambda url: parse_qs(url.parts.query, keep_blank_values=True)
)
