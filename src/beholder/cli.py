"""argv -> one call -> exit code. Logic found here moves down a room.

Exit codes: 0 complete · 1 the run did not complete · 2 the user's files or flags · 3 complete with something
unscored · 100 `--fail-under` failed · 130 interrupted, resumable. If several hold: 130, 2, 1, 100, 3.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

import beholder
from beholder.errors import BeholderError, ConfigError, SpecError

EXIT_FAILED, EXIT_USER, EXIT_UNSCORED, EXIT_BELOW, EXIT_INTERRUPTED = 1, 2, 3, 100, 130


_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Commands(click.Group):
    """The command group: beholder's own errors end as one plain message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BeholderError as error:
            _fail(error)
        except (KeyboardInterrupt, asyncio.CancelledError):
            _say("Ended at once. Answers that had arrived are kept; run the same command again to go on.")
            sys.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:
            # The reader went away (`| head -1`): no traceback, and Python must not complain while closing.
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - until exit
            sys.exit(0)


class _DecimalType(click.ParamType[Decimal]):
    """A number, read as a decimal."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            number = Decimal(value)
        except InvalidOperation:
            self.fail(f"{value!r} is no number", param, ctx)
        if not number.is_finite():
            self.fail(f"{value!r} is no finite number", param, ctx)
        return number


def _option(*names: str, **kwargs: Any) -> Callable[[_Command], _Command]:
    """An option whose default may stand in `BEHOLDER_<FLAG>`."""
    longest = next(name for name in names if name.startswith("--"))
    kwargs.setdefault("envvar", "BEHOLDER_" + longest.strip("-").upper().replace("-", "_"))
    return click.option(*names, **kwargs)


_PATH = click.Path(path_type=Path)
_json_flag = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(beholder.__version__, prog_name="beholder")
def main() -> None:
    r"""How good are the pictures, pages and documents that models make?

    \b
    Try it:          beholder demo
    On your files:   beholder judge-run --tasks tasks.jsonl --run-dir runs/my-model \
                         --out-dir out --protocol gis-bench
    """


# --- judge-run ----------------------------------------------------------------------------------


@main.command(
    "judge-run",
    epilog=(
        "Example: beholder judge-run --protocol gis-bench --tasks tasks.jsonl --run-dir runs/a --out-dir out"
    ),
)
@_option("--tasks", required=True, type=_PATH, help="Task file: .jsonl, .json, .csv, .xlsx.")
@_option(
    "--run-dir",
    "run_dirs",
    required=True,
    multiple=True,
    metavar="[NAME=]PATH",
    help="One model's submissions; several times for several models.",
)
@_option("--out-dir", required=True, type=_PATH, help="Where results go; run again to resume.")
@_option("--protocol", required=True, help="Built-in id or protocol file (see `beholder protocols list`).")
@_option("--judge", help="provider/name; the protocol's own if left out.")
@_option("--visual-judge-model", help="The same, for the visual route.")
@_option("--judge-name", help="Word in the folder names semantic_<name>_visual_judge.")
@_option(
    "--model-base-url", "--base-url", "base_url", help="Address of an OpenAI-compatible server or a proxy."
)
@_option("--api-key-env", metavar="NAME", help="Variable that holds the key.")
@_option("--max-tokens", type=click.IntRange(min=1), help="Cap of the reply.")
@_option("--temperature", type=_DecimalType(), help="Left out: the protocol's, else the vendor's default.")
@click.option("-M", "settings", multiple=True, metavar="KEY=VALUE", help="Further vendor setting.")
@_option("--prompt-file", type=_PATH, help="Your own wording, used byte for byte.")
@_option("--columns", metavar="OURS=THEIRS,…", help="Names of your columns, where they differ.")
@_option("--limit", type=click.IntRange(min=1), help="Only the first N tasks.")
@_option("--task-id", "task_ids", multiple=True, help="Only this task; several times for several.")
@_option("--repeats", "--epochs", "repeats", type=click.IntRange(min=1), help="Judgements per task.")
@_option(
    "--max-connections", type=click.IntRange(min=1), default=10, show_default=True, help="Calls at a time."
)
@_option(
    "--max-retries",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Further attempts per call.",
)
@_option(
    "--timeout", type=click.FloatRange(min=0.1), default=120.0, show_default=True, help="Seconds per attempt."
)
@_option("--min-interval", type=click.FloatRange(min=0), help="Seconds between the starts of two calls.")
@_option("--network", metavar="block|allow|HOST,…", help="Outside hosts that pages may reach.")
@_option("--max-output-images", type=click.IntRange(min=1), help="Images per submission.")
@_option("--max-output-pages", type=click.IntRange(min=1), help="Pages per document.")
@_option("--max-output-text-chars", type=click.IntRange(min=1), help="Characters of text per submission.")
@click.option("--retry-unscored", is_flag=True, help="Ask again where a call had failed for good.")
@click.option("--force", is_flag=True, help="Archive what the out-dir holds and begin anew.")
@_option("--fail-under", type=_DecimalType(), help="Exit 100 if the mean's lower bound is below this.")
@_option(
    "--display", type=click.Choice(["rich", "plain", "none"]), help="Progress; fits the terminal by itself."
)
@_json_flag
def judge_run_command(**flags: Any) -> None:
    """Judge submissions: evidence, judge, strict reply, score, report. Resumes by itself."""
    from beholder.run import RunSpec, judge_run, parse_network, parse_run_dirs

    spec = RunSpec(
        tasks=flags["tasks"],
        run_dirs=parse_run_dirs(flags["run_dirs"]),
        out_dir=flags["out_dir"],
        protocol=flags["protocol"],
        judge=flags["visual_judge_model"] or flags["judge"],
        prompt_file=flags["prompt_file"],
        columns=_pairs(",".join(filter(None, [flags["columns"]])).split(","), "--columns"),
        limit=flags["limit"],
        task_ids=flags["task_ids"],
        repeats=flags["repeats"],
        judge_name=flags["judge_name"],
        base_url=flags["base_url"],
        api_key_env=flags["api_key_env"],
        max_tokens=flags["max_tokens"],
        temperature=flags["temperature"],
        settings={key: _setting(value) for key, value in _pairs(flags["settings"], "-M").items()},
        max_connections=flags["max_connections"],
        max_retries=flags["max_retries"],
        timeout_s=flags["timeout"],
        min_interval_s=flags["min_interval"],
        network=parse_network(flags["network"]),
        max_output_images=flags["max_output_images"],
        max_output_pages=flags["max_output_pages"],
        max_output_text_chars=flags["max_output_text_chars"],
        retry_unscored=flags["retry_unscored"],
        force=flags["force"],
    )
    result = judge_run(spec, display=flags["display"] or _display(), say=_say)
    _show_result(result, as_json=flags["as_json"], fail_under=flags["fail_under"])


@main.command(epilog="Example: beholder demo --out-dir my-demo")
@_option("--out-dir", type=_PATH, default=Path("beholder-demo"), show_default=True, help="Where results go.")
@_json_flag
def demo(out_dir: Path, *, as_json: bool) -> None:
    """Judge ten sample maps of two models: real rendering, scripted replies, no key, no network."""
    from beholder.demo import demo_spec
    from beholder.run import judge_run

    with demo_spec(out_dir) as spec:
        result = judge_run(spec, display=_display(), say=_say)
    _show_result(result, as_json=as_json, fail_under=None, expected_unscored=True)


def _show_result(
    result: Any, *, as_json: bool, fail_under: Decimal | None, expected_unscored: bool = False
) -> NoReturn:
    from rich.console import Console

    from beholder.report.terminal import results_table

    for problem in result.progress.problems:
        _say(f"A call failed: {problem}")
    if as_json:
        _print_json(result.summary)
    else:
        console = Console(width=None if sys.stdout.isatty() else 160)
        console.print(results_table(result.models, plain=not console.is_terminal))
        console.print(f"Report: {result.report}", highlight=False, soft_wrap=True)
    if result.stopped == "interrupted":
        _say("Interrupted. Nothing is lost: run the same command again to go on.")
        sys.exit(EXIT_INTERRUPTED)
    if result.stopped is not None:
        _say(f"The run did not complete: {result.message}\nRun the same command again once that is mended.")
        sys.exit(EXIT_FAILED)
    if fail_under is not None and any(_below(s, fail_under) for s in result.models.values()):
        _say(f"Below --fail-under {fail_under} (the lower bound counts).")
        sys.exit(EXIT_BELOW)
    sys.exit(EXIT_UNSCORED if result.unscored and not expected_unscored else 0)


def _below(summary: Mapping[str, Any], threshold: Decimal) -> bool:
    bounds = summary["mean_bounds"]
    return bounds is None or Decimal(str(bounds[0])) < threshold


# --- protocols ----------------------------------------------------------------------------------


@main.group(epilog="Example: beholder protocols show gis-bench")
def protocols() -> None:
    """Built-in protocols and your own."""


@protocols.command("list", epilog="Example: beholder protocols list --json")
@_json_flag
def protocols_list(*, as_json: bool) -> None:
    """The built-in protocols."""
    from beholder.protocols import builtin_ids, load_protocol

    found = [load_protocol(name) for name in builtin_ids()]
    if as_json:
        _print_json([{"id": protocol.id, "title": protocol.title} for protocol in found])
        return
    for protocol in found:
        click.echo(f"{protocol.id:20} {protocol.title}")


@protocols.command("show", epilog="Example: beholder protocols show web-page --prompt")
@click.argument("protocol")
@click.option("--prompt", "only_prompt", is_flag=True, help="Only the prompt's template, as it is sent.")
@_json_flag
def protocols_show(protocol: str, *, only_prompt: bool, as_json: bool) -> None:
    """A protocol's file, its prompt and its hashes."""
    from beholder.protocols import describe_protocol, load_protocol, protocol_text

    loaded = load_protocol(protocol)
    if as_json:
        _print_json(describe_protocol(loaded))
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
@click.argument("file", type=_PATH)
@_json_flag
def protocols_check(file: Path, *, as_json: bool) -> None:
    """Check a protocol file; every mistake is listed."""
    from beholder.protocols import describe_protocol, load_protocol

    described = describe_protocol(load_protocol(file))
    if as_json:
        _print_json(described)
        return
    click.echo(f"{file}: good. {described['id']}, {len(described['criteria'])} criteria")
    for name, value in described["hashes"].items():
        click.echo(f"  {name} {value}")


