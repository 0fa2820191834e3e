"""argv -> one call -> exit code. Logic found here moves down a room."""

from __future__ import annotations

import click

import beholder
from beholder.cli import compare, doctor, evidence, export, protocols, replies, rescore, runs, validate
from beholder.cli.common import Commands
from beholder.detection.commands import detect


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(beholder.__version__, prog_name="beholder")
def main() -> None:
    """How good are the pictures, pages and documents that models make?

    \b
    Try it:          beholder demo
    On your files:   beholder judge-run --tasks tasks.jsonl --run-dir runs/my-model \\
                         --out-dir out --protocol gis-bench
    """  # noqa: D301 - click wants a real backspace to keep the lines apart


for command in (
    runs.judge_run_command,
    runs.demo,
    runs.report_command,
    compare.compare_command,
    protocols.protocols,
    replies.parse_reply_command,
    replies.score_replies_command,
    doctor.doctor_command,
    validate.validate_run_command,
    evidence.evidence_command,
    rescore.rescore_command,
    export.export_command,
    detect,
):
    main.add_command(command)
