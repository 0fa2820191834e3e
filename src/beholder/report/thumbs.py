"""Small copies of large pictures, so that a gallery of thousands stays light. They can be made again.

A picture that a browser shows at once is its own thumbnail. A larger one gets `thumbs/<digest>.jpg` beside
the rows: cut to the top of a long page, as wide as a card on a fine screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from beholder.report.load import Json, Run, is_inside

if TYPE_CHECKING:
    from PIL import Image

FOLDER = "thumbs"
WIDTH_PX, HEIGHT_PX = 560, 350
LIGHT_BYTES = 400_000
LIGHT_PIXELS = 3_000_000

_DIGEST = re.compile(r"[0-9a-f]{64}")


def make_thumbs(out_dir: Path, run: Run) -> dict[str, str]:
    """Make what is not there yet, for the first picture of each row.

    Returns:
        Path of the small copy by the picture's path, both below the out-dir; a picture that cannot be
        decoded, or is light, has none.
    """
    wanted = {image["path"]: image["sha256"] for row in run.rows if (image := _heavy(row, run.sizes))}
    if not wanted:
        return {}
    (out_dir / FOLDER).mkdir(exist_ok=True)
    # Pillow decodes without Python's lock, so two threads are nearly twice as fast; more need more memory.
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(lambda pair: _thumb(out_dir, *pair), wanted.items())
        return {path: thumb for path, thumb in zip(wanted, made, strict=True) if thumb}


def stored_thumbs(out_dir: Path, rows: Iterable[Json]) -> dict[str, str]:
    """The small copies that an earlier report has made, by the picture's path; nothing is written."""
    if not (out_dir / FOLDER).is_dir():
        return {}
    there = {path.name for path in (out_dir / FOLDER).iterdir()}
    images = (image for row in rows for image in (row.get("evidence") or {}).get("images") or [])
    named = ((image.get("path"), f"{str(image.get('sha256') or '')[:32]}.jpg") for image in images)
    return {path: f"{FOLDER}/{name}" for path, name in named if path and name in there}


def _heavy(row: Json, sizes: Mapping[str, int | None]) -> Json | None:
    """The row's first picture, if it is there, is large, and has the digest that names its copy."""
    images = (row.get("evidence") or {}).get("images") or []
    first: Json | None = next((one for one in images if sizes.get(one.get("path") or "") is not None), None)
    if first is None or not is_inside(first["path"]) or not _DIGEST.fullmatch(first.get("sha256") or ""):
        return None
    pixels = (first.get("width_px") or 0) * (first.get("height_px") or 0)
    return first if (sizes[first["path"]] or 0) > LIGHT_BYTES or pixels > LIGHT_PIXELS else None


def _thumb(out_dir: Path, path: str, sha256: str) -> str | None:
    name = f"{FOLDER}/{sha256[:32]}.jpg"
    target = out_dir / name
    if target.is_file():
        return name
    from PIL import Image

    try:
        with Image.open(out_dir / path) as image:
            image.draft("RGB", (WIDTH_PX, HEIGHT_PX))
            width, height = image.size
            # A card shows the top of a page in the shape of a screen.
            top = image.crop((0, 0, width, min(height, max(1, width * HEIGHT_PX // WIDTH_PX))))
            small = _on_white(top)
            small.thumbnail((WIDTH_PX, HEIGHT_PX), Image.Resampling.BILINEAR, reducing_gap=1.5)
            partial = target.with_suffix(".part")
            small.save(partial, "JPEG", quality=82)  # a tenth of the time that WebP takes
        partial.replace(target)
    except (OSError, ValueError, Image.DecompressionBombError):
        return None  # the picture itself is shown, or said to be broken, by the browser
    return name


def _on_white(image: Image.Image) -> Image.Image:
    """A picture without transparency, as a browser shows it on a light page."""
    from PIL import Image

    if not image.has_transparency_data:
        return image.convert("RGB")
    layered = image.convert("RGBA")
    page = Image.new("RGB", layered.size, "white")
    page.paste(layered, mask=layered.getchannel("A"))
    return page
