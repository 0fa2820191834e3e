"""Make the pictures of README and docs anew: run the demo, photograph its report and a comparison.

python tools/make_pictures.py
"""

import io
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from beholder.evidence.browser import find_browser

IMAGES = Path(__file__).parents[1] / "docs" / "images"
COLOURS = 256
WHOLE = 6000
"""A window that holds the whole page, so that its banner stays above."""


@dataclass(frozen=True)
class Shot:
    """A picture of a page: what it shows, in which window; of one element, where `part` names it."""

    fragment: str = ""
    width: int = 1280
    height: int = 1000
    dark: bool = False
    part: str = ""
    page: str = "report.html"


SHOTS: Mapping[str, Shot] = {
    "report.png": Shot(),
    "report-820-dark.png": Shot(width=820, height=1100, dark=True),
    "report-390.png": Shot(width=390, height=1100),
    "scores.png": Shot(part="#scores", height=WHOLE),
    "gallery.png": Shot("#items", height=860),
    "item.png": Shot("#task=london-boroughs&model=meridian-large-demo", height=860),
    "compare.png": Shot("#task=us-unemployment&model=meridian-large-demo&with=atlas-small-demo", height=860),
    "comparison.png": Shot(page="compare.html", part="#pair-0", height=WHOLE),
}


def main() -> None:
    """Write each picture, with so few colours that the repository stays small."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        beholder = [sys.executable, "-m", "beholder"]
        subprocess.run([*beholder, "demo", "--out-dir", folder], check=True)
        compare = [*beholder, "compare", folder, "-o", f"{folder}/compare.html"]
        subprocess.run(compare, check=True, stdout=subprocess.DEVNULL)
        # The page is our own, so the sandbox, which Chromium refuses to root, may be off.
        browser = playwright.chromium.launch(executable_path=str(find_browser()), chromium_sandbox=False)
        for name, shot in SHOTS.items():
            picture = Image.open(io.BytesIO(photograph(browser, Path(folder), shot))).convert("RGB")
            # Colours of small marks count as much as those of large areas.
            few = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            few.save(IMAGES / name, optimize=True)
        browser.close()


def photograph(browser: Browser, folder: Path, shot: Shot) -> bytes:
    """A PNG of what the window shows, or of one element of the page."""
    page = browser.new_page(
        viewport={"width": shot.width, "height": shot.height},
        color_scheme="dark" if shot.dark else "light",
        reduced_motion="reduce",
    )
    page.goto(f"file://{folder}/{shot.page}{shot.fragment}")
    page.wait_for_load_state("networkidle")
    taken = page.locator(shot.part).screenshot() if shot.part else page.screenshot()
    page.close()
    return taken


if __name__ == "__main__":
    main()
