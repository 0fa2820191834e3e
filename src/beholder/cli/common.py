"""What the commands share: exit codes, option types, strict JSON on stdout, words on stderr.

Exit codes: 0 complete · 1 the run did not complete · 2 the user's files or flags · 3 complete with something
unscored · 100 `--fail-under` failed · 130 interrupted, resumable. If several hold: 130, 2, 1, 100, 3.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from beholder.errors import BeholderError, ConfigError, SpecError

EXIT_FAILED, EXIT_USER, EXIT_UNSCORED, EXIT_BELOW, EXIT_INTERRUPTED = 1, 2, 3, 100, 130


Command = TypeVar("Command", bound=Callable[..., Any])


class Commands(click.Group):
    """The command group: beholder's own errors end as one plain message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; see the class."""
        try:
            return super().invoke(ctx)
        except BeholderError as error:
            fail(error)
        except (KeyboardInterrupt, asyncio.CancelledError):
            say("Ended at once. Answers that had arrived are kept; run the same command again to go on.")
            sys.exit(EXIT_INTERRUPTED)
        except click.UsageError as error:
            if "--json" in sys.argv:
                print_json({"error": "usage", "message": error.format_message(), "concerns": ""})
            raise
        finally:
            _let_readers_go()


class Seconds(click.FloatRange):
    """A finite number of seconds within a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or click's usage error."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number", param, ctx)
        return number


class DecimalType(click.ParamType[Decimal]):
    """A finite number, read as a decimal; at least `least` if that is given."""

    name = "number"

    def __init__(self, least: int | None = None) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """The number, or click's usage error."""
        try:
            number = Decimal(value)
        except InvalidOperation:
            self.fail(f"{value!r} is no number", param, ctx)
        if not number.is_finite() or abs(number.adjusted()) > 50:
            self.fail(f"{value!r} is no sensible number", param, ctx)
        if self.least is not None and number < self.least:
            self.fail(f"{value!r} is below {self.least}", param, ctx)
        return number


def option(*names: str, **kwargs: Any) -> Callable[[Command], Command]:
    """An option whose default may stand in `BEHOLDER_<FLAG>`."""
    flag = next(name for name in names if name.startswith("--"))
    kwargs.setdefault("envvar", "BEHOLDER_" + flag.strip("-").upper().replace("-", "_"))
    return click.option(*names, **kwargs)


PATH = click.Path(path_type=Path)
_AT_LEAST_1 = click.IntRange(min=1)
json_flag = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


def evidence_options(of: str) -> Callable[[Command], Command]:
    """The flags that decide how files become pictures and texts.

    Args:
        of: What has a budget: a submission, or a file by itself.
    """
    options = (
        option("--network", metavar="block|allow|HOST,…", help="Outside hosts that pages may reach."),
        option("--record", type=PATH, metavar="DIR", help="Keep what outside hosts answer to pages."),
        option("--replay", type=PATH, metavar="DIR", help="Draw pages from such a record alone."),
        option("--cache-dir", type=PATH, metavar="DIR", help="Keep rendered results for other runs."),
        option("--max-output-images", type=_AT_LEAST_1, help=f"Images per {of}."),
        option("--max-output-pages", type=_AT_LEAST_1, help="Pages per document."),
        option("--max-output-text-chars", type=_AT_LEAST_1, help=f"Characters of text per {of}."),
    )

    def decorate(command: Command) -> Command:
        return functools.reduce(lambda decorated, one: one(decorated), reversed(options), command)

    return decorate


def evidence_settings(flags: Mapping[str, Any]) -> dict[str, Any]:
    """What `evidence_options` gave, as `RunSpec` and `EvidenceSpec` take it."""
    from beholder.run.spec import parse_network

    budgets = ("max_output_images", "max_output_pages", "max_output_text_chars")
    same = {name: flags[name] for name in ("record", "replay", "cache_dir", *budgets)}
    return {"network": parse_network(flags["network"]), **same}


def display_style() -> Any:
    """A bar on a terminal, lines elsewhere."""
    return "rich" if sys.stderr.isatty() else "plain"


def say(line: str) -> None:
    """A line for the user, on stderr; control characters, which a server's words may hold, do nothing."""
    from beholder.report.terminal import visible

    with reader_may_leave():
        click.echo("\n".join(map(visible, line.split("\n"))), err=True)


@contextlib.contextmanager
def reader_may_leave() -> Iterator[None]:
    """Write to a pipe whose reader may be gone (`| head -1`): that ends neither a run nor its exit code."""
    with contextlib.suppress(BrokenPipeError):
        yield
    _let_readers_go()


def _let_readers_go() -> None:
    """What is buffered for a reader that is gone goes nowhere, or Python would end with its own exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_json(value: Any) -> None:
    """Strict JSON in UTF-8, whatever the locale."""
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    with reader_may_leave():
        sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")


def stdin_text() -> str:
    """All of stdin; bytes that are no UTF-8 become replacement characters."""
    return "" if sys.stdin is None else sys.stdin.buffer.read().decode("utf-8", "replace")


def pairs(items: Iterable[str], flag: str) -> dict[str, str]:
    """`NAME=VALUE` items as a mapping. Raises ConfigError for what is none."""
    found = {}
    for item in items:
        if not item:
            continue
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{flag} {item!r}: write NAME=VALUE", concerns=flag)
        found[key.strip()] = value.strip()
    return found


def setting(value: str) -> Any:
    """A vendor setting's value: JSON where it is JSON, else text."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def fail(error: BeholderError) -> NoReturn:
    """The error in plain words, with --json also as a document; never returns."""
    if "--json" in sys.argv:
        print_json({"error": error.slug, "message": str(error), "concerns": error.concerns})
    say(f"Error: {error}")
    # An out-dir that is pinned to other inputs is the wrong flag; one that is locked or damaged is not.
    users = isinstance(error, SpecError) or error.slug in {
        "pinned",
        "newer",
        "no_results",
        "not_an_out_dir",
        "names",
    }
    sys.exit(EXIT_USER if users else EXIT_FAILED)
