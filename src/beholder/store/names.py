"""Task ids as folder names."""

from __future__ import annotations

import hashlib
import re

RESERVED = {
    "archive",
    "judge_results.jsonl",
    "judge_summary.json",
    "manifest.json",
    "report.html",
    "report_evaluation.md",
    "run.json",
}
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|%\ud800-\udfff]')
# Names that Windows keeps for devices, with or without a suffix.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_MAX_BYTES = 180


def task_folder(task_id: str) -> str:
    """The folder of a task below the out-dir: its id, percent-encoded where it is no safe file name.

    Different ids give different names: what is encoded holds a percent sign, which an id keeps only
    encoded. A name over 180 bytes is cut and ends in a digest of the id.
    """
    lowered = task_id.lower()
    # The ledger's files, and the result table that a protocol names, lie beside the tasks' folders.
    own = lowered in RESERVED or lowered.startswith("ledger.sqlite") or lowered.endswith((".csv", ".xlsx"))
    return _safe(task_id, encode_first=own)


def safe_name(name: str) -> str:
    """A name as a file or folder name: percent-encoded, and cut with a digest, where it is no safe one.

    Different names give different ones.
    """
    return _safe(name, encode_first=False)


def _safe(given: str, *, encode_first: bool) -> str:
    name = _UNSAFE.sub(lambda match: _encoded(match[0]), given)
    if encode_first or name.startswith((".", " ")) or _DEVICE.fullmatch(name):
        name = _encoded(name[0]) + name[1:]
    if name.endswith((".", " ")):
        name = name[:-1] + _encoded(name[-1])
    raw = name.encode()
    if len(raw) > _MAX_BYTES:
        digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        name = raw[: _MAX_BYTES - 20].decode("utf-8", "ignore") + "%~" + digest
    return name


def _encoded(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
