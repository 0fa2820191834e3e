"""A report over thousands of items: how long it takes to build, and how quick it is in a browser.

An out-dir of 5,000 tasks with 3 repeats each: long rationales, prompts of some kilobytes, pictures of
1280 x 800. In processes of their own:

    build     `beholder report` over it: wall time of the whole process, and its peak memory
    again     the same over its own result
    browser   a headless Chromium opens `report.html` from disk: first paint, the gallery's first card, a
              filter by a word of the judge (all stories are unpacked for it), by a word on the cards, by
              outcome, sorting, opening an item; each from the action to the next painted frame

How many items each filter must leave is known, and checked in the page. `--large` makes that share of the
pictures 3 MB each, which get thumbnails at the first build.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TASKS, REPEATS, MODEL = 5000, 3, "bench"
CRITERIA = {"exists": 20, "accuracy": 30, "requirement": 30, "completeness": 20}
NOUNS = ["legend", "title", "scale", "river", "border", "label", "colour", "class", "county", "grid"]
RARE = "cartouche"


def make_out_dir(out: Path, tasks: int, large: float) -> dict[str, int]:
    """An out-dir as a run leaves it; returns how many items each filter of the browser part must leave."""
    chance = random.Random(0)
    out.mkdir(parents=True)
    pictures = make_pictures(out, large)
    expected = {"passed": 0, "task-001": 0, RARE: 0}
    with (out / "judge_results.jsonl").open("w", encoding="utf-8") as file:
        for number in range(tasks):
            row, folder = make_row(number, chance), out / f"task-{number:04d}" / "judge"
            folder.mkdir(parents=True)
            heavy = number < large * tasks
            source = pictures["large" if heavy else number % 40]
            os.link(source, folder / "image-1.png")
            image = row["evidence"]["images"][0]
            image["sha256"] = hashlib.sha256(f"{source.name}{number if heavy else ''}".encode()).hexdigest()
            prompt = " ".join(chance.choices(NOUNS, k=60))
            (folder / "prompt.txt").write_text(PROMPT.replace("{task}", prompt), encoding="utf-8")
            for repeat in row["repeats"]:
                reply = {**repeat["scores"], "reason": repeat["rationale"]}
                (folder / f"reply-{repeat['repeat']}.txt").write_text(json.dumps(reply, indent=1))
            expected["passed"] += bool(row["pass"])
            expected["task-001"] += "task-001" in row["task_id"]
            expected[RARE] += RARE in row["repeats"][1]["rationale"]
            file.write(json.dumps(row) + "\n")
    write_summary(out)
    for source in pictures.values():
        source.unlink()
    return expected


_RULE = "{key}: from 0 to {most}. Give points for what can be seen in the picture, not for what is said.\n"
PROMPT = (
    "".join(_RULE.format(key=key, most=most) * 4 for key, most in CRITERIA.items()) + "The task: {task}\n"
)


def make_row(number: int, chance: random.Random) -> dict[str, Any]:
    """One scored row."""
    level = chance.random()
    repeats = []
    for repeat in range(1, REPEATS + 1):
        scores = {
            key: round(most * min(1, max(0, level + chance.uniform(-0.1, 0.1))))
            for key, most in CRITERIA.items()
        }
        total = sum(scores.values())
        words = " ".join(chance.choices(NOUNS, k=70))
        if repeat == 2 and number % 50 == 0:
            words += f" {RARE}"
        repeats.append({
            "repeat": repeat, "outcome": "scored", "reason": None, "scores": scores,
            "derived": {"total_raw": total, "main": total}, "pass": total >= 60, "rationale": words,
            "flags": [], "repairs": [], "reply_sha256": hashlib.sha256(words.encode()).hexdigest(),
            "stop_reason": "end_turn", "prompt_sha256": "0" * 64, "detail": "",
        })  # fmt: skip
    main = statistics.fmean(one["derived"]["main"] for one in repeats)
    folder = f"task-{number:04d}/judge"
    return {
        "task_id": f"task-{number:04d}", "model": MODEL, "protocol": "bench/1",
        "question_sha256": "1" * 64, "evidence_sha256": "2" * 64, "formula_sha256": "3" * 64,
        "judge": {"model": "vendor/judge", "served": ["judge-1"], "scripted": False},
        "route": "visual", "outcome": "scored", "reason": None, "main_score": main, "main_score_error": None,
        "pass": main >= 60,
        "scores": {key: statistics.fmean(one["scores"][key] for one in repeats) for key in CRITERIA},
        "derived": {"total_raw": main, "main": main}, "n_scored": REPEATS, "n_requested": REPEATS,
        "repeats": repeats,
        "evidence": {
            "status": "ok", "artifacts": [], "not_shown": [], "warnings": [],
            "images": [{"path": f"{folder}/image-1.png", "sha256": "", "width_px": 1280, "height_px": 800,
                        "source": "map.html", "page": None, "pages": None, "part": None, "parts": None}],
        },
        "rules": [], "flags": ["repeats_disagree"] * (number % 3 == 0),
        "labels": {"level": f"Level{number % 3 + 1}", "region": chance.choice(NOUNS)}, "folder": folder,
    }  # fmt: skip


def make_pictures(out: Path, large: float) -> dict[object, Path]:
    """Forty drawings of a page's size, hard-linked from every task; and one of 3 MB."""
    from PIL import Image, ImageDraw

    made: dict[object, Path] = {}
    for number in range(40):
        chance = random.Random(number)
        image = Image.new("RGB", (1280, 800), "#f4f4f0")
        pen = ImageDraw.Draw(image)
        for _ in range(120):
            x, y = chance.randrange(1280), chance.randrange(800)
            pen.ellipse((x, y, x + 90, y + 60), fill=tuple(chance.randbytes(3)), outline="white")
        made[number] = out / f"source-{number}.png"
        image.save(made[number])
    if large:
        made["large"] = out / "source-large.png"
        Image.frombytes("RGB", (1280, 800), random.Random(0).randbytes(1280 * 800 * 3)).save(made["large"])
    return made


