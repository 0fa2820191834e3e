"""Make the pictures of the README anew: run the demo, photograph its report.

python tools/make_pictures.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from beholder.evidence import find_browser

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SHOTS = {"report.png": ("", 760), "gallery.png": ("#items", 960), "item.png": ("#item-1", 860)}


def main() -> None:
    """Write each picture at a width of 1280 px."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run([sys.executable, "-m", "beholder", "demo", "--out-dir", folder], check=True)
        # The page is our own, so the sandbox, which Chromium refuses to root, may be off.
        browser = playwright.chromium.launch(executable_path=str(find_browser()), chromium_sandbox=False)
        for name, (fragment, height) in SHOTS.items():
            page = browser.new_page(viewport={"width": 1280, "height": height}, color_scheme="light")
            page.goto(f"file://{folder}/report.html{fragment}")
            page.wait_for_load_state("networkidle")
            page.screenshot(path=IMAGES / name)
        browser.close()


if __name__ == "__main__":
    main()
