"""Small runs for tests: tasks, submissions and the command itself in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from beholder.evidence.browser import _playwright_folders

GIS_KEYS = (
    "exists",
    "accuracy",
    "requirement",
    "completeness",
    "spatial_location",
    "geometry_validity",
    "numeric_match",
)
GOOD_VALUES = (20, 25, 22, 15, 15, 5, 10)


def gis_reply(values: Sequence[int] = GOOD_VALUES, **more: Any) -> str:
    """A clean reply for `gis-bench`; the total is right unless `more` says otherwise."""
    scores = dict(zip(GIS_KEYS, values, strict=True))
    return json.dumps({**scores, "total_raw": sum(values), "reason": "ok", **more})


def picture(path: Path, colour: str = "red", size: tuple[int, int] = (64, 48)) -> Path:
    """A PNG that is not flat, so that it is not taken for blank."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", size, colour)
    image.paste("black", (5, 5, size[0] // 2, size[1] // 2))
    image.save(path)
    return path


def gis_run(folder: Path, tasks: Sequence[str] = ("a", "b", "c"), **fields: str) -> tuple[Path, Path]:
    """(task file, run directory) with one small picture per task."""
    rows = [{"task_id": name, "level": "Level1", "prompt": f"Map {name}.", **fields} for name in tasks]
    file = folder / "tasks.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    colours = ["red", "green", "blue", "orange", "purple", "teal"]
    for number, name in enumerate(tasks):
        picture(folder / "run" / f"{name}.png", colours[number % len(colours)], (64 + number // 6, 48))
    return file, folder / "run"


def command(*arguments: object) -> list[str]:
    """The command line of beholder in this interpreter."""
    return [sys.executable, "-m", "beholder", *map(str, arguments)]


def judge_command(folder: Path, out: Path, url: str, *more: object) -> list[str]:
    """`judge-run` of `gis_run(folder)` against a local server, without the protocol's wait between calls."""
    return command(
        "judge-run", "--tasks", folder / "tasks.jsonl", "--run-dir", folder / "run", "--out-dir", out,
        "--protocol", "gis-bench", "--judge", "openai-compatible/judge-1", "--base-url", f"{url}/v1",
        "--min-interval", 0, *more,
    )  # fmt: skip


def environment(**more: str) -> dict[str, str]:
    """This environment without keys and defaults."""
    kept = {
        name: value
        for name, value in os.environ.items()
        # Where Python does not buffer, what is written at the very end cannot fail.
        if not name.startswith("BEHOLDER_") and not name.endswith("_API_KEY") and name != "PYTHONUNBUFFERED"
    }
    browsers = [str(one) for one in _playwright_folders() if one.is_dir()]
    if "HOME" in more and browsers:  # where Playwright puts the browser that it installs
        kept["PLAYWRIGHT_BROWSERS_PATH"] = browsers[0]
    return {**kept, **more}


def run(
    arguments: Sequence[str],
    *,
    stdin: str | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """A finished command with its output as text; the time is for machines that are slow and busy."""
    return subprocess.run(
        arguments, input=stdin, capture_output=True, encoding="utf-8", check=False, cwd=cwd,
        env=dict(env or environment()), timeout=900,
    )  # fmt: skip


def read_until(words: str, process: subprocess.Popen[str], within_s: float = 300.0) -> str:
    """What a process writes to stderr up to the line with these words; fails if it ends without them."""
    assert process.stderr is not None
    watchdog = threading.Timer(within_s, process.kill)
    watchdog.start()
    said = ""
    try:
        while words not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
    finally:
        watchdog.cancel()
    return said


def rows_of(out: Path) -> list[dict[str, Any]]:
    """The rows of an out-dir."""
    return [json.loads(line) for line in (out / "judge_results.jsonl").read_text("utf-8").splitlines()]


def summary_of(out: Path) -> dict[str, Any]:
    """The summary of an out-dir."""
    found: dict[str, Any] = json.loads((out / "judge_summary.json").read_text("utf-8"))
    return found
