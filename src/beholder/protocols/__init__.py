"""Protocol files -> `Protocol`: load, check, hash; the built-in ones lie in `builtin/` as files."""

from beholder.protocols.describe import describe_protocol
from beholder.protocols.hashes import digest, evidence_sha256, formula_sha256, question_sha256
from beholder.protocols.load import (
    builtin_ids,
    load_protocol,
    parse_criteria,
    parse_score,
    protocol_text,
)
from beholder.protocols.starter import write_starter
from beholder.protocols.template import BUILT_IN_PLACEHOLDERS

__all__ = [
    "BUILT_IN_PLACEHOLDERS",
    "builtin_ids",
    "describe_protocol",
    "digest",
    "evidence_sha256",
    "formula_sha256",
    "load_protocol",
    "parse_criteria",
    "parse_score",
    "protocol_text",
    "question_sha256",
    "write_starter",
]