@protocols.command("new", epilog="Example: beholder protocols new poster-review")
@click.argument("name")
@click.option("--out", type=_PATH, help="File to write; NAME.toml if left out.")
def protocols_new(name: str, out: Path | None) -> None:
    """Write a commented starter file for a protocol of your own."""
    from beholder.protocols import write_starter

    path = write_starter(name, out)
    click.echo(f"{path}: edit it, then: beholder protocols check {path}")


@protocols.command("pin", epilog="Example: beholder protocols pin gis-bench --prompt-file published.txt")
@click.argument("protocol")
@click.option("--prompt-file", type=_PATH, required=True, help="The published wording.")
@_json_flag
def protocols_pin(protocol: str, prompt_file: Path, *, as_json: bool) -> None:
    """Hashes of a protocol with your own wording, to publish beside your numbers."""
    from beholder.protocols import describe_protocol, load_protocol

    described = describe_protocol(load_protocol(protocol, prompt_file=prompt_file))
    if as_json:
        _print_json(described)
        return
    click.echo(f"{described['id']} with the wording of {prompt_file}:")
    click.echo(f"  prompt sha256   {described['prompt']['sha256']}")
    click.echo(f"  question_sha256 {described['hashes']['question_sha256']}")
    found = ", ".join(described["prompt"]["placeholders"]) or "none"
    click.echo(f"  placeholders    {found}")
    click.echo(f"Run it:  beholder judge-run --protocol {protocol} --prompt-file {prompt_file} …")
    click.echo("Pin it in a protocol file of your own:")
    click.echo(f'  [prompt]\n  file = "{prompt_file.name}"\n  sha256 = "{described["prompt"]["sha256"]}"')


