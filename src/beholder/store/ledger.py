"""Every intent and outcome of every call, in SQLite: WAL, `synchronous=FULL`, one writer.

An attempt's intent is committed before a byte is sent and its outcome before anything else is done with
it, so a paid reply is never lost, and after a kill exactly the attempts still marked `sent` may have been
billed without an answer.

    requests   sha256 -> what is sent, images by hash
    calls      identity -> open | replied | failed      one row per (task, judge, settings, repeat, …)
    attempts   call -> sent | replied | failed | lost   one row per HTTP request

Writes go through one thread, which commits whatever has queued up meanwhile together: a disk flush is
shared by the calls of one moment and never blocks the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import queue
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeVar

from beholder.errors import JudgeError, StoreError
from beholder.records import Reply, Usage

LEDGER_FILE = "ledger.sqlite"
SCHEMA_VERSION = 1
_SCHEMA = f"""
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

T = TypeVar("T")
_Job = tuple[Callable[[sqlite3.Connection], Any], Future[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKey:
    """What makes a call the same call. Equal keys have equal `identity`."""

    model: str
    task_id: str
    artifacts: tuple[str, ...]
    question_sha256: str
    evidence_sha256: str
    prompt_sha256: str
    judge: Mapping[str, Any]
    repeat: int

    @property
    def text(self) -> str:
        """Canonical JSON."""
        members = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps(members, sort_keys=True, separators=(",", ":"))

    @property
    def identity(self) -> str:
        """sha256 of the canonical JSON."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCall:
    """A call as the ledger knows it; `reply` is set if it was answered, `slug` if it failed for good."""

    state: Literal["open", "replied", "failed"]
    reply: Reply | None = None
    slug: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Handle of an attempt that was sent."""

    id: int
    call_id: int


@dataclass(slots=True)
class Totals:
    """Sums over attempts. `cost_usd` is of those with a known price; `unpriced` counts the others."""

    attempts: int = 0
    replied: int = 0
    failed: int = 0
    retried: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = field(default_factory=Decimal)
    unpriced: int = 0
    possibly_billed: int = 0


class Ledger:
    """The ledger of one out-dir, opened for writing.

    Raises:
        StoreError: It is damaged, or written by a newer version.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with contextlib.ExitStack() as opened:
            try:
                self._reader = sqlite3.connect(path, isolation_level=None)
                opened.callback(self._reader.close)
                self._reader.execute("PRAGMA journal_mode=WAL")
                version = self._reader.execute("PRAGMA user_version").fetchone()[0]
                if version > SCHEMA_VERSION:
                    raise StoreError(f"{path}: written by a newer beholder; update this one", slug="newer")
                if version == 0:
                    self._reader.executescript(f"BEGIN;{_SCHEMA}COMMIT;")
                self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
                opened.callback(self._db.close)
                self._db.execute("PRAGMA synchronous=FULL")
                counted = self._reader.execute("SELECT count(*) FROM attempts WHERE state = 'sent'")
                lost = counted.fetchone()[0]
            except sqlite3.Error as error:
                raise _store_error(path, error) from None
            opened.pop_all()
        self.lost_before = int(lost)
        """Attempts that were in flight when an earlier run died: possibly billed, asked again."""
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="ledger", daemon=True)
        self._thread.start()
        self.run = self._submit(_begin_run).result()

    def find(self, key: CallKey) -> StoredCall | None:
        """What is known of a call, or None."""
        row = self._reader.execute(
            "SELECT id, state, slug, detail FROM calls WHERE identity = ?", (key.identity,)
        ).fetchone()
        if row is None:
            return None
        call_id, state, slug, detail = row
        if state != "replied":
            return StoredCall(state=state, slug=slug, detail=_text(detail))
        answer = self._reader.execute(
            "SELECT reply, stop_reason, served_model, input_tokens, output_tokens, cached_input_tokens,"
            " cost_usd, request_id, sent FROM attempts WHERE call = ? AND state = 'replied'"
            " ORDER BY id DESC LIMIT 1",
            (call_id,),
        ).fetchone()
        reply, stop, served, tokens_in, tokens_out, cached, cost, request_id, sent = answer
        return StoredCall(
            state=state,
            reply=Reply(
                text=_text(reply),
                stop_reason=stop,
                served_model=served,
                usage=Usage(input_tokens=tokens_in, output_tokens=tokens_out, cached_input_tokens=cached),
                cost_usd=None if cost is None else Decimal(cost),
                request_id=request_id,
                sent=json.loads(sent),
            ),
        )

    def has_reply(self, task_id: str, model: str, evidence_sha256: str) -> bool:
        """Whether a submission was answered under an evidence policy: its evidence stays what it was."""
        rows = self._reader.execute(
            "SELECT key FROM calls WHERE task_id = ? AND state = 'replied'", (_blob(task_id),)
        )
        keys = (json.loads(text) for (text,) in rows)
        return any((key["model"], key["evidence_sha256"]) == (model, evidence_sha256) for key in keys)

    async def intend(self, key: CallKey, request: Mapping[str, Any], number: int) -> Attempt:
        """Commit that a request is about to be sent."""
        record = json.dumps(request, sort_keys=True).encode("utf-8", "surrogatepass")
        return await asyncio.wrap_future(self._submit(lambda db: _intend(db, self.run, key, record, number)))

    async def replied(self, attempt: Attempt, reply: Reply) -> None:
        """Commit an answer; the call is done."""
        await asyncio.wrap_future(self._submit(lambda db: _replied(db, attempt, reply)))

    async def attempt_failed(self, attempt: Attempt, error: JudgeError) -> None:
        """Commit a failed attempt; the call stays open."""
        await asyncio.wrap_future(self._submit(lambda db: _attempt_failed(db, attempt, error)))

    async def call_failed(self, key: CallKey, error: JudgeError) -> None:
        """Commit that a call failed for good: it is asked again only if the user says so."""
        await asyncio.wrap_future(
            self._submit(
                lambda db: db.execute(
                    "UPDATE calls SET state = 'failed', slug = ?, detail = ? WHERE identity = ?",
                    (error.slug, _blob(str(error)), key.identity),
                )
            )
        )

    def has_answers(self) -> bool:
        """Whether any call was answered."""
        found = self._reader.execute("SELECT 1 FROM calls WHERE state = 'replied' LIMIT 1").fetchone()
        return found is not None

    def totals(self, *, this_run: bool) -> Totals:
        """Sums over the attempts of this run, or of all runs in this out-dir."""
        rows = self._reader.execute(
            "SELECT state, number, input_tokens, output_tokens, cost_usd, possibly_billed FROM attempts"
            " WHERE run >= ?",
            (self.run if this_run else 0,),
        )
        sums = Totals()
        for state, number, tokens_in, tokens_out, cost, possibly_billed in rows:
            sums.attempts += 1
            sums.replied += state == "replied"
            sums.failed += state == "failed"
            sums.retried += number > 1
            sums.input_tokens += tokens_in or 0
            sums.output_tokens += tokens_out or 0
            sums.possibly_billed += possibly_billed
            if cost is not None:
                sums.cost_usd += Decimal(cost)
            elif state == "replied" or tokens_in or tokens_out:
                sums.unpriced += 1
        return sums

    def unpriced(self) -> Iterator[tuple[Usage, dict[str, Any]]]:
        """(usage, request record) of attempts that were or may have been billed and have no known cost."""
        rows = self._reader.execute(
            "SELECT input_tokens, output_tokens, record FROM attempts JOIN requests ON request = sha256"
            " WHERE cost_usd IS NULL AND (state = 'replied' OR input_tokens IS NOT NULL OR possibly_billed)"
        )
        for tokens_in, tokens_out, record in rows:
            yield Usage(input_tokens=tokens_in, output_tokens=tokens_out), json.loads(record)

    def close(self) -> None:
        """Write what is queued and close. Safe to call twice."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()
            self._reader.close()

    def _submit(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        future: Future[T] = Future()
        # Marked as running at once: a cancelled waiter must not take its write out of the queue.
        future.set_running_or_notify_cancel()
        self._jobs.put((work, future))
        return future

    def _write(self) -> None:
        ended = False
        while not ended:
            batch = [self._jobs.get()]
            while True:
                try:
                    batch.append(self._jobs.get_nowait())
                except queue.Empty:
                    break
            ended = None in batch
            self._commit([job for job in batch if job is not None])
        self._db.close()

    def _commit(self, jobs: Sequence[_Job]) -> None:
        """Do some jobs in one transaction; one that fails takes nobody else's work with it."""
        done: list[tuple[Future[Any], Any]] = []
        failed: list[tuple[Future[Any], Exception]] = []
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for work, future in jobs:
                self._db.execute("SAVEPOINT job")
                try:
                    done.append((future, work(self._db)))
                except Exception as error:  # noqa: BLE001 - handed to whoever waits; a dead thread would hang the run
                    self._db.execute("ROLLBACK TO job")
                    failed.append((future, error))
                self._db.execute("RELEASE job")
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            # A full disk, say: SQLite has rolled everything back.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            done, failed = [], [(future, error) for _, future in jobs]
        for future, problem in failed:
            known = isinstance(problem, sqlite3.Error)
            future.set_exception(_store_error(self._path, problem) if known else problem)
        for future, result in done:
            future.set_result(result)


@contextlib.contextmanager
def ledger_copy(out_dir: Path) -> Iterator[Ledger | None]:
    """A copy of an out-dir's ledger, to look at while the out-dir stays as it is; None if it has none.

    Raises:
        StoreError: It is damaged.
    """
    if not (out_dir / LEDGER_FILE).is_file():
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="beholder-ledger-") as folder:
        for name in (LEDGER_FILE, f"{LEDGER_FILE}-wal"):  # a killed run leaves answers in the second
            if (out_dir / name).is_file():
                shutil.copyfile(out_dir / name, Path(folder) / name)
        ledger = Ledger(Path(folder) / LEDGER_FILE)
        try:
            yield ledger
        finally:
            ledger.close()


def _begin_run(db: sqlite3.Connection) -> int:
    db.execute("UPDATE attempts SET state = 'lost', possibly_billed = 1 WHERE state = 'sent'")
    run = db.execute("INSERT INTO runs (started) VALUES (?)", (time.time(),)).lastrowid
    return run or 0


def _intend(db: sqlite3.Connection, run: int, key: CallKey, record: bytes, number: int) -> Attempt:
    digest = hashlib.sha256(record).hexdigest()
    db.execute("INSERT OR IGNORE INTO requests VALUES (?, ?)", (digest, record))
    db.execute(
        "INSERT INTO calls (identity, task_id, repeat, key, state) VALUES (?, ?, ?, ?, 'open')"
        " ON CONFLICT (identity) DO UPDATE SET state = 'open' WHERE state = 'failed'",
        (key.identity, _blob(key.task_id), key.repeat, key.text),
    )
    call_id = db.execute("SELECT id FROM calls WHERE identity = ?", (key.identity,)).fetchone()[0]
    attempt = db.execute(
        "INSERT INTO attempts (call, run, number, request, state, started) VALUES (?, ?, ?, ?, 'sent', ?)",
        (call_id, run, number, digest, time.time()),
    ).lastrowid
    return Attempt(id=attempt or 0, call_id=call_id)


def _replied(db: sqlite3.Connection, attempt: Attempt, reply: Reply) -> None:
    db.execute(
        "UPDATE attempts SET state = 'replied', ended = ?, reply = ?, stop_reason = ?, served_model = ?,"
        " request_id = ?, input_tokens = ?, output_tokens = ?, cached_input_tokens = ?, cost_usd = ?,"
        " sent = ? WHERE id = ?",
        (
            time.time(),
            _blob(reply.text),
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


def _attempt_failed(db: sqlite3.Connection, attempt: Attempt, error: JudgeError) -> None:
    db.execute(
        "UPDATE attempts SET state = 'failed', ended = ?, slug = ?, detail = ?, status = ?, request_id = ?,"
        " body = ?, possibly_billed = ?, input_tokens = ?, output_tokens = ?, cached_input_tokens = ?,"
        " cost_usd = ? WHERE id = ?",
        (
            time.time(),
            error.slug,
            _blob(str(error)),
            error.status,
            _word(error.request_id),
            _blob(error.body),
            int(getattr(error, "possibly_billed", False)),
            *_tokens(error.usage or Usage()),
            None if error.cost_usd is None else str(error.cost_usd),
            attempt.id,
        ),
    )


def _word(text: str | None) -> str | None:
    """A vendor's word as SQLite can hold it: half a surrogate pair becomes a question mark."""
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


def _tokens(usage: Usage) -> tuple[int | None, int | None, int | None]:
    """Counts as SQLite can hold them, whatever a server claims."""
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)
    one, two, three = (None if count is None else min(count, 2**62) for count in counts)
    return one, two, three


def _blob(text: str) -> bytes:
    """Text as bytes that keep even a lone surrogate, which a judge's JSON may hold."""
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "surrogatepass")


def _store_error(path: Path, error: Exception) -> StoreError:
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
