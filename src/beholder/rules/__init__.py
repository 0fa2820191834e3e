"""Rules that need no judge: `evaluation.rule_based` of a task, checked on a submission's files."""

from __future__ import annotations

from beholder.rules.check import check_rules
from beholder.rules.parse import RULE_TYPES, parse_rules

__all__ = ["RULE_TYPES", "check_rules", "parse_rules"]
