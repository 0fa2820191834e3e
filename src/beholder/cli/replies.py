"""`parse-reply` and `score-replies`: replies without a run."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import click

from beholder.cli.common import PATH, DecimalType, print_json, stdin_text
from beholder.errors import ConfigError


@click.command("parse-reply", epilog="Example: beholder parse-reply --protocol gis-bench < reply.txt")
@click.option("--criteria", type=PATH, help="SPEC.json: reply_format, criteria, optional score.")
@click.option("--protocol", help="Built-in id or protocol file.")
@click.option("--stop-reason", help="What the vendor reported, such as max_tokens.")
@click.option("--json", "as_json", is_flag=True, help="Accepted; the output is JSON anyway.")
def parse_reply_command(
    criteria: Path | None, protocol: str | None, stop_reason: str | None, *, as_json: bool
) -> None:
    """One reply on stdin to one outcome."""
    del as_json
    from beholder.protocols import load_protocol
    from beholder.replies import load_reply_spec, parse_reply

    if (criteria is None) == (protocol is None):
        raise click.UsageError("say either --criteria SPEC.json or --protocol P")
    spec = load_reply_spec(criteria) if criteria else load_protocol(str(protocol))
    print_json(parse_reply(stdin_text(), spec, stop_reason=stop_reason))


@click.command("score-replies", epilog="Example: beholder score-replies --protocol gis-bench < replies.json")
@click.option("--protocol", required=True, help="Built-in id or protocol file.")
@click.option("--pass-at", type=DecimalType(), help="Another pass mark.")
@click.option("--json", "as_json", is_flag=True, help="Accepted; the output is JSON anyway.")
def score_replies_command(protocol: str, pass_at: Decimal | None, *, as_json: bool) -> None:
    """A JSON list of replies on stdin, one per repeat (null: the call failed), to one result."""
    del as_json
    from beholder.protocols import load_protocol
    from beholder.replies import score_replies

    try:
        replies = json.loads(stdin_text())
    except ValueError as error:
        raise ConfigError(f"stdin: not JSON: {error}") from None
    if not isinstance(replies, list) or not all(item is None or isinstance(item, str) for item in replies):
        raise ConfigError("stdin: expected a JSON list of texts, with null for a call that failed")
    print_json(score_replies(replies, load_protocol(protocol), pass_at=pass_at))
