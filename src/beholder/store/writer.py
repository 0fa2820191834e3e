"""The one thread that writes to a database, so that a disk flush never blocks the event loop.

It commits whatever has queued up meanwhile together: a flush is shared by the writes of one moment.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from beholder.store.ledger_tables import store_error

T = TypeVar("T")
_Job = tuple[Callable[[sqlite3.Connection], Any], Future[Any]]


class Writer:
    """Does work on a database in a thread of its own.

    Args:
        path: Of the database, for messages.
        db: An open connection (`check_same_thread=False`), which is the writer's from now on.
    """

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self._path = path
        self._db = db
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="ledger", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Queue some work. The future is done once it is committed, or holds why it was not.

        SQLite's errors come as `StoreError`, others as they are.
        """
        future: Future[T] = Future()
        # Marked as running at once: a cancelled waiter must not take its write out of the queue.
        future.set_running_or_notify_cancel()
        self._jobs.put((work, future))
        return future

    def close(self) -> None:
        """Write what is queued and close the connection. Safe to call twice."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()

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
            future.set_exception(
                store_error(self._path, problem) if isinstance(problem, sqlite3.Error) else problem
            )
        for future, result in done:
            future.set_result(result)
