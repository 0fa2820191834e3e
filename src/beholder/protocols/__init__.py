"""Protocol files -> `Protocol`: load, check, hash; the built-in ones lie in `builtin/` as files."""

from beholder.protocols.describe import describe_protocol
from beholder.protocols.finding import Finding
from beholder.protocols.hashes import digest, evidence_sha256, formula_sha256, question_sha256
from beholder.protocols.load import (
    builtin_ids,
    find_problems,
    load_protocol,
    parse_criteria,
    parse_score,
    protocol_text,
)
from beholder.protocols.per_task import (
    criterion_record,
    prompt_fields,
    protocol_for,
    task_columns,
    with_criteria,
)
from beholder.protocols.schema import protocol_json_schema
from beholder.protocols.starter import write_starter
from beholder.protocols.template import BUILT_IN_PLACEHOLDERS, undeclared_placeholders

__all__ = [
    "BUILT_IN_PLACEHOLDERS",
    "Finding",
    "builtin_ids",
    "criterion_record",
    "describe_protocol",
    "digest",
    "evidence_sha256",
    "find_problems",
    "formula_sha256",
    "load_protocol",
    "parse_criteria",
    "parse_score",
    "prompt_fields",
    "protocol_for",
    "protocol_json_schema",
    "protocol_text",
    "question_sha256",
    "task_columns",
    "undeclared_placeholders",
    "with_criteria",
    "write_starter",
]