# --- replies ------------------------------------------------------------------------------------


@main.command("parse-reply", epilog="Example: beholder parse-reply --protocol gis-bench < reply.txt")
@click.option("--criteria", type=_PATH, help="SPEC.json: reply_format, criteria, optional score.")
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
    _print_json(parse_reply(_stdin_text(), spec, stop_reason=stop_reason))


@main.command("score-replies", epilog="Example: beholder score-replies --protocol gis-bench < replies.json")
@click.option("--protocol", required=True, help="Built-in id or protocol file.")
@click.option("--pass-at", type=_DecimalType(), help="Another pass mark.")
@click.option("--json", "as_json", is_flag=True, help="Accepted; the output is JSON anyway.")
def score_replies_command(protocol: str, pass_at: Decimal | None, *, as_json: bool) -> None:
    """A JSON list of replies on stdin, one per repeat (null: the call failed), to one result."""
    del as_json
    from beholder.protocols import load_protocol
    from beholder.replies import score_replies

    try:
        replies = json.loads(_stdin_text())
    except ValueError as error:
        raise ConfigError(f"stdin: not JSON: {error}") from None
    if not isinstance(replies, list) or not all(item is None or isinstance(item, str) for item in replies):
        raise ConfigError("stdin: expected a JSON list of texts, with null for a call that failed")
    _print_json(score_replies(replies, load_protocol(protocol), pass_at=pass_at))


# --- report -------------------------------------------------------------------------------------


@main.command("report", epilog="Example: beholder report out")
@click.argument("out_dirs", nargs=-1, required=True, type=_PATH)
@_json_flag
def report_command(out_dirs: tuple[Path, ...], *, as_json: bool) -> None:
    """Rebuild the reports of out-dirs; no call, no rendering."""
    from beholder.report import rebuild_reports

    written = [str(path) for out_dir in out_dirs for path in rebuild_reports(out_dir)]
    if as_json:
        _print_json({"written": written})
        return
    for path in written:
        click.echo(path)


# --- helpers ------------------------------------------------------------------------------------


def _display() -> Any:
    return "rich" if sys.stderr.isatty() else "plain"


def _say(line: str) -> None:
    click.echo(line, err=True)


def _print_json(value: Any) -> None:
    """Strict JSON in UTF-8, whatever the locale."""
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


def _stdin_text() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _pairs(items: Any, flag: str) -> dict[str, str]:
    found = {}
    for item in items:
        if not item:
            continue
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{flag} {item!r}: write NAME=VALUE", concerns=flag)
        found[key.strip()] = value.strip()
    return found


def _setting(value: str) -> Any:
    """A vendor setting's value: JSON where it is JSON, else text."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _fail(error: BeholderError) -> NoReturn:
    if "--json" in sys.argv:
        _print_json({"error": error.slug, "message": str(error), "concerns": error.concerns})
    _say(f"Error: {error}")
    # An out-dir that is pinned to other inputs is the wrong flag; one that is locked or damaged is not.
    users = isinstance(error, SpecError) or error.slug in {"pinned", "newer", "no_results"}
    sys.exit(EXIT_USER if users else EXIT_FAILED)
