"""The out-dir: lock, manifest, ledger, evidence files. While a run goes on, nobody else writes there."""

from beholder.store.calls import Attempt, CallKey, StoredCall
from beholder.store.ledger import LEDGER_FILE, Ledger, copy_ledger_files, ledger_copy
from beholder.store.lock import FolderLock
from beholder.store.names import safe_name, task_folder
from beholder.store.outdir import (
    ANY_MODEL,
    EVIDENCE_FILE,
    OutDir,
    check_pins,
    joint_models,
    json_number,
    no_results,
    read_json,
    read_rows,
    write_bytes,
    write_json,
)

__all__ = [
    "ANY_MODEL",
    "EVIDENCE_FILE",
    "LEDGER_FILE",
    "Attempt",
    "CallKey",
    "FolderLock",
    "Ledger",
    "OutDir",
    "StoredCall",
    "check_pins",
    "copy_ledger_files",
    "joint_models",
    "json_number",
    "ledger_copy",
    "no_results",
    "read_json",
    "read_rows",
    "safe_name",
    "task_folder",
    "write_bytes",
    "write_json",
]
