"""Where a page's requests may go, and the record of where they wanted to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from beholder.evidence.egress import Egress
from beholder.evidence.hosts import host_allowed, host_kind, host_of
from beholder.records import NetworkPolicy, Warning_

MAX_NOTED = 20
"""Entries kept of a kind, so that a page cannot fill the record."""

_SOCKETS = ("ws:", "wss:")
_WEB = ("http:", "https:", *_SOCKETS)


@dataclass(slots=True)
class Gate:
    """One page's requests.

    Attributes:
        egress: The way out, or None: there is none.
        outside: Outside hosts asked for.
        failed: Outside URLs that did not arrive, with the cause.
        blocked: URLs that no flag opens (loopback, private addresses, local files), with the cause.
        left_for: Where the page itself tried to go.
        pending: Request -> outside URL still on its way.
    """

    network: NetworkPolicy
    egress: Egress | None = None
    outside: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    blocked: dict[str, str] = field(default_factory=dict)
    left_for: list[str] = field(default_factory=list)
    pending: dict[str, str] = field(default_factory=dict)

    def may_go(self, url: str) -> bool:
        """Whether a request may leave this machine; if not, it is noted why."""
        host = host_of(url)
        if host_kind(host) != "outside" or not url.startswith(_WEB):
            self.block(url)
            return False
        self.outside.add(host)
        if url.startswith(_SOCKETS):
            _note(self.failed, url, "sockets are closed")
            return False
        if self.egress is None or not host_allowed(host, self.network):
            _note(self.failed, url, "blocked by the network policy")
            return False
        return True

    def block(self, url: str) -> None:
        """Note what is never reached."""
        _note(self.blocked, url, "never reached from a page")

    def leaving(self, url: str) -> None:
        """Note where the page tried to go; an outside host there is asked for as by any other request."""
        if len(self.left_for) < MAX_NOTED:
            self.left_for.append(url[:300])
        if url.startswith(_WEB) and host_kind(host_of(url)) == "outside":
            self.may_go(url)

    def sent(self, request: str, url: str) -> None:
        """A request has gone out."""
        self.pending[request] = url

    def answered(self, request: str, status: int) -> None:
        """Its answer has begun."""
        url = self.pending.get(request, "")
        if url and status >= 400:
            self._fail(url, f"answered {status}")

    def ended(self, request: str, error: str = "") -> None:
        """It is over, well or badly."""
        url = self.pending.pop(request, "")
        if url and error and host_kind(host_of(url)) == "outside":
            self._fail(url, error)

    def _fail(self, url: str, why: str) -> None:
        """Note what did not arrive; what the proxy would not dial is not the network's fault."""
        refused = self.egress.refused.get(host_of(url)) if self.egress is not None else None
        if refused is not None:
            _note(self.blocked, url, refused)
        else:
            _note(self.failed, url, why)

    def facts(self) -> dict[str, Any]:
        """For the manifest: hosts always, the rest where there is something."""
        found: dict[str, Any] = {
            "failed": dict(sorted(self.failed.items())),
            "blocked": dict(sorted(self.blocked.items())),
            "pending": sorted(self.pending.values())[:MAX_NOTED],
            "left_for": self.left_for,
        }
        return {"outside_hosts": sorted(self.outside)} | {key: value for key, value in found.items() if value}

    def warnings(self, source: str) -> Iterator[Warning_]:
        """What a reader of the score should know."""
        for code, entries in (("external_resource_failed", self.failed), ("blocked_resource", self.blocked)):
            if entries:
                listed = "; ".join(f"{url}: {why}" for url, why in sorted(entries.items())[:5])
                more = f"; and {len(entries) - 5} more" if len(entries) > 5 else ""
                yield Warning_(code=code, detail=listed + more, source=source)
        if self.left_for:
            yield Warning_(code="left_page", detail=f"tried to go to {self.left_for[0]}", source=source)


def _note(where: dict[str, str], url: str, why: str) -> None:
    if len(where) < MAX_NOTED:
        where.setdefault(url[:300], why)
