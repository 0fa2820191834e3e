"""A run whose judge is sent a video, from the file to the row."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import cv2
import numpy as np

from tests.fakes.judge_server import FileStore, JudgeServer, rule
from tests.fakes.runs import command, environment, rows_of, run

REPLY = "INTERMEDIATE_CORRECT: 1\nFINAL_CORRECT: 1\nACTION_REFLECTION: 0\nEXPLANATION: ok\n"


def film(path: Path, seconds: int = 2, rate: int = 10) -> None:
    """A video whose frames differ."""
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), rate, (160, 120))
    for at in range(seconds * rate):
        frame = np.full((120, 160, 3), 255, np.uint8)
        frame[:, : 8 * at % 160] = 40
        writer.write(frame)
    writer.release()


def test_video_runs_to_a_row_and_is_kept(tmp_path: Path) -> None:
    """The file's own bytes are sent, stored and named in the row; a further repeat sends what was stored."""
    (tmp_path / "run").mkdir()
    film(tmp_path / "run" / "a.mp4")
    row = {"task_id": "a", "solution_text": "x = 1", "subtask": "AIME"}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(row) + "\n")
    digest = hashlib.sha256((tmp_path / "run" / "a.mp4").read_bytes()).hexdigest()
    with JudgeServer([rule(path=":generateContent", text=REPLY)], files=FileStore()) as server:
        for repeats in (1, 2):
            done = run(
                command(
                    "judge-run", "--tasks", tmp_path / "tasks.jsonl", "--run-dir", tmp_path / "run",
                    "--out-dir", tmp_path / "o", "--protocol", "math-media", "--base-url", server.url,
                    "--api-key-env", "OWN_KEY", "--repeats", repeats,
                ),
                env=environment(OWN_KEY="sk-secret-0123"),
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
    assert [request.images[0].sha256 for request in server.requests] == [digest, digest]
    (told,) = rows_of(tmp_path / "o")
    assert (told["main_score"], told["n_scored"]) == (1, 2)
    (video,) = told["evidence"]["videos"]
    assert (video["sha256"], video["media_type"], video["duration_s"]) == (digest, "video/mp4", 2.0)
    stored = tmp_path / "o" / video["path"]
    assert stored.name == "video-1.mp4"
    assert hashlib.sha256(stored.read_bytes()).hexdigest() == digest
    prompt = (stored.parent / "prompt.txt").read_text("utf-8")
    assert "video 1: a.mp4, 2.0 s" in prompt
