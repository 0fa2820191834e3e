"""What a host name or address is: outside, or one that no page may ever reach."""

from __future__ import annotations

import ipaddress
from typing import Literal
from urllib.parse import urlsplit

from beholder.records import NetworkPolicy

HostKind = Literal["outside", "inside", "none"]

_RESERVED = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "invalid", "test", "arpa")
"""Last labels that no public name has (RFC 6761, 6762 and the usual private ones)."""


def address_is_public(address: str) -> bool:
    """Whether a literal address is on the public internet; IPv4 written inside IPv6 counts as what it is."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else None)
        if inner is None and parsed in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return inner.is_global and not inner.is_multicast
    return parsed.is_global and not parsed.is_multicast


def host_of(url: str) -> str:
    """The lower-case host of a URL, without port and brackets; empty where it has none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def host_kind(host: str) -> HostKind:
    """`outside` for a public address or a name that may be one; `inside` for what is never reached."""
    if not host:
        return "none"
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        labels = host.split(".")
        return "inside" if len(labels) == 1 or labels[-1] in _RESERVED or labels[-1].isdigit() else "outside"
    return "outside" if address_is_public(host) else "inside"


def host_allowed(host: str, network: NetworkPolicy) -> bool:
    """Whether the policy lets a page reach this outside host."""
    if host_kind(host) != "outside" or network.mode == "block":
        return False
    if network.mode == "allow":
        return True
    for entry in network.hosts:
        wanted = entry.lower().rstrip(".")
        if wanted.startswith("."):
            if host == wanted[1:] or host.endswith(wanted):
                return True
        elif host == wanted:
            return True
    return False
