"""What is told of a page: for the manifest, and what a reader of the score should know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from beholder.evidence.capture import MAX_HEIGHT_PX
from beholder.evidence.gate import MAX_NOTED
from beholder.evidence.page import LOCALE, TIMEZONE, Page, plain
from beholder.evidence.page_clock import EPOCH
from beholder.evidence.page_scripts import SEED
from beholder.evidence.page_scroll import GONE, MAX_SCROLL_STEPS
from beholder.evidence.page_settle import STILL_AT_MS
from beholder.records import Warning_


def page_facts(page: Page) -> dict[str, Any]:
    """What was recorded, for the manifest. Nothing in it depends on the machine's speed."""
    served = sorted(page.folder.served.items())
    facts: dict[str, Any] = {
        "viewport": list(page.policy.viewport),
        "device_scale": 1,
        "color_scheme": "light",
        "reduced_motion": True,
        "locale": LOCALE,
        "timezone": TIMEZONE,
        "clock": EPOCH,
        "random_seed": SEED,
        "animations": {"endless_held_at_ms": STILL_AT_MS, "pictures_and_smil_held_at_ms": 0},
        "page_size": list(page.full_size),
        "wait": {
            "how": "virtual time",
            "page_time_s": round(page.clock.passed_s, 3),
            "asked_s": float(page.policy.min_wait_s),
            "cut_short": page.cut_short,
        },
        "served": {plain(name): digest for name, digest in served},
        "served_bytes": {plain(name): page.folder.sizes[name] for name, _ in served},
    }
    optional: dict[str, Any] = {
        "missing_files": [plain(name) for name in sorted(page.folder.missing)[:MAX_NOTED]],
        "script_errors": page.errors,
        "dialogs": page.dialogs,
        "workers": page.workers.seen,
        "missing_glyphs": plain(page.missing_glyphs),
        "expanded": page.expanded,
        "inner_scrollers": page.inner,
        "fixed_backgrounds": page.backdrops,
        "reveals_held": page.scrolled.get("held", 0),
    }
    return facts | page.gate.facts() | {key: value for key, value in optional.items() if value}


def page_warnings(page: Page) -> Iterator[Warning_]:
    """What a reader of the score should know."""
    name = page.folder.name
    yield from page.gate.warnings(name)
    if page.folder.missing:
        missing = plain(", ".join(sorted(page.folder.missing)[:5]))
        yield Warning_(code="missing_file", detail=missing, source=name)
    if page.expanded is not None:
        shown, whole = page.expanded["shown_px"], page.expanded["whole_px"]
        shown = min(whole, MAX_HEIGHT_PX) if page.expanded["held"] else shown
        if shown < whole:
            detail = f"{page.expanded['what']} scrolls by itself and shows {shown} of {whole} px"
            yield Warning_(code="truncated", detail=detail, source=name)
    for one in page.inner:
        detail = f"{one['what']} scrolls by itself and shows {one['shown_px']} of {one['whole_px']} px"
        yield Warning_(code="inner_scroll", detail=detail, source=name)
    if not page.scrolled.get("ended", True):
        detail = f"scrolled through {MAX_SCROLL_STEPS} viewports, and the page goes on"
        yield Warning_(code="truncated", detail=detail, source=name)
    if page.scrolled.get("gone", 0) >= GONE:
        detail = "what comes into view replaces what was there: only the first rows are shown"
        yield Warning_(code="virtual_list", detail=detail, source=name)
    if page.missing_glyphs:
        listed = ", ".join(f"U+{ord(one):04X} {one}" for one in page.missing_glyphs[:5])
        more = f" and {len(page.missing_glyphs) - 5} more" if len(page.missing_glyphs) > 5 else ""
        detail = f"no font here has {listed}{more}; `beholder doctor` lists fonts by script"
        yield Warning_(code="missing_glyphs", detail=plain(detail), source=name)
    if page.errors:
        yield Warning_(code="script_error", detail="; ".join(page.errors[:3]), source=name)
