"""A judge whose replies stand in a file: for tests, demonstrations and other people's test suites.

The file is JSON lines, one object each:

    {"task_id": "map-3", "repeat": 2, "reply": {"reason": "no legend", "legible": 4}}
    {"model": "model-b", "reply": "I cannot see any image.", "stop_reason": "end_turn"}
    {"task_id": "map-7", "error": "timeout"}
    {"reply": {"reason": "fine", "legible": 8}}

`task_id`, `model` (of the submission) and `repeat` (1-based) say which calls a line answers; all are
optional, and of several lines that fit the one that says most wins, then the first. A line has either
`reply` (a string, or an object that is sent as JSON text) or `error`: `rate_limited`, `timeout`,
`unavailable`, `rejected` or `refused`. Optional: `stop_reason`, `served_model`, `delay_s` (seconds), and
`usage` with `input_tokens`, `output_tokens`, `cached_input_tokens`.

A line may say `"scripted": true` of itself, so that the file tells what it is; a line with that and a `note`
only is a comment.

Replies are marked `"scripted": true` in `Reply.sent`, cost nothing, and keep no interval between calls.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from beholder.errors import ConfigError, JudgeError, JudgeRefused, JudgeRejected, JudgeUnavailable
from beholder.judges.base import CallContext, Prepared, check_pictures, check_videos, prepare_question
from beholder.records import JudgeSpec, MediaLimits, Picture, Reply, Usage, Video

CONDITIONS: Mapping[str, type] = {"task_id": str, "model": str, "repeat": int}
EXTRAS: Mapping[str, tuple[type, ...]] = {
    "stop_reason": (str,),
    "served_model": (str,),
    "delay_s": (int, float),
    "usage": (dict,),
}
ERRORS = ("rate_limited", "timeout", "unavailable", "rejected", "refused")
USAGE = ("input_tokens", "output_tokens", "cached_input_tokens")


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """One line of a script, checked."""

    number: int
    conditions: Mapping[str, Any]
    reply: str | None = None
    error: str | None = None
    stop_reason: str | None = "end_turn"
    served_model: str | None = None
    delay_s: float = 0.0
    usage: Usage = field(default_factory=Usage)

    def fits(self, call: CallContext) -> bool:
        """Whether it answers this call."""
        return all(getattr(call, name) == value for name, value in self.conditions.items())


@dataclass(frozen=True)
class ScriptedJudge:
    """A judge that answers by its script."""

    spec: JudgeSpec
    limits: MediaLimits
    lines: Sequence[ScriptLine] = field(repr=False)

    @classmethod
    def load(cls, path: Path, *, spec: JudgeSpec, limits: MediaLimits) -> ScriptedJudge:
        """The judge of a script file.

        Raises:
            ConfigError: The file cannot be read, or a line is wrong; the message names file, line and fix.
        """
        return cls(spec, limits, load_script(path))

    def prepare(self, prompt: str, pictures: Sequence[Picture], videos: Sequence[Video] = ()) -> Prepared:
        """The question with its digests; pictures and videos are checked as if they were sent."""
        check_pictures(pictures, self.limits)
        check_videos(videos, self.limits)
        return prepare_question(self.spec, prompt, pictures, videos=videos)

    async def ask(self, prepared: Prepared, call: CallContext) -> Reply:
        """The scripted reply, or the scripted error."""
        line = self._pick(call)
        if line.delay_s:
            try:
                async with asyncio.timeout(self.spec.timeout_s):
                    await asyncio.sleep(line.delay_s)
            except TimeoutError:
                raise _error_of("timeout", line.number) from None
        if line.error:
            raise _error_of(line.error, line.number)
        temperature = self.spec.temperature
        return Reply(
            text=line.reply or "",
            stop_reason=line.stop_reason,
            served_model=line.served_model or self.spec.model,
            usage=line.usage,
            cost_usd=Decimal(0),
            sent={
                "scripted": True,
                "model": self.spec.name,
                "max_tokens": self.spec.max_tokens,
                "temperature": None if temperature is None else float(temperature),
                "images": len(prepared.pictures),
                "videos": len(prepared.videos),
            },
        )

    async def release(self, prepared: Prepared) -> None:
        """Nothing was handed over."""

    async def aclose(self) -> None:
        """Nothing to close."""

    def _pick(self, call: CallContext) -> ScriptLine:
        fitting = [line for line in self.lines if line.fits(call)]
        if not fitting:
            raise JudgeRejected(
                f"{self.spec.name}: no line answers task {call.task_id}, model {call.model}, "
                f'repeat {call.repeat}; add one, or one without conditions: {{"reply": …}}',
                concerns=call.task_id,
            )
        return max(fitting, key=lambda line: len(line.conditions))  # max keeps the first of equals


def _error_of(name: str, number: int) -> JudgeError:
    message = f"scripted, line {number}: {name}"
    if name == "rejected":
        return JudgeRejected(message)
    if name == "refused":
        return JudgeRefused(message)
    return JudgeUnavailable(message, slug=name, possibly_billed=name == "timeout")


# --- reading scripts ----------------------------------------------------------------------------


def load_script(path: Path) -> tuple[ScriptLine, ...]:
    """A script file, checked line by line; blank lines are skipped.

    Raises:
        ConfigError: It cannot be read, is empty, or a line is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"scripted judge: there is no file {path}", concerns=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"scripted judge: {path} cannot be read: {error}", concerns=str(path)) from error
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not numbered:
        raise ConfigError(f'{path}: no line; write at least {{"reply": …}}', concerns=str(path))
    parsed = [_parse_line(path, number, line) for number, line in numbered]
    lines = tuple(line for line in parsed if line is not None)
    if not lines:
        raise ConfigError(f'{path}: comments only; write at least {{"reply": …}}', concerns=str(path))
    seen: dict[str, int] = {}
    for line in lines:
        same = seen.setdefault(json.dumps(line.conditions, sort_keys=True), line.number)
        if same != line.number:
            raise _wrong(path, line.number, f"answers the same calls as line {same}; remove one of them")
    return lines


