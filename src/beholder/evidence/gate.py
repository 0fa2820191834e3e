"""Where a page's requests may go, and the record of where they wanted to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from beholder.evidence.egress import Egress
from beholder.evidence.hosts import host_allowed, host_kind, host_of
from beholder.evidence.record import Record
from beholder.records import NetworkPolicy, Warning_

MAX_NOTED = 20
"""Entries kept of a kind, so that a page cannot fill the record."""

MAX_HOSTS = 500
"""Outside hosts kept: whoever decides on the network needs all of an honest page's, which has dozens."""

_SOCKETS = ("ws:", "wss:")
_WEB = ("http:", "https:", *_SOCKETS)


@dataclass(slots=True)
class Gate:
    """One page's requests.

    Attributes:
        egress: The way out, or None: there is none.
        record: Where answers from outside are kept, or are all that there is of the outside.
        outside: Outside hosts asked for, up to `MAX_HOSTS`.
        failed: Outside URLs that did not arrive, with the cause.
        blocked: URLs that no flag opens (loopback, private addresses, local files), with the cause.
        left_for: Where the page itself tried to go.
        pending: Request -> outside URL still on its way.
        used: Key of a request -> digest of the answer that the record gave or got.
    """

    network: NetworkPolicy
    egress: Egress | None = None
    record: Record | None = None
    outside: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    blocked: dict[str, str] = field(default_factory=dict)
    left_for: list[str] = field(default_factory=list)
    pending: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)

    @property
    def replaying(self) -> bool:
        """Whether the outside is what a record holds of it."""
        return self.record is not None and self.record.replaying

    def may_go(self, url: str) -> bool:
        """Whether a request may leave this machine, or be answered by a record; if not, it is noted why."""
        host = host_of(url)
        if host_kind(host) != "outside" or not url.startswith(_WEB):
            self.block(url)
            return False
        if len(self.outside) < MAX_HOSTS:
            self.outside.add(host)
        if url.startswith(_SOCKETS):
            _note(self.failed, url, "sockets are closed")
            return False
        if self.replaying:
            return True
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
            self.fail(url, f"answered {status}")

    def ended(self, request: str, error: str = "") -> None:
        """It is over, well or badly."""
        url = self.pending.pop(request, "")
        if url and error and host_kind(host_of(url)) == "outside":
            self.fail(url, error)

    def refused(self, url: str) -> str | None:
        """Why the proxy would not dial the host, or None: it did not say so."""
        return None if self.egress is None else self.egress.refused.get(host_of(url))

    def fail(self, url: str, why: str) -> None:
        """Note what did not arrive; what the proxy would not dial is not the network's fault."""
        refused = self.refused(url)
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
        if self.record is not None:
            said = "\n".join(f"{key} {digest}" for key, digest in sorted(self.used.items()))
            found["record"] = {
                "mode": self.record.mode,
                "answers": len(self.used),
                "sha256": hashlib.sha256(said.encode()).hexdigest(),
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
