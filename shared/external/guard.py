"""Where requests to an external base may go: to public addresses alone, by https.

The address is checked after the name was looked up, and the connection is made to that very
address, so that a name that changes its mind between the two leads nowhere.
"""

import re
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

type Address = IPv4Address | IPv6Address

type Resolve = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host and port, as text; raises OSError where there are none."""

MOST_CHARACTERS = 2_000

_PORTS = {"https": 443, "http": 80}
_PLAIN = re.compile(r"[!-~]+")
_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_METADATA = {ip_address("168.63.129.16")}
"""Public addresses that clouds answer at from inside; all others are private or link-local."""


class EndpointRefused(ValueError):
    """Nothing may be sent there; the message says why, and shows no address."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where an endpoint is.

    Attributes:
        path: without a slash at its end.
        is_exempt: a setting names its host and port: any address will do, and plain http.
    """

    scheme: str
    host: str
    port: int
    path: str
    is_exempt: bool


def split_hosts(setting: str) -> frozenset[str]:
    """Returns the host:port pairs of a comma-separated setting, in lower case."""
    return frozenset(each.strip().lower() for each in setting.split(",") if each.strip())


def parse_endpoint(endpoint: str, allow_hosts: frozenset[str]) -> Target:
    """Returns where an endpoint is.

    Raises:
        EndpointRefused: it is no https URL of a host and a path, or names an address that is not
            public.
    """
    if len(endpoint) > MOST_CHARACTERS or not _PLAIN.fullmatch(endpoint):
        raise EndpointRefused(f"must be up to {MOST_CHARACTERS:,} ASCII characters without blanks")
    try:
        parts = urlsplit(endpoint)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError as error:
        raise EndpointRefused("is no URL") from error
    host = parts.hostname or ""
    is_exempt = f"{host}:{port}" in allow_hosts
    if not host or parts.scheme not in (_PORTS if is_exempt else {"https"}):
        raise EndpointRefused("must be a URL of https")
    if parts.username is not None or re.search(r"[?#\\]", endpoint):
        raise EndpointRefused("may have no user, query or fragment")
    literal = _read_literal(host)
    if literal is not None and not is_exempt and not is_public(literal):
        raise EndpointRefused("names an address that is not public")
    return Target(parts.scheme, host, port, parts.path.rstrip("/"), is_exempt)


def find_address(target: Target, resolve: Resolve) -> str:
    """Looks the host up, once, and returns the address to connect to.

    Raises:
        EndpointRefused: any of its addresses is private, loopback, link-local, multicast or
            otherwise not public.
        OSError: it has none.
    """
    found = resolve(target.host, target.port)
    if not found:
        raise OSError(f"{target.host} has no address")
    # One address that is not public among others is an attack or a mistake, and never a choice.
    if not target.is_exempt and not all(is_public(ip_address(each)) for each in found):
        raise EndpointRefused(f"{target.host} has an address that is not public")
    return found[0]


def resolve(host: str, port: int) -> list[str]:
    """Returns the addresses of a host as the system looks them up."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


def is_public(address: Address) -> bool:
    """Tells whether an address is a public host's, and so is every IPv4 address inside it."""
    return all(_is_public(each) for each in _unwrap(address))


def _is_public(address: Address) -> bool:
    if address in _METADATA or address.is_multicast or address.is_reserved:
        return False
    return address.is_global and (address.version == 4 or address in _UNICAST)  # noqa: PLR2004


def _unwrap(address: Address) -> Iterator[Address]:
    """Yields the address, or those that one of IPv6 carries: whoever gets it may pass it on."""
    if isinstance(address, IPv4Address):
        yield address
    elif address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    elif address in _NAT64:
        yield IPv4Address(address.packed[-4:])
    else:
        yield address
        yield from (each for each in (address.sixtofour, *(address.teredo or ())) if each)


def _read_literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
