"""Hosts: what is outside, what is never reached."""

from __future__ import annotations

import pytest

from beholder.evidence.hosts import address_is_public, host_allowed, host_kind, host_of
from beholder.records import NetworkPolicy

ALLOW = NetworkPolicy(mode="allow", given=True)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1",
        "not an address",
    ],
)  # fmt: skip
def test_private_addresses(address: str) -> None:
    """Loopback, private, link-local, shared and multicast addresses are not public, however written."""
    assert not address_is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses(address: str) -> None:
    """Addresses of the public internet are public."""
    assert address_is_public(address)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://cdn.example.com/x.js", "outside"),
        ("https://8.8.8.8/x", "outside"),
        ("http://localhost:8000/", "inside"),
        ("http://intranet/", "inside"),
        ("http://printer.local/", "inside"),
        ("http://127.0.0.1/", "inside"),
        ("http://[::1]:8080/", "inside"),
        ("http://[::ffff:10.0.0.1]/", "inside"),
        ("http://127.1/", "inside"),
        ("http://localhost./", "inside"),
        ("file:///etc/passwd", "none"),
        ("data:text/plain,x", "none"),
        ("http://[broken", "none"),
    ],
)
def test_host_kind(url: str, kind: str) -> None:
    """A URL's host is outside, inside or absent by its name alone."""
    assert host_kind(host_of(url)) == kind


def test_host_lists() -> None:
    """A listed host is itself, and with a leading dot its subdomains too; the list opens nothing inside."""
    some = NetworkPolicy(
        mode="hosts", hosts=("a.example.com", ".tiles.org", "localhost", "127.0.0.1"), given=True
    )
    allowed = {
        host
        for host in (
            "a.example.com", "b.example.com", "xa.example.com", "tiles.org", "x.tiles.org", "badtiles.org",
            "localhost", "127.0.0.1",
        )
        if host_allowed(host, some)
    }  # fmt: skip
    assert allowed == {"a.example.com", "tiles.org", "x.tiles.org"}
    assert host_allowed("any.example.com", ALLOW)
    assert not host_allowed("10.0.0.1", ALLOW)
    assert not host_allowed("any.example.com", NetworkPolicy())
