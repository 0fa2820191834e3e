"""Out-dirs as a run leaves them, for the report's tests: every outcome, and names that mean harm."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from PIL import Image, ImageDraw

JUDGE_FOLDER = "semantic_fable_visual_judge"
SCRIPT = "<script>alert(1)</script>"
CRITERIA = {"region": (0, 30), "features": (0, 30), "symbols": (0, 20), "readable": (0, 20)}

LONG = (
    "The legend names seven classes {and} the map shows six; the seventh, “other”, is not drawn. "
    "지도의 범례는 읽기 쉽지만 축척이 없다. "
) * 24
WORDS = (
    "The boroughs are all present and their outlines are correct. The legend is readable.",
    "The region asked for is shown, but the scale bar hides two labels near the river.",
    "Points overlap in the centre; a reader cannot tell the classes apart at this size.",
    f"The title reads {SCRIPT}, taken as text. `code`, | pipe, *stars*, [link](javascript:alert(1)).",
    "한국어 제목과 범례가 모두 올바르게 표시되며, 색상 대비도 충분하다.",
)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def draw(path: Path, seed: int, size: tuple[int, int] = (960, 600)) -> None:
    """A small picture that looks a little like a map: wards, a river, a legend."""
    rng = random.Random(seed)
    width, height = size
    image = Image.new("RGB", size, "#eef3f5")
    pen = ImageDraw.Draw(image)
    palette = rng.choice(
        [
            ("#edf8e9", "#bae4b3", "#74c476", "#238b45"),
            ("#eff3ff", "#bdd7e7", "#6baed6", "#2171b5"),
            ("#fff5eb", "#fdbe85", "#fd8d3c", "#d94701"),
        ]
    )
    step = 120
    points = {
        (x, y): (x * step + rng.randint(-35, 35), y * step + rng.randint(-35, 35))
        for x in range(width // step + 2)
        for y in range(height // step + 2)
    }
    for x in range(1, width // step):
        for y in range(1, height // step):
            ring = [points[x, y], points[x + 1, y], points[x + 1, y + 1], points[x, y + 1]]
            pen.polygon(ring, fill=rng.choice(palette), outline="#ffffff")
    river = [(x, height * 0.55 + rng.randint(-30, 30)) for x in range(0, width + 80, 80)]
    pen.line(river, fill="#8ab6d6", width=9, joint="curve")
    pen.rectangle((width - 190, height - 150, width - 20, height - 20), fill="#ffffff", outline="#b8c0c4")
    for row, colour in enumerate(palette):
        top = height - 136 + row * 28
        pen.rectangle((width - 176, top, width - 150, top + 18), fill=colour, outline="#b8c0c4")
        pen.text((width - 140, top + 3), f"class {row + 1}", fill="#333333")
    path.parent.mkdir(parents=True, exist_ok=True)
    image.quantize(32).save(path)


def repeat(
    number: int, values: Sequence[int] | None, *, rationale: str = "", reason: str = "", **more: Any
) -> dict[str, Any]:
    """One repeat: scored with `values` of the criteria, or unscored for `reason`."""
    scores = dict(zip(CRITERIA, values, strict=True)) if values is not None else {}
    total = sum(scores.values())
    return {
        "repeat": number,
        "outcome": "scored" if values is not None else "unscored",
        "reason": reason or None,
        "scores": scores,
        "derived": {"total_raw": total, "main": total} if scores else {},
        "pass": total >= 60 if scores else None,
        "rationale": rationale,
        "flags": [],
        "repairs": [],
        "reply_sha256": sha(rationale) if rationale else None,
        "stop_reason": "end_turn",
        "prompt_sha256": sha("prompt"),
        **more,
    }


def row(
    task_id: str,
    model: str,
    repeats: Sequence[Mapping[str, Any]] = (),
    *,
    outcome: str = "scored",
    reason: str | None = None,
    images: Sequence[Mapping[str, Any]] = (),
    labels: Mapping[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A row of `judge_results.jsonl`; its numbers are the plain means of the repeats'."""
    scored = [one for one in repeats if one["outcome"] == "scored"]
    mean = sum(one["derived"]["main"] for one in scored) / len(scored) if scored else None
    main = mean if outcome == "scored" else 0 if outcome == "absent" else None
    evidence = {"status": "ok", "artifacts": [], "images": list(images), "not_shown": [], "warnings": []}
    evidence.update(more.pop("evidence", {}))
    return {
        "task_id": task_id,
        "model": model,
        "protocol": "gis-bench/1",
        "question_sha256": sha("question"),
        "evidence_sha256": sha("evidence"),
        "formula_sha256": sha("formula"),
        "judge": {"model": "scripted/demo.json", "served": ["scripted"], "scripted": True},
        "route": "visual",
        "outcome": outcome,
        "reason": reason,
        "main_score": main,
        "main_score_error": None,
        "pass": main >= 60 if main is not None else None,
        "scores": {key: sum(one["scores"][key] for one in scored) / len(scored) for key in CRITERIA}
        if scored
        else {},
        "derived": {"total_raw": mean, "main": mean} if scored else {},
        "n_scored": len(scored),
        "n_requested": 3,
        "repeats": list(repeats),
        "evidence": evidence,
        "rules": [],
        "flags": [],
        "labels": dict(labels or {}),
        "folder": f"{quote(task_id, safe=' ')}/{JUDGE_FOLDER}",
        **more,
    }