def write_summary(out: Path) -> None:
    """The summary that a run would write, by beholder's own function."""
    from beholder.protocols import load_protocol
    from beholder.store import read_rows
    from beholder.summary import figures_of, summarize

    path = out.with_name("bench.toml")
    criteria = "".join(f'[[criteria]]\nkey = "{key}"\nmax = {most}\n' for key, most in CRITERIA.items())
    path.write_text(
        'schema = 1\nid = "bench/1"\ntitle = "Benchmark"\n[prompt]\ntext = "Judge."\n'
        '[routing]\nvisual = [".png"]\n'
        f"{criteria}[repeats]\nn = {REPEATS}\n[score]\n"
        f"main = {{ sum = {json.dumps(list(CRITERIA))} }}\npass_at = 60\n"
    )
    hashes = {"question_sha256": "1" * 64, "formula_sha256": "3" * 64}
    rows = [figures_of(row) for row in read_rows(out)]
    summary = summarize(rows, load_protocol(str(path)), model=MODEL, judge="vendor/judge", hashes=hashes)
    (out / "judge_summary.json").write_text(json.dumps({**summary, "cost_usd": None}))


def build(out: Path) -> dict[str, float]:
    """`beholder report`, timed from outside."""
    command = [sys.executable, "-m", "beholder", "report", str(out)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    scale = 1 if sys.platform == "darwin" else 1024
    return {"seconds": seconds, "peak_mb": usage.ru_maxrss * scale / 1e6}


PAINTED = """async (act) => {
    const start = performance.now();
    await act();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return performance.now() - start;
}"""


def in_browser(report: Path, expected: dict[str, int]) -> dict[str, float]:
    """Milliseconds from opening, and from each action to the frame that shows it."""
    from playwright.sync_api import sync_playwright

    from beholder.evidence.browser import find_browser

    with sync_playwright() as playwright:
        root = getattr(os, "geteuid", lambda: 1)() == 0
        browser = playwright.chromium.launch(executable_path=find_browser(), chromium_sandbox=not root)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(report.as_uri(), wait_until="commit")
        page.wait_for_selector(".card", state="attached")
        first_card = page.evaluate("performance.now()")
        page.wait_for_load_state("load")
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        loaded = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")

        def timed(act: str, count: int | None = None) -> float:
            spent: float = page.evaluate(f"({PAINTED})(async () => {{ {act} }})")
            if count is not None:
                text = page.inner_text("#shown")
                if not text.startswith(f"{count:,} of"):
                    raise SystemExit(f"{act}: {text!r}, expected {count}")
            return spent

        every = "document.querySelectorAll('[name=state]').forEach((box) => box.click());"
        only = "document.querySelector('[value=passed]').click();"
        find = (
            "const find = document.querySelector('#find'); find.value = {0!r};"
            "find.dispatchEvent(new Event('input', {{bubbles: true}}));"
            "const before = document.querySelector('#shown').textContent;"
            "while (document.querySelector('#shown').textContent === before"
            " || document.querySelector('#shown').textContent.includes('searching'))"
            " await new Promise((done) => setTimeout(done, 4));"
        )
        figures = {"first_paint_ms": paint, "first_card_ms": first_card, "loaded_ms": loaded}
        figures["words_ms"] = timed(find.format(RARE), expected[RARE])
        figures["find_ms"] = timed(find.format("task-001"), expected["task-001"])
        timed(find.format(""))
        timed(every)
        figures["outcome_ms"] = timed(only, expected["passed"])
        timed("document.querySelector('#tools').reset();")
        sort = "const sort = document.querySelector('#sort'); sort.value = 'low';"
        figures["sort_ms"] = timed(sort + "sort.dispatchEvent(new Event('input', {bubbles: true}));")
        show = "document.querySelector('.card a').click();"
        wait = (
            "while (!document.querySelector('#item').open) await new Promise((done) => setTimeout(done, 2));"
        )
        figures["open_item_ms"] = timed(show + wait)
        browser.close()
    return figures


def main() -> None:
    """Make the out-dir, build, open."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--rounds", type=int, default=3, help="of build and browser")
    parser.add_argument("--large", type=float, default=0.0, metavar="SHARE", help="of pictures of 3 MB")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / MODEL
        expected = make_out_dir(out, options.tasks, options.large)
        builds = [build(out) for _ in range(options.rounds + 1)]
        page = out / "report.html"
        opened = [in_browser(page, expected) for _ in range(options.rounds)]
        size_mb = page.stat().st_size / 1e6
    again = builds[1:]
    figures = {
        "first_build_s": builds[0]["seconds"],
        "build_s": statistics.median(one["seconds"] for one in again),
        "build_s_spread": max(one["seconds"] for one in again) - min(one["seconds"] for one in again),
        "peak_mb": max(one["peak_mb"] for one in builds),
        "page_mb": size_mb,
        **{key: statistics.median(one[key] for one in opened) for key in opened[0]},
    }
    import beholder

    about = {
        "tasks": options.tasks, "repeats": REPEATS, "large": options.large, "beholder": beholder.__version__,
        "python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count(),
    }  # fmt: skip
    if options.json:
        print(json.dumps({**about, **figures}, indent=1))
        return
    print(" ".join(f"{key}={value}" for key, value in about.items()))
    for key, value in figures.items():
        print(f"{key:18} {value:9.1f}")


if __name__ == "__main__":
    main()
