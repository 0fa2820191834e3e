"""Every intent and outcome of every call, in SQLite: WAL, `synchronous=FULL`, one writer.

An attempt's intent is committed before a byte is sent and its outcome before anything else is done with
it, so a paid reply is never lost, and after a kill exactly the attempts still marked `sent` may have been
billed without an answer.

    requests   sha256 -> what is sent, images by hash
    calls      identity -> open | replied | failed      one row per (task, judge, settings, repeat, …)
    attempts   call -> sent | replied | failed | lost   one row per HTTP request

    calls           the nouns: key, stored call, attempt, totals
    ledger_tables   the tables, and the statements that write them
    writer          the thread that writes
    ledger          what is asked of it
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from beholder.errors import JudgeError, StoreError
from beholder.records import Reply, Usage
from beholder.store.calls import Attempt, CallKey, StoredCall, Totals
from beholder.store.ledger_tables import (
    SCHEMA,
    SCHEMA_VERSION,
    attempt_failed,
    begin_run,
    blob,
    call_failed,
    intend,
    replied,
    store_error,
    unblobbed,
)
from beholder.store.writer import Writer

LEDGER_FILE = "ledger.sqlite"


class Ledger:
    """The ledger of one out-dir, opened for writing.

    Raises:
        StoreError: It is damaged, or written by a newer version.
    """

    def __init__(self, path: Path) -> None:
        with contextlib.ExitStack() as opened:
            try:
                self._reader = sqlite3.connect(path, isolation_level=None)
                opened.callback(self._reader.close)
                self._reader.execute("PRAGMA journal_mode=WAL")
                version = self._reader.execute("PRAGMA user_version").fetchone()[0]
                if version > SCHEMA_VERSION:
                    raise StoreError(f"{path}: written by a newer beholder; update this one", slug="newer")
                if version == 0:
                    self._reader.executescript(f"BEGIN;{SCHEMA}COMMIT;")
                db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
                opened.callback(db.close)
                db.execute("PRAGMA synchronous=FULL")
                counted = self._reader.execute("SELECT count(*) FROM attempts WHERE state = 'sent'")
                lost = counted.fetchone()[0]
            except sqlite3.Error as error:
                raise store_error(path, error) from None
            opened.pop_all()
        self.lost_before = int(lost)
        """Attempts that were in flight when an earlier run died: possibly billed, asked again."""
        self._writer = Writer(path, db)
        try:
            self.run = self._writer.submit(begin_run).result()
        except StoreError:
            self.close()
            raise

    def find(self, key: CallKey) -> StoredCall | None:
        """What is known of a call, or None."""
        row = self._reader.execute(
            "SELECT id, state, slug, detail FROM calls WHERE identity = ?", (key.identity,)
        ).fetchone()
        if row is None:
            return None
        call_id, state, slug, detail = row
        if state != "replied":
            return StoredCall(state=state, slug=slug, detail=unblobbed(detail))
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
                text=unblobbed(reply),
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
            "SELECT key FROM calls WHERE task_id = ? AND state = 'replied'", (blob(task_id),)
        )
        keys = (json.loads(text) for (text,) in rows)
        return any((key["model"], key["evidence_sha256"]) == (model, evidence_sha256) for key in keys)

    async def intend(self, key: CallKey, request: Mapping[str, Any], number: int) -> Attempt:
        """Commit that a request is about to be sent."""
        record = json.dumps(request, sort_keys=True).encode("utf-8", "surrogatepass")
        return await asyncio.wrap_future(
            self._writer.submit(lambda db: intend(db, self.run, key, record, number))
        )

    async def replied(self, attempt: Attempt, reply: Reply) -> None:
        """Commit an answer; the call is done."""
        await asyncio.wrap_future(self._writer.submit(lambda db: replied(db, attempt, reply)))

    async def attempt_failed(self, attempt: Attempt, error: JudgeError) -> None:
        """Commit a failed attempt; the call stays open."""
        await asyncio.wrap_future(self._writer.submit(lambda db: attempt_failed(db, attempt, error)))

    async def call_failed(self, key: CallKey, error: JudgeError) -> None:
        """Commit that a call failed for good: it is asked again only if the user says so."""
        await asyncio.wrap_future(self._writer.submit(lambda db: call_failed(db, key, error)))

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
        self._writer.close()
        self._reader.close()


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
        copy_ledger_files(out_dir, Path(folder))
        ledger = Ledger(Path(folder) / LEDGER_FILE)
        try:
            yield ledger
        finally:
            ledger.close()


def copy_ledger_files(source: Path, target: Path) -> None:
    """Copy an out-dir's ledger, with what a killed run left in the write-ahead log, into another folder."""
    for name in (LEDGER_FILE, f"{LEDGER_FILE}-wal"):
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)