def image(task_id: str, number: int = 1, size: tuple[int, int] = (960, 600), **more: Any) -> dict[str, Any]:
    path = f"{quote(task_id, safe=' ')}/{JUDGE_FOLDER}/image-{number}.png"
    facts = {"path": path, "sha256": sha(path), "width_px": size[0], "height_px": size[1]}
    return {**facts, "source": "map.html", "page": None, "part": None, "parts": None, **more}


def figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The summary's figures of some rows; the interval is a made-up one of the right shape."""
    counted = [one["main_score"] for one in rows if one["main_score"] is not None]
    reasons: dict[str, dict[str, int]] = {"absent": {}, "unscored": {}}
    for one in rows:
        if one["outcome"] in reasons:
            bucket = reasons[one["outcome"]]
            bucket[one["reason"]] = bucket.get(one["reason"], 0) + 1
    n, unscored = len(rows), sum(reasons["unscored"].values())
    mean = sum(counted) / len(counted) if counted else None
    passes = sum(1 for one in rows if one["pass"])
    return {
        "planned": n,
        "scored": sum(1 for one in rows if one["outcome"] == "scored"),
        **reasons,
        "coverage": len(counted) / n,
        "mean": mean,
        "ci95": [max(0, mean - 60 / n), min(100, mean + 60 / n)] if mean is not None and n > 1 else None,
        "mean_bounds": [sum(counted) / n, (sum(counted) + 100 * unscored) / n],
        "pass_rate": passes / len(counted) if counted else None,
        "pass_ci95": [max(0, passes / n - 0.2), min(1, passes / n + 0.2)],
    }


