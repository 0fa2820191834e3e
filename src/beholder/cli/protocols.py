"""`protocols list|show|check|new|pin`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from beholder.cli.common import EXIT_USER, PATH, json_flag, print_json

if TYPE_CHECKING:
    from beholder.records import Protocol


@click.group(epilog="Example: beholder protocols show gis-bench")
def protocols() -> None:
    """Built-in protocols and your own."""


@protocols.command("list", epilog="Example: beholder protocols list --json")
@json_flag
def protocols_list(*, as_json: bool) -> None:
    """The built-in protocols."""
    from beholder.protocols import builtin_ids, load_protocol

    found = [load_protocol(name) for name in builtin_ids()]
    if as_json:
        print_json([{"id": protocol.id, "title": protocol.title} for protocol in found])
        return
    for protocol in found:
        click.echo(f"{protocol.id:20} {protocol.title}")


@protocols.command("show", epilog="Example: beholder protocols show web-page --prompt")
@click.argument("protocol")
@click.option("--prompt", "only_prompt", is_flag=True, help="Only the prompt's template, as it is sent.")
@json_flag
def protocols_show(protocol: str, *, only_prompt: bool, as_json: bool) -> None:
    """A protocol's file, its prompt and its hashes."""
    from beholder.protocols import describe_protocol, load_protocol, protocol_text

    loaded = load_protocol(protocol)
    if as_json:
        print_json(describe_protocol(loaded))
    elif only_prompt:
        click.echo(loaded.prompt.template, nl=False)
    else:
        hashes = describe_protocol(loaded)["hashes"]
        click.echo(protocol_text(protocol))
        click.echo(f"# --- prompt ({loaded.prompt.source}) ---")
        click.echo("".join(f"# {line}\n" for line in loaded.prompt.template.splitlines()), nl=False)
        for name, value in hashes.items():
            click.echo(f"# {name} = {value}")


@protocols.command("check", epilog="Example: beholder protocols check my-protocol.toml")
@click.argument("file")
@json_flag
def protocols_check(file: str, *, as_json: bool) -> None:
    """Check a protocol file: every mistake at once, with its line and what to do.

    Exit codes: 0 the file is good, 2 it is not.
    """
    from beholder.protocols import describe_protocol, find_problems, load_protocol, undeclared_placeholders

    problems = find_problems(file)
    if problems and as_json:
        told = [
            {"line": one.line, "where": ".".join(map(str, one.path)), "message": one.message}
            for one in problems
        ]
        message = f"{file}: {len(problems)} problem{'s' if len(problems) > 1 else ''}"
        print_json({"ok": False, "error": "protocol", "message": message, "problems": told})
    elif problems:
        for one in problems:
            click.echo(f"{file}:{one.line}: {one.words}" if one.line else f"{file}: {one.words}")
        click.echo(f"{len(problems)} problem{'s' if len(problems) > 1 else ''}.")
    if problems:
        sys.exit(EXIT_USER)
    protocol = load_protocol(file)
    described, loose = describe_protocol(protocol), undeclared_placeholders(protocol)
    notes = _notes(protocol)
    if as_json:
        print_json({"ok": True, **described, "sent_as_it_stands": loose, "notes": notes})
        return
    count = len(described["criteria"])
    click.echo(f"{file}: good. {described['id']}, {count} criteri{'on' if count == 1 else 'a'}")
    for name, value in described["hashes"].items():
        click.echo(f"  {name} {value}")
    for name in loose:
        click.echo(f"note: {{{name}}} is no placeholder of [prompt], so it is sent as it stands")
    for note in notes:
        click.echo(f"note: {note}")


def _notes(protocol: Protocol) -> list[str]:
    """What a protocol may say, and hardly anybody means."""
    from beholder.protocols import builtin_ids
    from beholder.records import SHOWN_SUFFIXES
    from beholder.scoring import score_range

    notes = []
    low, high = score_range(protocol.score, protocol.criteria)
    mark = protocol.score.pass_at
    if mark is not None and not low < mark <= high:
        result = "every task that is scored passes" if mark <= low else "no task can pass"
        notes.append(f"score.pass_at = {mark} and main runs from {float(low):g} to {float(high):g}: {result}")
    strange = [suffix for suffix in protocol.routing.visual if suffix not in SHOWN_SUFFIXES]
    if strange:
        notes.append(
            f"routing.visual: nothing here shows {', '.join(strange)}; a task with only such a file stays "
            "unscored (missing_tool)"
        )
    if protocol.id in builtin_ids() and protocol.source != protocol.id:
        notes.append(
            f"id = {protocol.id!r} is a built-in protocol's; choose another, or results are mixed up"
        )
    return notes


@protocols.command("new", epilog="Example: beholder protocols new poster-review")
@click.argument("name")
@click.option("--out", type=PATH, help="File to write; NAME.toml if left out.")
def protocols_new(name: str, out: Path | None) -> None:
    """Write a commented starter file for a protocol of your own, and the schema that editors check it by."""
    from beholder.protocols import write_starter

    path = write_starter(name, out)
    click.echo(f"{path}: edit it, then: beholder protocols check {path}")


@protocols.command("pin", epilog="Example: beholder protocols pin gis-bench --prompt-file published.txt")
@click.argument("protocol")
@click.option("--prompt-file", type=PATH, required=True, help="The published wording.")
@json_flag
def protocols_pin(protocol: str, prompt_file: Path, *, as_json: bool) -> None:
    """Hashes of a protocol with your own wording, to publish beside your numbers."""
    from beholder.protocols import describe_protocol, load_protocol

    loaded = load_protocol(protocol, prompt_file=prompt_file)
    described = describe_protocol(loaded)
    if as_json:
        print_json(described)
        return
    click.echo(f"{described['id']} with the wording of {prompt_file}:")
    click.echo(f"  prompt sha256   {described['prompt']['sha256']}")
    click.echo(f"  question_sha256 {described['hashes']['question_sha256']}")
    found = ", ".join(described["prompt"]["placeholders"]) or "none"
    click.echo(f"  placeholders    {found}")
    if re.search(r"\{\{.*\}\}", loaded.prompt.template, re.DOTALL):
        click.echo(
            "note: {{ and }} are sent as they stand; if the wording was doubled for a program's format"
        )
        click.echo("      function, save it with single ones")
    click.echo(f"Run it:  beholder judge-run --protocol {protocol} --prompt-file {prompt_file} …")
    click.echo("Pin it in a protocol file of your own:")
    placeholders = ", ".join(f'"{name}"' for name in described["prompt"]["placeholders"])
    click.echo(f'  [prompt]\n  file = "{prompt_file.name}"')
    click.echo(f'  placeholders = [{placeholders}]\n  sha256 = "{described["prompt"]["sha256"]}"')
