"""The ledger's tables: what they hold, the statements that write them, and SQLite's errors in ours."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from pathlib import Path

from beholder.errors import JudgeError, JudgeUnavailable, StoreError
from beholder.records import Reply, Usage
from beholder.store.calls import Attempt, CallKey

SCHEMA_VERSION = 1
SCHEMA = f"""
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE requests (sha256 TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (id INTEGER PRIMARY KEY, started REAL NOT NULL);
CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    task_id BLOB NOT NULL,
    repeat INTEGER NOT NULL,
    key TEXT NOT NULL,
    state TEXT NOT NULL,
    slug TEXT,
    detail BLOB
);
CREATE INDEX calls_by_task ON calls (task_id, repeat);
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    call INTEGER NOT NULL REFERENCES calls (id),
    run INTEGER NOT NULL REFERENCES runs (id),
    number INTEGER NOT NULL,
    request TEXT NOT NULL REFERENCES requests (sha256),
    state TEXT NOT NULL,
    started REAL NOT NULL,
    ended REAL,
    reply BLOB,
    stop_reason TEXT,
    served_model TEXT,
    request_id TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cached_input_tokens INTEGER,
    cost_usd TEXT,
    sent TEXT,
    slug TEXT,
    detail BLOB,
    status INTEGER,
    body BLOB,
    possibly_billed INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX attempts_by_call ON attempts (call);
"""


def begin_run(db: sqlite3.Connection) -> int:
    """The number of a new run; what an earlier one left in flight is marked as lost."""
    db.execute("UPDATE attempts SET state = 'lost', possibly_billed = 1 WHERE state = 'sent'")
    run = db.execute("INSERT INTO runs (started) VALUES (?)", (time.time(),)).lastrowid
    return run or 0


def intend(db: sqlite3.Connection, run: int, key: CallKey, record: bytes, number: int) -> Attempt:
    """Note that a request is about to be sent; a call that failed for good is open again."""
    digest = hashlib.sha256(record).hexdigest()
    db.execute("INSERT OR IGNORE INTO requests VALUES (?, ?)", (digest, record))
    db.execute(
        "INSERT INTO calls (identity, task_id, repeat, key, state) VALUES (?, ?, ?, ?, 'open')"
        " ON CONFLICT (identity) DO UPDATE SET state = 'open' WHERE state = 'failed'",
        (key.identity, blob(key.task_id), key.repeat, key.text),
    )
    call_id = db.execute("SELECT id FROM calls WHERE identity = ?", (key.identity,)).fetchone()[0]
    attempt = db.execute(
        "INSERT INTO attempts (call, run, number, request, state, started) VALUES (?, ?, ?, ?, 'sent', ?)",
        (call_id, run, number, digest, time.time()),
    ).lastrowid
    return Attempt(id=attempt or 0, call_id=call_id)


def replied(db: sqlite3.Connection, attempt: Attempt, reply: Reply) -> None:
    """Note an answer; the call is done."""
    db.execute(
        "UPDATE attempts SET state = 'replied', ended = ?, reply = ?, stop_reason = ?, served_model = ?,"
        " request_id = ?, input_tokens = ?, output_tokens = ?, cached_input_tokens = ?, cost_usd = ?,"
        " sent = ? WHERE id = ?",
        (
            time.time(),
            blob(reply.text),
            _word(reply.stop_reason),
            _word(reply.served_model),
            _word(reply.request_id),
            *_tokens(reply.usage),
            None if reply.cost_usd is None else str(reply.cost_usd),
            json.dumps(reply.sent, sort_keys=True),
            attempt.id,
        ),
    )
    db.execute("UPDATE calls SET state = 'replied' WHERE id = ?", (attempt.call_id,))


def attempt_failed(db: sqlite3.Connection, attempt: Attempt, error: JudgeError) -> None:
    """Note a failed attempt; the call stays open."""
    db.execute(
        "UPDATE attempts SET state = 'failed', ended = ?, slug = ?, detail = ?, status = ?, request_id = ?,"
        " body = ?, possibly_billed = ?, input_tokens = ?, output_tokens = ?, cached_input_tokens = ?,"
        " cost_usd = ? WHERE id = ?",
        (
            time.time(),
            error.slug,
            blob(str(error)),
            error.status,
            _word(error.request_id),
            blob(error.body),
            int(isinstance(error, JudgeUnavailable) and error.possibly_billed),
            *_tokens(error.usage or Usage()),
            None if error.cost_usd is None else str(error.cost_usd),
            attempt.id,
        ),
    )


def call_failed(db: sqlite3.Connection, key: CallKey, error: JudgeError) -> None:
    """Note that a call failed for good."""
    db.execute(
        "UPDATE calls SET state = 'failed', slug = ?, detail = ? WHERE identity = ?",
        (error.slug, blob(str(error)), key.identity),
    )


def _word(text: str | None) -> str | None:
    """A vendor's word as SQLite can hold it: half a surrogate pair becomes a question mark."""
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


def _tokens(usage: Usage) -> tuple[int | None, int | None, int | None]:
    """Counts as SQLite can hold them, whatever a server claims."""
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)
    one, two, three = (None if count is None else min(count, 2**62) for count in counts)
    return one, two, three


def blob(text: str) -> bytes:
    """Text as bytes that keep even a lone surrogate, which a judge's JSON may hold."""
    return text.encode("utf-8", "surrogatepass")


def unblobbed(data: bytes | None) -> str:
    """The text of such bytes; an empty one of none."""
    return (data or b"").decode("utf-8", "surrogatepass")


def store_error(path: Path, error: sqlite3.Error) -> StoreError:
    """SQLite's error in ours: a full disk is told from a damaged file."""
    message = str(error)
    if "full" in message or "disk I/O" in message:
        return StoreError(
            f"{path}: the disk is full or failing ({message}); free space, then run again", slug="disk"
        )
    return StoreError(
        f"{path}: {message}. If the file is damaged, move the out-dir away or use --force to archive it",
        slug="ledger",
        concerns=str(path),
    )
