"""The gate: what may go out, and the record of what wanted to."""

from __future__ import annotations

import hashlib
from pathlib import Path

from beholder.evidence.egress import Egress
from beholder.evidence.gate import MAX_HOSTS, MAX_NOTED, Gate
from beholder.evidence.record import open_record
from beholder.records import NetworkPolicy

SOME = NetworkPolicy(mode="hosts", hosts=("cdn.example.com",), given=True)


def test_what_may_go() -> None:
    """Listed hosts by http and https may go; sockets, other hosts, and all that is inside may not."""
    gate = Gate(SOME, Egress(SOME))
    urls = {
        "https://cdn.example.com/x": True,
        "http://cdn.example.com/x": True,
        "wss://cdn.example.com/x": False,
        "https://other.example.com/x": False,
        "http://127.0.0.1/x": False,
        "file:///etc/passwd": False,
        "ftp://cdn.example.com/x": False,
        "http://localhost/x": False,
    }
    assert {url: gate.may_go(url) for url in urls} == urls
    assert gate.facts()["outside_hosts"] == ["cdn.example.com", "other.example.com"]
    assert set(gate.failed) == {"wss://cdn.example.com/x", "https://other.example.com/x"}
    assert len(gate.blocked) == 4


def test_a_flood_of_hosts() -> None:
    """A page that asks for a new host with each request does not fill the record with their names."""
    gate = Gate(NetworkPolicy())
    assert not any(gate.may_go(f"https://h{number}.example.com/x") for number in range(2 * MAX_HOSTS))
    assert len(gate.facts()["outside_hosts"]) == MAX_HOSTS
    assert len(gate.failed) == MAX_NOTED


def test_without_a_way_out() -> None:
    """Without a proxy nothing goes, and the outside hosts are known all the same."""
    gate = Gate(NetworkPolicy())
    assert not gate.may_go("https://cdn.example.com/x")
    assert gate.outside == {"cdn.example.com"}


def test_what_a_record_answers(tmp_path: Path) -> None:
    """On a replay every outside host may be asked, for nobody is; inner addresses and sockets may not."""
    open_record(tmp_path, replay=False)
    gate = Gate(NetworkPolicy(), record=open_record(tmp_path, replay=True))
    assert gate.replaying
    assert gate.may_go("https://cdn.example.com/x")
    assert not gate.may_go("wss://cdn.example.com/x")
    assert not gate.may_go("http://10.0.0.1/x")
    assert gate.facts()["record"] == {
        "mode": "replay",
        "answers": 0,
        "sha256": hashlib.sha256(b"").hexdigest(),
    }
    recording = Gate(NetworkPolicy(), record=open_record(tmp_path, replay=False))
    assert not recording.may_go("https://cdn.example.com/x")
    assert "record" not in Gate(NetworkPolicy()).facts()


def test_what_became_of_requests() -> None:
    """Errors, bad answers and what never came are told apart; what the proxy refused is not a failure."""
    egress = Egress(SOME)
    egress.refused["inner.example.com"] = "leads to 10.0.0.1"
    gate = Gate(SOME, egress)
    for request, host in (("1", "a"), ("2", "b"), ("3", "c"), ("4", "inner"), ("5", "e")):
        gate.sent(request, f"http://{host}.example.com/")
    gate.answered("1", 404)
    gate.ended("1")
    gate.answered("2", 200)
    gate.ended("2")
    gate.ended("3", "net::ERR_FAILED")
    gate.ended("4", "net::ERR_TUNNEL_CONNECTION_FAILED")
    assert gate.failed == {
        "http://a.example.com/": "answered 404",
        "http://c.example.com/": "net::ERR_FAILED",
    }
    assert gate.blocked == {"http://inner.example.com/": "leads to 10.0.0.1"}
    assert list(gate.pending.values()) == ["http://e.example.com/"]
    assert [warning.code for warning in gate.warnings("a.html")] == [
        "external_resource_failed",
        "blocked_resource",
    ]


def test_where_a_page_goes_by_itself() -> None:
    """An outside host that the page goes to is asked for; what is no web address or not outside is not."""
    gate = Gate(NetworkPolicy())
    inside = [
        "http://artifact.localhost/b.html#x",
        "http://127.0.0.1/",
        "about:blank",
        "mailto:a@b.example.com",
    ]
    for url in [*inside, "javascript:void('https://x.example.com')"]:
        gate.leaving(url)
    assert (gate.outside, gate.failed, len(gate.left_for)) == (set(), {}, 5)
    gate.leaving("https://www.example.com/")
    assert (gate.outside, set(gate.failed)) == ({"www.example.com"}, {"https://www.example.com/"})
    assert [warning.code for warning in gate.warnings("a")] == ["external_resource_failed", "left_page"]
    allowed = NetworkPolicy(mode="allow", given=True)
    open_gate = Gate(allowed, Egress(allowed))
    open_gate.leaving("https://www.example.com/")
    assert (open_gate.outside, open_gate.failed) == ({"www.example.com"}, {})


def test_a_page_cannot_fill_the_record() -> None:
    """A thousand requests leave a bounded record."""
    gate = Gate(NetworkPolicy())
    for n in range(1000):
        gate.may_go(f"http://127.0.0.1/{n}{'x' * 1000}")
        gate.leaving(f"http://a.example.com/{n}")
    assert len(gate.blocked) == len(gate.left_for) == MAX_NOTED
    assert max(map(len, gate.blocked)) == 300
    (failed, blocked, _) = gate.warnings("a.html")
    assert failed.detail.endswith("and 15 more")
    assert blocked.detail.endswith("and 15 more")