def summary(model: str, rows: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    scored = [one for one in rows if one["scores"]]
    means = {
        key: sum(one["scores"][key] for one in scored) / len(scored) if scored else None for key in CRITERIA
    }
    labels = dict.fromkeys(label for one in rows for label in one["labels"])
    return {
        "schema": 1,
        "protocol": "gis-bench/1",
        "title": "Maps from instructions",
        "question_sha256": sha("question"),
        "formula_sha256": sha("formula"),
        "evidence_sha256": [sha("evidence")],
        "judge": {"model": "scripted/demo.json", "served": ["scripted"]},
        "scripted": True,
        "model": model,
        **figures(rows),
        "ci_method": "t interval over tasks",
        "score_range": [0, 100],
        "pass_at": 60,
        "criteria": {
            key: {
                "mean": means[key],
                "ci95": None if means[key] is None else [max(low, means[key] - 4), min(high, means[key] + 4)],
                "min": low,
                "max": high,
            }
            for key, (low, high) in CRITERIA.items()
        },
        "groups": {
            label: {
                value: figures([one for one in rows if one["labels"].get(label) == value])
                for value in dict.fromkeys(one["labels"].get(label) for one in rows)
            }
            for label in labels
        },
        "repeats": {"n": 3, "spread": 3.4, "pass_flips": 1},
        "cost_usd": None,
        "warnings": [],
        **more,
    }


def write(out_dir: Path, model: str, rows: Sequence[Mapping[str, Any]], **more: Any) -> Path:
    """An out-dir of these rows, with small pictures, prompts and raw replies in the tasks' folders."""
    out_dir.mkdir(parents=True, exist_ok=True)
    for seed, one in enumerate(rows):
        folder = out_dir / one["folder"]
        folder.mkdir(parents=True, exist_ok=True)
        for offset, picture in enumerate(one["evidence"]["images"]):
            draw(out_dir / picture["path"], 31 * seed + offset, (picture["width_px"], picture["height_px"]))
        if one["repeats"]:
            prompt = f"Task {one['task_id']}: draw the map {{query}}.\nAnswer with one JSON object.\n"
            (folder / "prompt.txt").write_text(prompt, encoding="utf-8")
        for asked in one["repeats"]:
            if asked["reply_sha256"]:
                reply = json.dumps(
                    {**asked["scores"], "reason": asked["rationale"]}, ensure_ascii=False, indent=1
                )
                (folder / f"reply-{asked['repeat']}.txt").write_text(reply, encoding="utf-8")
    lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows)
    (out_dir / "judge_results.jsonl").write_text(lines, encoding="utf-8")
    files = {
        "judge_summary.json": summary(model, rows, **more),
        "manifest.json": {
            "beholder": "0.1.0",
            "protocol": {"id": "gis-bench/1"},
            "judge": {"model": "scripted/demo.json", "max_tokens": 1024, "temperature": 0.0},
            "renderer": {"browser": "chromium-headless-shell 140.0", "fonts": 69, "sandbox": True},
        },
        "run.json": {
            "started": "2026-01-02T03:04:05Z",
            "ended": "2026-01-02T03:04:25Z",
            "seconds": 20.4,
            "calls": {"made": 14, "reused": 0, "failed": 1, "retried": 0},
            "tokens": {"input": 0, "output": 0},
            "cost_usd": None,
        },
    }
    for name, content in files.items():
        (out_dir / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return out_dir


def varied_rows(model: str, seed: int = 1) -> list[dict[str, Any]]:
    """Every outcome once: good, poor, partly unscored, absent, unscored, hostile, long, in parts."""
    rng = random.Random(seed)

    def values(level: float) -> list[int]:
        return [
            round(high * min(1, max(0, level + rng.uniform(-0.08, 0.08)))) for _, high in CRITERIA.values()
        ]

    def asked(level: float, *texts: str) -> list[dict[str, Any]]:
        return [repeat(n, values(level), rationale=text) for n, text in enumerate(texts, 1)]

    broken = repeat(2, None, rationale="", reason="invalid_json", detail="no JSON object in the reply")
    hostile = f"{SCRIPT} & ‘x’"
    return [
        row(
            "London boroughs by population",
            model,
            asked(0.92, WORDS[0], WORDS[1], WORDS[0]),
            images=[image("London boroughs by population")],
            labels={"level": "Level1", "region": "Europe"},
        ),
        row(
            "us_states_choropleth",
            model,
            [*asked(0.7, WORDS[1]), broken, repeat(3, values(0.7), rationale=WORDS[0])],
            images=[image("us_states_choropleth")],
            labels={"level": "Level1", "region": "America"},
            flags=["partial_coverage"],
        ),
        row(
            "airports-europe",
            model,
            asked(0.42, WORDS[2], WORDS[2], LONG),
            images=[
                image("airports-europe", 1, (640, 1500), part=0, parts=2),
                image("airports-europe", 2, part=1, parts=2),
                image("airports-europe", 3, part=2, parts=2),
            ],
            labels={"level": "Level2", "region": "Europe"},
            flags=["repaired", "total_mismatch"],
            evidence={
                "warnings": [
                    {
                        "code": "script_error",
                        "detail": f"ReferenceError: {SCRIPT} is not defined",
                        "source": "map.html",
                    }
                ],
                "not_shown": [{"name": "notes/data.csv", "reason": "excluded", "detail": "pattern *.csv"}],
                "artifacts": [
                    {
                        "name": "map.html",
                        "sha256": sha("a"),
                        "size_bytes": 48_211,
                        "kind": "html",
                        "status": "shown",
                        "reason": None,
                        "detail": "",
                    },
                    {
                        "name": "notes/data.csv",
                        "sha256": sha("b"),
                        "size_bytes": 1_200_300,
                        "kind": "",
                        "status": "not_shown",
                        "reason": "excluded",
                        "detail": "",
                    },
                ],
            },
        ),
        row(
            "world_rivers",
            model,
            outcome="absent",
            reason="missing",
            labels={"level": "Level2", "region": "World"},
        ),
        row(
            "tiles-from-outside",
            model,
            outcome="unscored",
            reason="blocked_resources",
            main_score_error="blocked_resources: tile.example.org: allow it with --network tile.example.org",
            labels={"level": "Level2", "region": "World"},
        ),
        row(
            hostile,
            model,
            asked(0.63, WORDS[3], WORDS[4], WORDS[3]),
            images=[image(hostile)],
            labels={"level": "Level3", "region": SCRIPT},
            evidence={"warnings": [{"code": "blank_capture", "detail": "", "source": "<b>.html"}]},
        ),
        row(
            "서울 지하철 노선도",
            model,
            asked(0.8, WORDS[4], WORDS[4], WORDS[0]),
            images=[image("서울 지하철 노선도")],
            labels={"level": "Level3", "region": "Asia"},
        ),
    ]


def write_varied(out_dir: Path, model: str = "atlas", seed: int = 1, **more: Any) -> Path:
    """An out-dir with every outcome."""
    return write(out_dir, model, varied_rows(model, seed), **more)


def write_many(out_dir: Path, tasks: int, model: str = "atlas") -> Path:
    """An out-dir of many tasks, each with one picture and three repeats."""
    rng = random.Random(7)
    rows = []
    for number in range(tasks):
        task_id = f"task-{number:04d}"
        level = rng.random()
        asked = [
            repeat(n, [round(high * level) for _, high in CRITERIA.values()], rationale=WORDS[n % len(WORDS)])
            for n in (1, 2, 3)
        ]
        rows.append(
            row(
                task_id,
                model,
                asked,
                images=[image(task_id, size=(320, 200))],
                labels={"level": f"Level{number % 3 + 1}"},
            )
        )
    return write(out_dir, model, rows)
