"""Protocol files -> `Protocol`: load, check, hash; the built-in ones lie in `builtin/` as files."""

from beholder.protocols.hashes import digest, evidence_sha256, formula_sha256, question_sha256
from beholder.protocols.load import builtin_ids, load_protocol

__all__ = [
    "builtin_ids",
    "digest",
    "evidence_sha256",
    "formula_sha256",
    "load_protocol",
    "question_sha256",
]
