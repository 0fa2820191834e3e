"""`judge-run`, `demo` and `report`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from beholder.cli.common import (
    EXIT_BELOW,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_UNSCORED,
    PATH,
    DecimalType,
    Seconds,
    display_style,
    evidence_options,
    evidence_settings,
    json_flag,
    option,
    pairs,
    print_json,
    reader_may_leave,
    say,
    setting,
)
from beholder.errors import ConfigError

if TYPE_CHECKING:
    from beholder.run.estimate import Estimate

_OF_CALLS = frozenset(("rate_limited", "timeout", "rejected", "unavailable", "budget", "cancelled"))
"""Reasons of tasks whose calls failed, which is told call by call."""

_OF_EVIDENCE = frozenset(("missing_tool", "render_failed", "blocked_resources", "evidence_too_large"))
"""Reasons of tasks that nobody was asked about: they are tried anew by each run."""

_COSTS = ("cost_usd", "worst_cost_usd")


@click.command(
    "judge-run",
    epilog=(
        "Example: beholder judge-run --protocol gis-bench --tasks tasks.jsonl --run-dir runs/a --out-dir out"
    ),
)
@option("--tasks", required=True, type=PATH, help="Task file: .jsonl, .json, .csv, .xlsx.")
@option(
    "--run-dir",
    "run_dirs",
    type=click.Path(),
    required=True,
    multiple=True,
    metavar="[NAME=]PATH",
    help="One model's submissions; several times for several models.",
)
@option("--out-dir", required=True, type=PATH, help="Where results go; run again to resume.")
@option(
    "--protocol",
    help="Built-in id or protocol file (see `beholder protocols list`); left out: enterprise-claw, where the "
    "tasks have a semantic_rubric.",
)
@option("--judge", help="provider/name; the protocol's own if left out.")
@option("--visual-judge-model", help="The same, for what can be seen.")
@option("--text-judge-model", help="The same, for text, where the protocol has a text route.")
@option("--judge-name", help="Word in the folder names semantic_<name>_visual_judge and …_text_judge.")
@option(
    "--model-base-url", "--base-url", "base_url", help="Address of an OpenAI-compatible server or a proxy."
)
@option("--api-key-env", metavar="NAME", help="Variable that holds the key.")
@option("--max-tokens", type=click.IntRange(min=1), help="Cap of the reply.")
@option(
    "--temperature", type=DecimalType(least=0), help="Left out: the protocol's, else the vendor's default."
)
@click.option("-M", "settings", multiple=True, metavar="KEY=VALUE", help="Further vendor setting.")
@option("--prompt-file", type=PATH, help="Your own wording, used byte for byte.")
@option("--columns", metavar="OURS=THEIRS,…", help="Names of your columns, where they differ.")
@option("--limit", type=click.IntRange(min=1), help="Only the first N tasks.")
@option("--task-id", "task_ids", multiple=True, help="Only this task; several times for several.")
@option("--repeats", "--epochs", "repeats", type=click.IntRange(min=1), help="Judgements per task.")
@option(
    "--max-connections", type=click.IntRange(min=1), default=10, show_default=True, help="Calls at a time."
)
@option(
    "--max-retries",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Further attempts per call.",
)
@option("--timeout", type=Seconds(min=0.1), default=120.0, show_default=True, help="Seconds per attempt.")
@option("--min-interval", type=Seconds(min=0), help="Seconds between the starts of two calls.")
@evidence_options("submission")
@option(
    "--max-cost",
    type=DecimalType(least=0),
    metavar="USD",
    help="Stop before the out-dir's replies cost more than this.",
)
@option("--price", metavar="IN,OUT", help="USD per million tokens, for a judge without a known price.")
@option("--dry-run", is_flag=True, help="Count items, calls, images, tokens and cost; ask nobody.")
@option("--retry-unscored", is_flag=True, help="Ask again where a call had failed for good.")
@option("--force", is_flag=True, help="Archive what the out-dir holds and begin anew.")
@option("--fail-under", type=DecimalType(), help="Exit 100 if the mean's lower bound is below this.")
@option(
    "--display", type=click.Choice(["rich", "plain", "none"]), help="Progress; fits the terminal by itself."
)
@json_flag
def judge_run_command(**flags: Any) -> None:
    """Judge submissions: evidence, judge, strict reply, score, report. Resumes by itself."""
    from beholder.run.conductor import judge_run
    from beholder.run.estimate import estimate_run
    from beholder.run.spec import RunSpec, parse_price, parse_run_dirs

    spec = RunSpec(
        tasks=flags["tasks"],
        run_dirs=parse_run_dirs(flags["run_dirs"]),
        out_dir=flags["out_dir"],
        protocol=flags["protocol"],
        judge=flags["judge"],
        visual_judge=flags["visual_judge_model"],
        text_judge=flags["text_judge_model"],
        prompt_file=flags["prompt_file"],
        columns=pairs(",".join(filter(None, [flags["columns"]])).split(","), "--columns"),
        limit=flags["limit"],
        task_ids=flags["task_ids"],
        repeats=flags["repeats"],
        judge_name=flags["judge_name"],
        base_url=flags["base_url"],
        api_key_env=flags["api_key_env"],
        max_tokens=flags["max_tokens"],
        temperature=flags["temperature"],
        settings={key: setting(value) for key, value in pairs(flags["settings"], "-M").items()},
        max_connections=flags["max_connections"],
        max_retries=flags["max_retries"],
        timeout_s=flags["timeout"],
        min_interval_s=flags["min_interval"],
        **evidence_settings(flags),
        max_cost=flags["max_cost"],
        price=parse_price(flags["price"]),
        retry_unscored=flags["retry_unscored"],
        force=flags["force"],
    )
    if flags["dry_run"]:
        _show_estimate(estimate_run(spec), as_json=flags["as_json"])
        return
    result = judge_run(spec, display=flags["display"] or display_style(), say=say)
    _show_result(result, as_json=flags["as_json"], fail_under=flags["fail_under"])


@click.command(epilog="Example: beholder demo --protocol enterprise-claw")
@option(
    "--protocol",
    default="gis-bench",
    show_default=True,
    help="Whose samples: gis-bench, web-page, math-media or enterprise-claw.",
)
@option("--out-dir", type=PATH, help="Where results go.  [default: beholder-demo, with the protocol's name]")
@option("--samples", type=PATH, metavar="DIR", help="Copy the samples into a new folder, and judge nothing.")
@json_flag
def demo(protocol: str, out_dir: Path | None, samples: Path | None, *, as_json: bool) -> None:
    """Judge samples of two models: real rendering, scripted replies, no key, no network.

    Without --protocol: ten maps, and invented boxes on invented pictures, where no judge is needed.
    """
    from beholder.demo import DEFAULT, copy_samples, demo_spec, find_example
    from beholder.detection.demo import run_demo
    from beholder.run.conductor import judge_run

    name, example = find_example(protocol)
    if samples is not None:
        copied = copy_samples(name, samples)
        if as_json:
            print_json({"samples": str(copied)})
        else:
            click.echo(f"Samples: {copied}; the commands to type stand in {copied / 'README.md'}")
        return
    out = out_dir or Path("beholder-demo" if name == DEFAULT else f"beholder-demo-{name}")
    with demo_spec(out, name) as spec:
        result = judge_run(spec, display=display_style(), say=say)
    if name == DEFAULT:
        run_demo(out / "boxes")
        say(f"Boxes, real numbers without any judge: {out / 'boxes' / 'report.html'}")
    reasons = sum((Counter(summary["unscored"]) for summary in result.models.values()), Counter())
    _show_result(result, as_json=as_json, fail_under=None, as_designed=reasons == example.unscored)


def _show_estimate(estimate: Estimate, *, as_json: bool) -> None:
    if as_json:
        members = asdict(estimate)
        costs = {name: None if members[name] is None else float(members[name]) for name in _COSTS}
        print_json({**members, **costs, "dry_run": True})
        return
    nothing = estimate.items - estimate.to_judge
    empty = f" ({nothing} with nothing to look at)" if nothing else ""
    reused = f" ({estimate.reused} reused)" if estimate.reused else ""
    click.echo(f"Judge         {estimate.judge}")
    click.echo(f"Items         {estimate.items}{empty}")
    click.echo(f"Calls         {estimate.calls}{reused}")
    click.echo(f"Images        about {estimate.images}")
    click.echo(f"Tokens        about {estimate.input_tokens} in, {estimate.output_tokens} out")
    if estimate.cost_usd is None:
        click.echo("Cost          price unknown; say --price IN,OUT (USD per million tokens)")
    else:
        click.echo(f"Cost          about ${estimate.cost_usd:.2f}, at most ${estimate.worst_cost_usd:.2f}")


def _show_result(
    result: Any, *, as_json: bool, fail_under: Decimal | None, as_designed: bool = False
) -> NoReturn:
    from rich.console import Console

    from beholder.report.terminal import results_table, visible

    for problem in result.progress.problems:
        say(f"A call failed: {problem}")
    if as_json:
        print_json(result.summary)
    else:
        console = Console(width=None if sys.stdout.isatty() else 160)
        # Captured, because rich ends the process with a code of its own when the reader has gone.
        with console.capture() as table:
            console.print(results_table(result.models, plain=not console.is_terminal))
        with reader_may_leave():
            click.echo(table.get(), nl=False)
            click.echo(f"Report: {result.report}")
        for reason, (task_id, why) in sorted(result.progress.unscored.items()):
            if reason not in _OF_CALLS:
                say(visible(f"Unscored, such as {task_id!r}: {why}"))
    if (
        result.stopped is None
        and not as_designed
        and any(set(summary["unscored"]) - _OF_EVIDENCE for summary in result.models.values())
    ):
        say("With --retry-unscored the same command asks again where a call failed or a reply was of no use.")
    if result.stopped == "interrupted":
        say("Interrupted. Nothing is lost: run the same command again to go on.")
        sys.exit(EXIT_INTERRUPTED)
    if result.stopped is not None:
        say(f"The run did not complete: {result.message}\nRun the same command again once that is mended.")
        sys.exit(EXIT_FAILED)
    if fail_under is not None and any(_below(s, fail_under) for s in result.models.values()):
        say(f"Below --fail-under {fail_under} (the lower bound counts).")
        for name, summary in result.models.items():
            if _only_all_reach(summary, fail_under):
                say(
                    f"{name}: with {summary['planned']} tasks of 0 or 1, only all of them reach {fail_under}."
                )
        sys.exit(EXIT_BELOW)
    sys.exit(EXIT_UNSCORED if result.unscored and not as_designed else 0)


def _only_all_reach(summary: Mapping[str, Any], threshold: Decimal) -> bool:
    """Whether a threshold below 1 asks for every task, where scores are 0 or 1."""
    from beholder.summary import reaches_share

    accuracy = summary.get("accuracy")
    return accuracy is not None and reaches_share(0, summary["planned"], threshold)["warning"] is not None


def _below(summary: Mapping[str, Any], threshold: Decimal) -> bool:
    bounds = summary["mean_bounds"]
    return bounds is None or Decimal(str(bounds[0])) < threshold


@click.command("report", epilog="Example: beholder report out")
@click.argument("out_dirs", nargs=-1, required=True, type=PATH)
@option(
    "--human", type=PATH, metavar="FILE", help="People's ratings, .csv or .xlsx: the judge against people."
)
@option("--cluster", metavar="COLUMN", help="Tasks with the same value of this column vary together.")
@click.option(
    "-o",
    "--output",
    type=PATH,
    metavar="FOLDER",
    help="Where the joint report of several out-dirs goes; left out: the folder that they lie in.",
)
@json_flag
def report_command(
    out_dirs: tuple[Path, ...],
    human: Path | None,
    cluster: str | None,
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    """Rebuild reports; of several out-dirs a joint one too. No call, no rendering."""
    from beholder.report import rebuild_reports, rebuild_together

    if output is not None and len(out_dirs) == 1:
        raise ConfigError(
            f"-o {output}: is for the joint report of several out-dirs; that of one lies in it", concerns="-o"
        )
    if human is not None:
        _write_agreements(human, out_dirs)
    if cluster is not None:
        from beholder.summary.stored import recluster_out_dir

        for out_dir in out_dirs:
            recluster_out_dir(out_dir, cluster)
    found = rebuild_reports(out_dirs[0]) if len(out_dirs) == 1 else rebuild_together(out_dirs, output)
    written = [str(path) for path in found]
    if as_json:
        print_json({"written": written})
        return
    for path in written:
        click.echo(path)


def _write_agreements(human: Path, out_dirs: Sequence[Path]) -> None:
    """`human_agreement.json` in each model's out-dir, which its reports show."""
    from beholder.cli.compare import agreements_with
    from beholder.compare import load_runs
    from beholder.report.load import HUMAN_FILE
    from beholder.store.outdir import write_json

    runs = load_runs(out_dirs)
    for name, agreement in agreements_with(human, runs).items():
        folder = runs[name].path
        if folder is not None:
            write_json(folder / HUMAN_FILE, agreement)
