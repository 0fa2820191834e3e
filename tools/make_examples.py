"""Makes the samples of `examples/` again that are no plain text: pictures, videos, office files, a PDF.

    python tools/make_examples.py [--out-dir examples] [--only math-media]

Needs ffmpeg, and `pip install matplotlib pillow python-docx python-pptx openpyxl reportlab` (used here:
3.11, 13.0, 1.2, 1.0, 3.1, 5.1). The letters of pictures are DejaVu Sans and STIX, which matplotlib brings
along. The maps of gis-bench are made by `make_demo.py`. Pages, drawings, texts, tasks and scripted replies
are written by hand.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import example_math
import example_office

MAKERS: Mapping[str, Callable[[], Mapping[str, bytes]]] = {
    "math-media": example_math.solutions,
    "enterprise-claw": example_office.files,
}


def main() -> None:
    """Writes every made file to its place below the example's `runs/`."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out-dir", type=Path, default=Path(__file__).resolve().parents[1] / "examples")
    parser.add_argument("--only", choices=sorted(MAKERS))
    arguments = parser.parse_args()
    for protocol, make in MAKERS.items():
        if arguments.only in {None, protocol}:
            for name, data in make().items():
                path = arguments.out_dir / protocol / "runs" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                print(f"{len(data):8,} {protocol}/{name}")


if __name__ == "__main__":
    main()
