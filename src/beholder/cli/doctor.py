"""`doctor`: what this machine has and lacks."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path

import click

from beholder.cli.common import EXIT_FAILED, json_flag, print_json


@click.command("doctor", epilog="Example: beholder doctor")
@json_flag
def doctor_command(*, as_json: bool) -> None:
    """Browser, sandbox, fonts, office suite, video and keys: what is here, and how to get what is not.

    Keys are told by name, never by value. Exit codes: 0 web pages and pictures can be judged here, 1 not.
    """
    from beholder.doctor import examine, works
    from beholder.report.terminal import visible

    checks = examine(os.environ, Path.cwd())
    ok = works(checks)
    if as_json:
        print_json({"ok": ok, "checks": [asdict(check) for check in checks]})
        sys.exit(0 if ok else EXIT_FAILED)
    width = max(len(check.name) for check in checks)
    group = ""
    for check in checks:
        if check.group != group:
            group = check.group
            click.echo(f"{group}:")
        click.echo(visible(f"  {check.status:8} {check.name:{width}}  {check.detail}"))
        if check.fix:
            click.echo(visible(f"  {'':8} {'':{width}}  -> {check.fix}"))
    click.echo(
        "Web pages and pictures can be judged here." if ok else "Pages and pictures cannot be judged yet."
    )
    sys.exit(0 if ok else EXIT_FAILED)