def _parse_line(path: Path, number: int, text: str) -> ScriptLine | None:
    """The line, or None for a comment."""
    try:
        row = json.loads(text)
    except ValueError as error:
        raise _wrong(path, number, f"is no JSON: {error}") from error
    if not isinstance(row, dict):
        raise _wrong(path, number, "must be a JSON object")
    if row.pop("scripted", True) is not True:
        raise _wrong(path, number, '"scripted" can only be true')
    if row.keys() == {"note"}:
        return None
    known = {*CONDITIONS, *EXTRAS, "reply", "error"}
    for name in row:
        if name not in known:
            raise _wrong(path, number, f'unknown key "{name}"; the keys are {", ".join(sorted(known))}')
    if ("reply" in row) == ("error" in row):
        raise _wrong(path, number, 'must have either "reply" or "error"')
    for name, kind in CONDITIONS.items():
        if name in row and (not isinstance(row[name], kind) or isinstance(row[name], bool)):
            raise _wrong(path, number, f'"{name}" must be {"a number" if kind is int else "a string"}')
    for name, kinds in EXTRAS.items():
        if name in row and (not isinstance(row[name], kinds) or isinstance(row[name], bool)):
            raise _wrong(path, number, f'"{name}" must be {" or ".join(kind.__name__ for kind in kinds)}')
    if "error" in row and row["error"] not in ERRORS:
        raise _wrong(path, number, f'"error" must be one of {", ".join(ERRORS)}')
    if "reply" in row and not isinstance(row["reply"], str | dict):
        raise _wrong(path, number, '"reply" must be a string or an object')
    return ScriptLine(
        number=number,
        conditions={name: row[name] for name in CONDITIONS if name in row},
        reply=_reply_text(row.get("reply")),
        error=row.get("error"),
        stop_reason=row.get("stop_reason", "end_turn"),
        served_model=row.get("served_model"),
        delay_s=float(row.get("delay_s", 0)),
        usage=_usage(path, number, row.get("usage", {})),
    )


def _reply_text(reply: str | dict[str, Any] | None) -> str | None:
    return json.dumps(reply, ensure_ascii=False) if isinstance(reply, dict) else reply


def _usage(path: Path, number: int, usage: Mapping[str, Any]) -> Usage:
    for name, value in usage.items():
        if name not in USAGE or not isinstance(value, int) or isinstance(value, bool):
            raise _wrong(path, number, f'"usage" takes whole numbers for {", ".join(USAGE)}')
    return Usage(**usage)


def _wrong(path: Path, number: int, what: str) -> ConfigError:
    return ConfigError(f"{path}, line {number}: {what}", slug="script", concerns=f"{path}:{number}")
