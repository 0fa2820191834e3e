"""How fast files become pictures: against the scripts that the field uses, on the same generated files.

    html     40 pages:     usual       Playwright, a browser a page, 3 s of sleep, full-page PNG
                           no_sleep    the same without the sleep
                           beholder    sandbox, isolation, 3 s of page time
    office   24 documents: soffice     `soffice --convert-to pdf`, once a file, and nothing more
                           soffice_png the same, then `pdftoppm -png`
                           beholder    to the pictures
    pdf      20 documents: pdftoppm    `pdftoppm -png` once a file, at the very pixels that beholder sends
                           beholder    pages as they are sent to a judge
    memory   all of these: beholder with 1, 2 and 4 workers

First every contender's pictures are compared with beholder's: pages by the same browser have to agree in
size and, but for anti-aliasing, in colour; rasterisers differ at edges, so pages of documents have to agree
in size and in the mean of every block. Then each contender is timed in a process of its own, in turn, several
rounds.

Time is the whole process, interpreter start included; CPU is of the process and everything it has started,
orphans included (the measuring process is their reaper); memory is the most that the whole tree held at a
time (proportional set size), taken in runs of their own, since looking costs time.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import io
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES, DOCUMENTS, PDFS, PDF_PAGES = 40, 24, 20, 6
SLEEP_S = 3
VIEWPORT = (1280, 800)

SAME_BROWSER = 0.5
"""Mean absolute difference of two pictures of a page, of 255: by one browser only anti-aliasing moves."""

BLOCK_PX, BLOCK_DIFFERENCE = 24, 20
"""Two rasterisers: mean grey of each block of so many px may differ by so much, of 255."""

CLAIMS = (
    ("html", "usual", "wall_s", 8.0),
    ("html", "no_sleep", "wall_s", 3.0),
    ("office", "soffice", "wall_s", 8.0),
    ("pdf", "pdftoppm", "wall_s", 4.0),
)


# --- inputs -------------------------------------------------------------------------------------


def make_pages(folder: Path, count: int) -> None:
    """Pages as models write them: text, tables, drawings, pictures of their own, things drawn late."""
    from PIL import Image

    folder.mkdir()
    for number in range(count):
        chance = random.Random(number)
        noise = Image.frombytes("RGB", (160, 120), chance.randbytes(160 * 120 * 3)).resize((640, 480))
        noise.save(folder / f"photo-{number}.jpg", quality=85)
        rows = "".join(
            f"<tr><td>{row}<td>{chance.random():.4f}<td>{chance.choice(WORDS)}"
            for row in range(chance.randrange(10, 40))
        )
        bars = ",".join(str(chance.randrange(20, 300)) for _ in range(12))
        prose = "".join(f"<p>{_prose(chance, 60)}</p>" for _ in range(chance.randrange(2, 8)))
        (folder / f"{number:03}.html").write_text(
            PAGE.format(number=number, rows=rows, bars=bars, prose=prose, wait=chance.choice((0, 300, 1500))),
            encoding="utf-8",
        )


WORDS = ("map", "river", "border", "scale", "legend", "north", "harbour", "contour", "valley", "survey")

PAGE = """<!doctype html><meta charset="utf-8"><title>Page {number}</title>
<style>body{{font:16px/1.5 sans-serif;margin:0;color:#222}}header{{background:#135;color:#fff;padding:24px}}
main{{max-width:960px;margin:auto;padding:16px;display:grid;grid-template-columns:1fr 1fr;gap:24px}}
td,th{{border:1px solid #ccc;padding:2px 8px}}canvas,img,svg{{max-width:100%;border-radius:8px}}
.wide{{grid-column:1/3;background:linear-gradient(90deg,#eef,#fee);padding:16px}}</style>
<header><h1>Report {number}</h1></header><main><section>{prose}</section>
<section><img src="photo-{number}.jpg" width="440" height="330" alt=""><table>{rows}</table></section>
<section class="wide"><canvas id="c" width="900" height="320"></canvas><div id="late"></div></section></main>
<script>
const bars=[{bars}], g=document.getElementById("c").getContext("2d");
bars.forEach((v,i)=>{{g.fillStyle=`hsl(${{i*30}} 70% 45%)`;g.fillRect(i*72+8,310-v,56,v)}});
setTimeout(()=>{{document.getElementById("late").innerHTML=
 "<svg width=900 height=120>"+bars.map((v,i)=>
 `<circle cx="${{40+i*72}}" cy="60" r="${{8+v/10}}" fill="#357"/>`).join("")+"</svg>"}},
 {wait});
</script>
"""


def _prose(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(words)).capitalize() + "."


def make_documents(folder: Path, count: int) -> None:
    """Documents, slides and workbooks in turn."""
    folder.mkdir()
    for number in range(count):
        chance = random.Random(number)
        (_document, _slides, _workbook)[number % 3](folder / f"{number:03}", chance)


def _document(stem: Path, chance: random.Random) -> None:
    from docx import Document

    document = Document()
    document.add_heading(f"Report {stem.name}")
    for _ in range(chance.randrange(6, 14)):
        document.add_paragraph(_prose(chance, 80))
    table = document.add_table(rows=8, cols=4)
    for row in table.rows:
        for cell in row.cells:
            cell.text = chance.choice(WORDS)
    document.save(str(stem.with_suffix(".docx")))


def _slides(stem: Path, chance: random.Random) -> None:
    from pptx import Presentation

    show = Presentation()
    for _ in range(chance.randrange(2, 6)):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = _prose(chance, 4)
        slide.placeholders[1].text = "\n".join(_prose(chance, 6) for _ in range(5))
    show.save(str(stem.with_suffix(".pptx")))


def _workbook(stem: Path, chance: random.Random) -> None:
    from openpyxl import Workbook
    from openpyxl.chart import BarChart, Reference

    book = Workbook()
    sheet = book.active
    sheet.append(["place", "height", "share"])
    for _ in range(30):
        sheet.append([chance.choice(WORDS), chance.randrange(2000), round(chance.random(), 3)])
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=12), titles_from_data=True)
    sheet.add_chart(chart, "E2")
    book.save(stem.with_suffix(".xlsx"))


def make_pdfs(folder: Path, count: int) -> None:
    """A4 pages of text, lines, fills and a picture."""
    from PIL import Image
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    folder.mkdir()
    for number in range(count):
        chance = random.Random(number)
        photo = Image.frombytes("RGB", (80, 60), chance.randbytes(80 * 60 * 3)).resize((640, 480))
        canvas = Canvas(str(folder / f"{number:03}.pdf"), pagesize=A4, invariant=True)
        for page in range(PDF_PAGES):
            canvas.setFont("Helvetica-Bold", 18)
            canvas.drawString(50, 790, f"Report {number}, page {page + 1}")
            canvas.setFont("Times-Roman", 11)
            for line in range(26):
                canvas.drawString(50, 760 - 14 * line, _prose(chance, 12))
            for bar in range(12):
                canvas.setFillColorRGB(chance.random(), chance.random(), chance.random())
                canvas.rect(50 + 40 * bar, 60, 30, chance.randrange(20, 120), stroke=1, fill=1)
            canvas.setFillColorRGB(0, 0, 0)
            canvas.drawImage(ImageReader(photo), 50, 200, 240, 180)
            canvas.showPage()
        canvas.save()


# --- contenders, each called in a fresh process -------------------------------------------------


def run_usual(folder: Path, out: Path, *, sleep_s: float = SLEEP_S) -> None:
    """What most evaluation scripts do with a page."""
    from playwright.sync_api import sync_playwright

    for path in sorted((folder / "html").glob("*.html")):
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=os.environ["BENCH_BROWSER"])
            page = browser.new_page(viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]})
            page.goto(path.as_uri())
            time.sleep(sleep_s)
            page.screenshot(path=str(out / f"{path.name}-1.png"), full_page=True)
            browser.close()


def run_no_sleep(folder: Path, out: Path) -> None:
    """The same, and a page that draws late is not waited for."""
    run_usual(folder, out, sleep_s=0)


def run_soffice(folder: Path, out: Path) -> None:
    """One call a file, to PDF."""
    with tempfile.TemporaryDirectory() as profile:
        for path in sorted((folder / "office").iterdir()):
            subprocess.run(
                [
                    *("soffice", "--headless", f"-env:UserInstallation=file://{profile}"),
                    *("--convert-to", "pdf", "--outdir", str(out), str(path)),
                ],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            if not (out / f"{path.stem}.pdf").exists():
                raise SystemExit(f"soffice made nothing of {path.name}")


def run_soffice_png(folder: Path, out: Path) -> None:
    """One call a file, then its pages as pictures, at the pixels that beholder sends."""
    run_soffice(folder, out)
    for path in sorted((folder / "office").iterdir()):
        _pdftoppm(out / f"{path.stem}.pdf", out / path.name, folder)


def run_pdftoppm(folder: Path, out: Path) -> None:
    """One call a file."""
    for path in sorted((folder / "pdf").glob("*.pdf")):
        _pdftoppm(path, out / path.name, folder)


def _pdftoppm(pdf: Path, stem: Path, folder: Path) -> None:
    """The pages that beholder shows, at its size; the sizes were written down when pictures were compared."""
    size = json.loads((folder / "sizes.json").read_text()).get(stem.name)
    scale = ["-scale-to-x", str(size[0]), "-scale-to-y", str(size[1])] if size else []
    subprocess.run(["pdftoppm", "-png", "-l", str(PDF_PAGES), *scale, str(pdf), str(stem)], check=True)


def run_beholder(folder: Path, out: Path, *, kinds: Sequence[str], workers: int) -> None:
    """The engine, and its pictures written as `NAME-1.png` and so on."""
    from decimal import Decimal

    from beholder.evidence.engine import EvidenceEngine
    from beholder.records import EvidencePolicy, MediaLimits, NetworkPolicy
    from beholder.run.evidence import general_routing
    from beholder.tasks.loose import loose_files

    policy = EvidencePolicy(
        viewport=VIEWPORT, min_wait_s=Decimal(SLEEP_S), layout="single", pages=PDF_PAGES, video="frames"
    )
    # A judge that shrinks above 1568 px, so that pages of documents come in that size. Pages of the web are
    # compared in their natural size.
    files = [one for kind in kinds for one in loose_files([folder / kind]) if one.path.suffix != ".jpg"]

    async def show(limits: MediaLimits, those: list[Any]) -> dict[str, Any]:
        block = NetworkPolicy(mode="block", given=True)
        async with EvidenceEngine(policy, general_routing(), block, limits, workers=workers) as engine:
            waiting = iter(those)

            async def work() -> None:
                for one in waiting:
                    evidence = await engine.prepare(one.open())
                    if evidence.status != "ok":
                        raise SystemExit(f"{one.name}: {evidence.reason}: {evidence.detail}")
                    for at, picture in enumerate(evidence.pictures, start=1):
                        suffix = picture.media_type.removeprefix("image/")
                        (out / f"{one.path.name}-{at}.{suffix}").write_bytes(picture.data)

            # As `judge-run` does: enough submissions on their way that no worker waits for the next.
            await asyncio.gather(*(work() for _ in range(8 + 2 * workers)))
            return dict(engine.renderer)

    pages = [one for one in files if one.path.suffix == ".html"]
    others = [one for one in files if one.path.suffix != ".html"]
    renderer: dict[str, Any] = {}
    if pages:
        renderer |= asyncio.run(show(MediaLimits(), pages))
        if renderer["sandbox"] != "on":
            raise SystemExit(f"the sandbox is off ({renderer['sandbox_reason']}), so nothing is claimed")
    if others:
        renderer |= asyncio.run(show(MediaLimits(shrink_edge_px=1568, shrink_pixels=1568 * 28 * 28), others))
    (out / "renderer.json").write_text(json.dumps(renderer))


PEERS: dict[str, dict[str, Callable[[Path, Path], None]]] = {
    "html": {"usual": run_usual, "no_sleep": run_no_sleep},
    "office": {"soffice": run_soffice, "soffice_png": run_soffice_png},
    "pdf": {"pdftoppm": run_pdftoppm},
}
MAKERS = {"html": make_pages, "office": make_documents, "pdf": make_pdfs}


def contend(kind: str, name: str, folder: Path, out: Path, workers: int) -> None:
    """One contender, in this process."""
    if name == "beholder":
        kinds = ("html", "office", "pdf") if kind == "memory" else (kind,)
        run_beholder(folder, out, kinds=kinds, workers=workers)
    else:
        PEERS[kind][name](folder, out)


# --- measuring ----------------------------------------------------------------------------------


def measure(kind: str, name: str, folder: Path, out: Path, workers: int, *, memory: bool = False) -> Any:
    """Wall and CPU seconds of one contender's whole tree, and its peak memory (MB) if that is asked for."""
    command = [
        *(sys.executable, __file__, "--measure", kind, name, str(folder), str(out), str(workers)),
        "memory" if memory else "time",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{kind}, {name} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measured(kind: str, name: str, folder: str, out: str, workers: str, what: str) -> None:
    """In a process of its own: run a contender below it, and print what the whole tree took."""
    set_child_subreaper = 36  # every orphan of the tree becomes this process's child, and is counted
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)
    command = [sys.executable, __file__, "--contend", kind, name, folder, out, workers]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        stop = threading.Event()
        peak: list[float] = []
        watch = threading.Thread(target=_watch, args=(stop, peak))
        if what == "memory":
            watch.start()
        code = process.wait()
        wall = time.perf_counter() - began
        stop.set()
        if what == "memory":
            watch.join()
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)
        except ChildProcessError:
            break
    else:
        raise SystemExit("something of the tree is still running")
    if code:
        raise SystemExit(code)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(json.dumps({"wall_s": wall, "cpu_s": cpu, "peak_mb": max(peak) if peak else None}))


def _watch(stop: threading.Event, peak: list[float]) -> None:
    import psutil

    myself = psutil.Process()
    while not stop.wait(0.2):
        total = 0
        for process in myself.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                total += process.memory_full_info().pss
        peak.append(total / 2**20)


# --- equal pictures -----------------------------------------------------------------------------


def pictures(out: Path) -> dict[str, Path]:
    """`NAME/number` -> file; `pdftoppm` pads its numbers."""
    found = {}
    for path in sorted(out.iterdir()):
        if path.suffix in {".png", ".jpeg"}:
            name, _, number = path.stem.rpartition("-")
            found[f"{name}/{int(number)}"] = path
    return found


def compare(kind: str, ours: Path, theirs: Path) -> dict[str, Any]:
    """The largest difference between two contenders' pictures, and which are too far apart."""
    import numpy as np
    from PIL import Image

    mine, other = pictures(ours), pictures(theirs)
    if mine.keys() != other.keys():
        raise SystemExit(f"other pictures: {sorted(mine.keys() ^ other.keys())[:10]}")
    worst, apart = 0.0, []
    for name, path in mine.items():
        a = np.asarray(Image.open(path).convert("RGB"), dtype=np.float64)
        b = np.asarray(Image.open(other[name]).convert("RGB"), dtype=np.float64)
        if a.shape != b.shape:
            apart.append(f"{name}: {a.shape[1]}x{a.shape[0]} px, the other {b.shape[1]}x{b.shape[0]}")
            continue
        if kind == "html":
            difference, most = float(np.abs(a - b).mean()), SAME_BROWSER
        else:
            difference, most = float(np.abs(_blocks(a) - _blocks(b)).max()), float(BLOCK_DIFFERENCE)
        worst = max(worst, difference)
        if difference > most:
            apart.append(name)
    return {"pictures": len(mine), "worst": round(worst, 3), "apart": apart}


def _blocks(image: Any) -> Any:
    """The mean grey of each whole block."""
    height, width = (side // BLOCK_PX * BLOCK_PX for side in image.shape[:2])
    grey = image[:height, :width].mean(axis=2)
    return grey.reshape(height // BLOCK_PX, BLOCK_PX, width // BLOCK_PX, BLOCK_PX).mean(axis=(1, 3))


def check_equal(kind: str, folder: Path, workers: int) -> dict[str, Any]:
    """Draw once with every contender and compare.

    A workbook is left out of it: beholder shows a sheet as one page, which `--convert-to pdf` does not. Pages
    that draw late look other without the sleep, which is what the sleep is for: told and not held against it.
    """
    from PIL import Image

    with outs(folder) as ours:
        measure(kind, "beholder", folder, ours, workers)
        if kind in {"pdf", "office"}:
            first = {
                name.partition("/")[0]: path for name, path in pictures(ours).items() if name.endswith("/1")
            }
            sizes = {name: Image.open(path).size for name, path in first.items()}
            (folder / "sizes.json").write_text(json.dumps(sizes))
        renderer = json.loads((ours / "renderer.json").read_text())
        for path in ours.glob("*.xlsx-*"):
            path.unlink()
        found: dict[str, Any] = {"renderer": renderer}
        for name in PEERS[kind]:
            if name == "soffice":
                continue  # it makes no pictures
            with outs(folder) as theirs:
                measure(kind, name, folder, theirs, workers)
                for path in theirs.glob("*.xlsx-*"):
                    path.unlink()
                found[name] = compare(kind, ours, theirs)
            if found[name]["apart"] and name != "no_sleep":
                raise SystemExit(f"{kind}: beholder and {name} differ: {found[name]}")
    return found


@contextlib.contextmanager
def outs(folder: Path) -> Iterator[Path]:
    """A folder for one run's pictures."""
    with tempfile.TemporaryDirectory(dir=folder) as path:
        yield Path(path)


# --- the whole ----------------------------------------------------------------------------------


def main() -> None:
    """Compare, measure, print, and say whether the claims hold."""
    if sys.argv[1:2] == ["--contend"]:
        kind, name, folder, out, workers = sys.argv[2:]
        contend(kind, name, Path(folder), Path(out), int(workers))
        return
    if sys.argv[1:2] == ["--measure"]:
        measured(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--html", type=int, default=PAGES, help="pages (0: leave them out)")
    parser.add_argument("--office", type=int, default=DOCUMENTS, help="documents")
    parser.add_argument("--pdf", type=int, default=PDFS, help=f"PDFs of {PDF_PAGES} pages")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", type=int, nargs="*", default=[1, 2, 4], help="numbers of workers")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    counts = {kind: getattr(options, kind) for kind in MAKERS if getattr(options, kind)}
    browser = Path("/usr/lib/chromium/chromium-headless-shell")
    os.environ["BENCH_BROWSER"] = str(
        browser if browser.exists() else shutil.which("chromium-headless-shell") or ""
    )
    result: dict[str, Any] = {"versions": versions(), "counts": counts, "workers": options.workers}
    with tempfile.TemporaryDirectory(prefix="beholder-bench-") as temporary:
        folder = Path(temporary)
        # The browser and the decoders run as another user.
        folder.chmod(0o755)
        for kind, count in counts.items():
            MAKERS[kind](folder / kind, count)
        result["equal"] = {kind: check_equal(kind, folder, options.workers) for kind in counts}
        result["median"], result["spread_wall_s"] = {}, {}
        for kind in counts:
            figures: dict[str, list[Any]] = {name: [] for name in (*PEERS[kind], "beholder")}
            for _ in range(options.rounds):
                for name, taken in figures.items():
                    with outs(folder) as out:
                        taken.append(measure(kind, name, folder, out, options.workers))
            result["median"][kind] = {
                name: {key: statistics.median(one[key] for one in taken) for key in ("wall_s", "cpu_s")}
                for name, taken in figures.items()
            }
            result["spread_wall_s"][kind] = {
                name: [min(one["wall_s"] for one in taken), max(one["wall_s"] for one in taken)]
                for name, taken in figures.items()
            }
        result["peak_mb"] = {}
        for workers in options.memory if counts.keys() == MAKERS.keys() else ():
            with outs(folder) as out:
                taken = measure("memory", "beholder", folder, out, workers, memory=True)
            result["peak_mb"][str(workers)] = taken["peak_mb"]
    result["ratios"] = {
        f"{kind}: {name} / beholder": result["median"][kind][name][key]
        / result["median"][kind]["beholder"][key]
        for kind, name, key, _ in CLAIMS
        if kind in counts
    }
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        report(result)


def versions() -> dict[str, str]:
    """Of everything that draws."""
    from importlib import metadata

    def said(*command: str) -> str:
        with contextlib.suppress(OSError):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return (done.stdout or done.stderr).splitlines()[0].strip()
        return "absent"

    packages = ("beholder", "playwright", "pypdfium2", "pillow")
    return {
        "python": platform.python_version(),
        "cpus": str(os.cpu_count()),
        "browser": said(os.environ["BENCH_BROWSER"], "--version"),
        "soffice": said("soffice", "--version"),
        "pdftoppm": said("pdftoppm", "-v"),
        **{name: metadata.version(name) for name in packages},
    }


def report(result: dict[str, Any]) -> None:
    """For people."""
    out = io.StringIO()
    print(", ".join(f"{name} {version}" for name, version in result["versions"].items()), file=out)
    for kind, count in result["counts"].items():
        equal = {name: one for name, one in result["equal"][kind].items() if name != "renderer"}
        print(f"\n{kind}, {count} files, {result['workers']} workers", file=out)
        for name, one in equal.items():
            print(f"  equal to {name}: {one['pictures']} pictures, worst difference {one['worst']}"
                  f", {len(one['apart'])} apart", file=out)  # fmt: skip
        for name, taken in result["median"][kind].items():
            low, high = result["spread_wall_s"][kind][name]
            print(f"  {name:12} {taken['wall_s']:7.2f} s wall ({low:.2f} to {high:.2f})"
                  f"  {taken['wall_s'] / count:6.3f} s a file"
                  f"  {taken['cpu_s'] / count:6.3f} s CPU a file", file=out)  # fmt: skip
    print(file=out)
    for kind, name, key, least in CLAIMS:
        if kind in result["counts"]:
            ratio = result["ratios"][f"{kind}: {name} / beholder"]
            print(f"{kind}: {name} / beholder, {key}: {ratio:.2f}  (claim: at least {least:g})", file=out)
    for workers, peak in result["peak_mb"].items():
        print(f"peak memory with {workers} workers: {peak:.0f} MB", file=out)
    print(out.getvalue(), end="")


if __name__ == "__main__":
    main()
