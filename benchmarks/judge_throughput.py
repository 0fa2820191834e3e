"""How much a harness adds to the calls themselves.

400 calls of 0.2 s, one 300 kB image each, 64 connections, against a local server in a process of its own:

    sdk        the vendor's own client, bare: read the image, encode it, ask
    beholder   the whole `judge-run`: tasks, evidence, ledger, calls, verdicts, scores, summary, report
    inspect    Inspect's `eval()` over the same images with the same prompt (needs --peer-python)

Each contender runs in a process of its own, in turn, several rounds, and checks every answer it
gets. Wall time is the whole process, interpreter start included; memory is its peak.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
CALLS, CONNECTIONS, DELAY_S, IMAGE_BYTES = 400, 64, 0.2, 300_000
PROMPT = "Grade the picture. Reply with JSON."
REPLY = json.dumps({"reason": "ok", "legible": 7})
PROTOCOL = """schema = 1
id = "bench/1"
title = "Benchmark"
[prompt]
text = "Grade the picture. Reply with JSON."
[routing]
visual = [".png"]
[evidence]
layout = "single"
[[criteria]]
key = "legible"
max = 10
[score]
main = { mean = ["legible"] }
"""


def make_inputs(folder: Path, calls: int) -> None:
    """`calls` different PNG files of about 300 kB, a task file and a protocol."""
    from PIL import Image

    run = folder / "run"
    run.mkdir()
    chance = random.Random(0)
    noise = Image.frombytes("RGB", (400, 240), chance.randbytes(400 * 240 * 3))
    for number in range(calls):
        picture = Image.new("RGB", (800, 600), "white")
        picture.paste(noise.rotate(number % 4 * 180), (number % 400, number % 300))
        picture.putpixel((799, 599), (number % 256, number // 256, 0))
        picture.save(run / f"{number}.png", compress_level=1)
    size = sum(path.stat().st_size for path in run.iterdir()) / calls
    if not 0.9 < size / IMAGE_BYTES < 1.2:
        raise SystemExit(f"images have {size:.0f} bytes on average instead of {IMAGE_BYTES}")
    (folder / "tasks.jsonl").write_text("".join(f'{{"task_id": "{n}"}}\n' for n in range(calls)))
    (folder / "bench.toml").write_text(PROTOCOL)


# --- contenders, each called in a fresh process -------------------------------------------------


def run_sdk(folder: Path, url: str, calls: int) -> None:
    """The bare client."""
    from openai import AsyncOpenAI

    async def ask() -> None:
        import httpx

        limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
        client = AsyncOpenAI(
            api_key="none",
            base_url=f"{url}/v1",
            max_retries=0,
            http_client=httpx.AsyncClient(limits=limits, timeout=120),
        )
        slots = asyncio.Semaphore(CONNECTIONS)

        async def one(number: int) -> None:
            async with slots:
                data = base64.b64encode((folder / "run" / f"{number}.png").read_bytes()).decode()
                answer = await client.chat.completions.create(
                    model="bench-model",
                    max_completion_tokens=1024,
                    messages=[
                        {
                            "role": "user",
                            "content": [
                                {"type": "text", "text": PROMPT},
                                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
                            ],
                        }
                    ],
                )
                if answer.choices[0].message.content != REPLY:
                    raise SystemExit("another answer than the server sends")

        await asyncio.gather(*(one(number) for number in range(calls)))

    asyncio.run(ask())


def run_beholder(folder: Path, url: str, calls: int) -> None:
    """The command, as a user types it."""
    del calls
    out = tempfile.mkdtemp(dir=folder)
    sys.argv = [
        *["beholder", "judge-run", "--tasks", f"{folder}/tasks.jsonl", "--run-dir", f"{folder}/run"],
        *["--out-dir", out, "--protocol", f"{folder}/bench.toml", "--judge", "openai-compatible/bench-model"],
        *["--base-url", f"{url}/v1", "--max-connections", str(CONNECTIONS), "--display", "none", "--json"],
    ]
    from beholder.cli import main

    try:
        main()
    finally:
        rows = (Path(out) / "judge_results.jsonl").read_text().splitlines()
        if any(json.loads(row)["main_score"] != 7 for row in rows):
            raise SystemExit("a score is missing")


def run_inspect(folder: Path, url: str, calls: int) -> None:
    """Inspect's eval over the same images, scored by reading the reply's JSON."""
    from inspect_ai import Task
    from inspect_ai import eval as inspect_eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig, get_model
    from inspect_ai.scorer import Score, mean, scorer
    from inspect_ai.solver import generate

    @scorer(metrics=[mean()])
    def legible():
        async def score(state, target):  # noqa: ARG001 - the interface of a scorer
            return Score(value=json.loads(state.output.completion)["legible"])

        return score

    samples = [
        Sample(
            input=[
                ChatMessageUser(
                    content=[
                        ContentText(text=PROMPT),
                        ContentImage(image=str(folder / "run" / f"{number}.png")),
                    ]
                )
            ]
        )
        for number in range(calls)
    ]
    model = get_model(
        "openai/bench-model",
        base_url=f"{url}/v1",
        api_key="none",
        responses_api=False,
        config=GenerateConfig(max_connections=CONNECTIONS),
    )
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=legible())
    logs = inspect_eval(
        task,
        model=model,
        max_connections=CONNECTIONS,
        max_samples=CONNECTIONS,
        display="none",
        log_dir=tempfile.mkdtemp(dir=folder),
    )
    if logs[0].status != "success":
        raise SystemExit(f"inspect: {logs[0].error}")


CONTENDERS = {"sdk": run_sdk, "beholder": run_beholder, "inspect": run_inspect}


# --- measuring ----------------------------------------------------------------------------------


def measure(name: str, python: str, folder: Path, url: str, calls: int) -> dict[str, float]:
    """Wall and CPU seconds and peak memory (MB) of one contender's whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    script = [
        python,
        __file__,
        "--contender",
        name,
        "--folder",
        str(folder),
        "--url",
        url,
        "--calls",
        str(calls),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")} if name == "beholder" else dict(os.environ)
    with subprocess.Popen(
        script, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        _, errors = process.communicate()
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"{name} failed with {process.returncode}:\n{errors[-3000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = next((line for line in errors.splitlines()[::-1] if line.startswith("peak_mb=")), "peak_mb=nan")
    return {"wall_s": wall, "cpu_s": cpu, "peak_mb": float(peak.partition("=")[2])}


def main() -> None:
    """Measure, print, and say whether the claim holds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--peer-python", help="interpreter of an environment with inspect-ai and openai")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        try:
            CONTENDERS[options.contender](options.folder, options.url, options.calls)
        finally:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"\npeak_mb={peak:.1f}", file=sys.stderr)
        return

    names = ["sdk", "beholder", *(["inspect"] if options.peer_python else [])]
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_inputs(folder, options.calls)
        for _ in range(options.rounds):
            for name in names:
                python = options.peer_python if name == "inspect" else sys.executable
                figures[name].append(measured_with_server(name, python, folder, options.calls))
    report(names, figures, as_json=options.json)


def measured_with_server(name: str, python: str, folder: Path, calls: int) -> dict[str, float]:
    """One measurement against a fresh server; then what the server saw is checked."""
    log = folder / "requests.jsonl"
    log.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "tests.fakes.judge_server",
        "--delay",
        str(DELAY_S),
        "--text",
        REPLY,
        "--light",
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            return measure(name, python, folder, url, calls)
        finally:
            server.terminate()


def report(names: list[str], figures: dict[str, list[dict[str, float]]], *, as_json: bool) -> None:
    """Medians, ratios within the run, versions."""
    median = {
        name: {key: statistics.median(one[key] for one in figures[name]) for key in figures[name][0]}
        for name in names
    }
    ours = median["beholder"]
    result = {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "median": median,
        "spread_wall_s": {
            name: [min(f["wall_s"] for f in figures[name]), max(f["wall_s"] for f in figures[name])]
            for name in names
        },
        "beholder_per_sdk": ours["wall_s"] / median["sdk"]["wall_s"],
        "inspect_per_beholder": median["inspect"]["wall_s"] / ours["wall_s"] if "inspect" in median else None,
    }
    if as_json:
        print(json.dumps(result, indent=1))
        return
    print(f"Python {result['python']}, {result['cpus']} CPUs, median of {len(figures['sdk'])} rounds")
    for name in names:
        f, (low, high) = median[name], result["spread_wall_s"][name]
        wall = f"{f['wall_s']:6.2f} s wall ({low:.2f} to {high:.2f})"
        print(f"{name:10} {wall}  {f['cpu_s']:6.2f} s CPU  {f['peak_mb']:6.0f} MB")
    print(f"beholder / sdk      {result['beholder_per_sdk']:.2f}  (claim: at most 2)")
    print(f"beholder's memory   {ours['peak_mb']:.0f} MB  (claim: under 250)")
    if result["inspect_per_beholder"]:
        print(f"inspect / beholder  {result['inspect_per_beholder']:.2f}  (aim: at least 4)")
        bound = median["inspect"]["wall_s"] / median["sdk"]["wall_s"]
        print(f"inspect / sdk       {bound:.2f}  (no harness over this SDK can be further ahead)")


if __name__ == "__main__":
    main()
