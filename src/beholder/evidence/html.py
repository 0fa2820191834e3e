"""Web pages: loaded in the browser, left to settle, captured whole."""

from __future__ import annotations

import asyncio
import io
import struct
import zlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from beholder.errors import BrokenArtifact
from beholder.evidence.browser import SETUP_S, Browser
from beholder.evidence.capture import (
    THUMB_HEIGHT_PX,
    THUMB_SCALE,
    Box,
    Shot,
    capture_box,
    capture_slices,
    join_slices,
    png_size,
    surrounding,
)
from beholder.evidence.cdp import ConnectionLost, ProtocolFailure, Session
from beholder.evidence.egress import Egress
from beholder.evidence.gate import Gate
from beholder.evidence.kinds import Job, Shown, cut_warnings, in_thread, plan_facts
from beholder.evidence.layout import Plan
from beholder.evidence.layout import plan as make_plan
from beholder.evidence.page import Page, PageFailed
from beholder.evidence.pictures import crop, encode, is_flat, make_picture, shrink
from beholder.evidence.serve import ServedFolder
from beholder.evidence.sniff import sniff
from beholder.records import EvidencePolicy, MediaLimits, NetworkPolicy, Picture, Warning_

CAPTURE_S = 20.0
"""Wall seconds for all pictures of one page; a page that stands still takes a tenth of one."""

GRACE_S = 5.0
"""The same for a page that was cut short: it may be busy, or hang."""

_UNFIT = (LookupError, OSError, SyntaxError, ValueError, struct.error, zlib.error)
"""What an answer without its fields, or a picture of the browser's that is none, fails with."""

GOOD_PAGE = (
    b"<!doctype html><title>good</title><body style='background:#fff'><h1>A page known to be good.</h1>"
)
"""What is rendered to find out whose fault a failure is."""


def check_html(job: Job) -> None:
    """Refuse what is no text at all.

    Raises:
        BrokenArtifact: `wrong_type`.
    """
    found = sniff(job.data)
    if found:
        raise BrokenArtifact(f"the content is no page but {found}", slug="wrong_type", concerns=job.name)
    # UTF-16 has NULs, but says so; anything else with a NUL in its first kilobytes is no text.
    if b"\0" in job.data[:4096] and not job.data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BrokenArtifact("the content is no text", slug="wrong_type", concerns=job.name)


_WHOLE_LOOK_PX = 1_500_000
"""A picture up to this size is compared whole; a larger one by a small copy, which costs less."""

_FLAT_BYTES = 60_000
"""A flat picture, however large, compresses to less; only then is it decoded to make sure."""


async def render_html(
    browser: Browser, job: Job, folder: ServedFolder, network: NetworkPolicy, egress: Egress | None
) -> Shown:
    """A page's pictures, one attempt.

    Ends in bounded time, whatever the page or the browser does.

    Raises:
        PageFailed: The page hangs, kills its renderer or cannot be captured.
        ConnectionLost: The browser is gone or does not answer.
    """
    # Each step has a limit of its own; this one holds for what no step has thought of.
    whole_s = 2 * SETUP_S + float(job.policy.max_wait_s) + CAPTURE_S
    try:
        async with (
            asyncio.timeout(whole_s),
            browser.page(*job.policy.viewport) as (session, frame),
        ):
            gate = Gate(network, egress)
            page = Page(session, frame, folder, job.policy, gate)
            async with asyncio.timeout(SETUP_S):
                await page.prepare()
            await page.settle()
            pending = len(gate.pending)
            async with asyncio.timeout(GRACE_S if page.cut_short else CAPTURE_S):
                return await page.alive(_capture(session, page, job, pending))
    except TimeoutError:
        raise PageFailed("the page does not answer and cannot be captured", concerns=job.name) from None
    except ProtocolFailure as error:
        raise PageFailed(f"the page cannot be captured: {error}", concerns=job.name) from error
    except _UNFIT as error:
        raise PageFailed(f"the browser's answer cannot be used: {error!r}", concerns=job.name) from error


async def _capture(session: Session, page: Page, job: Job, pending: int) -> Shown:
    box = await page.stand_still()
    plan = make_plan(box.width, box.height, job.policy.layout, job.limits, job.budget)
    full_size = page.full_size
    look = _look(box, plan)
    before = await look.take(session)
    pictures, shots = await _pictures(session, box, plan, job, before if look.is_picture else None)
    warnings = list(page.warnings())
    unsettled = page.cut_short or (f"{pending} requests pending" if pending else "")
    if not unsettled and await _still_changes(session, page, look, box, before, shots):
        unsettled = "the page still changes after the capture"
    if unsettled:
        warnings.append(Warning_(code="page_not_settled", detail=unsettled, source=job.name))
    # In a tall page's overview text may have shrunk to nothing; what else was captured still shows it.
    if await in_thread(job.name, _all_flat, [before, *(picture.data for picture in pictures)]):
        warnings.append(Warning_(code="blank_capture", detail="one flat colour", source=job.name))
    warnings += cut_warnings(plan, job.name)
    if full_size != (box.width, box.height):
        detail = f"{box.width}x{box.height} of {full_size[0]}x{full_size[1]} px are captured"
        warnings.append(Warning_(code="truncated", detail=detail, source=job.name))
    undecided = not page.gate.network.given or job.policy.degraded == "unscored"
    return Shown(
        pictures=tuple(pictures),
        facts=page.facts() | {"captured": [box.width, box.height]} | plan_facts(plan),
        warnings=tuple(warnings),
        blocked_hosts=tuple(sorted(page.gate.outside)) if undecided and page.gate.failed else (),
    )


async def _still_changes(
    session: Session, page: Page, look: _Look, box: Box, before: bytes, shots: list[Shot]
) -> bool:
    """Whether the page looks different after some more page time.

    Args:
        before: The look at first.
        shots: What was captured in natural size.
    """
    size = page.full_size
    await page.go_on()
    if await page.stand_still() != box or page.full_size != size:
        return True
    if await look.take(session) == before:
        return False
    # Drawn at another scale in between, an edge may come out a shade different. In natural size none does.
    for shot in shots:
        if await capture_box(session, shot.box) != shot.png:
            return True
    return not shots


@dataclass(frozen=True, slots=True)
class _Look:
    """The capture that is taken twice, to see whether the page still changes.

    Attributes:
        is_picture: It is the picture of the whole that is sent, too.
    """

    box: Box
    scale: float
    is_picture: bool

    async def take(self, session: Session) -> bytes:
        return await capture_box(session, self.box, scale=self.scale)


def _look(box: Box, plan: Plan) -> _Look:
    """The picture of the whole itself, where the browser makes it and it is not large; else a small one."""
    if plan.overview is not None and plan.overview >= 1.0 and box.width * box.height <= _WHOLE_LOOK_PX:
        return _Look(box, 1.0, is_picture=True)
    top = Box(box.x, box.y, box.width, min(box.height, THUMB_HEIGHT_PX))
    return _Look(top, THUMB_SCALE, is_picture=False)


async def _pictures(
    session: Session, box: Box, plan: Plan, job: Job, whole: bytes | None
) -> tuple[list[Picture], list[Shot]]:
    """(the pictures to send, what was captured in natural size for them).

    All are made from captures in natural size, which come out the same each time; the browser's own scaling
    does so only nearly.

    Args:
        whole: The page's picture, where it is the only one and is there already.
    """
    if whole is not None:
        return [make_picture(whole, "image/png", png_size(whole), job.name)], []
    needed = box if plan.overview is not None else surrounding(plan.tiles)
    shots = await capture_slices(session, needed)
    return await in_thread(job.name, _lay_out, shots, plan, job.name), shots


def _lay_out(shots: list[Shot], plan: Plan, name: str) -> list[Picture]:
    """The overview and the parts of a page out of its slices. CPU-bound."""
    if plan.overview is not None and plan.overview >= 1.0 and len(shots) == 1:
        box = shots[0].box
        return [make_picture(shots[0].png, "image/png", (box.width, box.height), name)]
    page = join_slices([shot.png for shot in shots])
    pictures = []
    if plan.overview is not None:
        part, parts = (0, plan.tiles_in_all) if plan.tiles else (None, None)
        image, said = (page, "") if plan.overview >= 1.0 else shrink(page, plan.overview)
        data = encode(image, "image/png")
        words = (said,) if said else ()
        pictures.append(
            make_picture(data, "image/png", image.size, name, part=part, parts=parts, transforms=words)
        )
    for number, tile in enumerate(plan.tiles, start=1):
        data = encode(crop(page, tile), "image/png")
        size, parts = (tile.width, tile.height), plan.tiles_in_all
        words = (f"cut out at {tile.x},{tile.y}, {tile.width}x{tile.height}",)
        pictures.append(
            make_picture(data, "image/png", size, name, part=number, parts=parts, transforms=words)
        )
    return pictures


def _all_flat(pngs: list[bytes]) -> bool:
    """Whether each is flat; what is large as a file is not, and is not decoded to find out."""
    from PIL import Image

    return all(
        len(data) < _FLAT_BYTES and is_flat(Image.open(io.BytesIO(data), formats=["PNG"])) for data in pngs
    )


async def renders_good_page(open_browser: Callable[[], Coroutine[Any, Any, Browser]]) -> bool:
    """Whether a page known to be good comes out, and not blank."""
    policy = EvidencePolicy(viewport=(400, 300))
    job = Job(name="good.html", suffix=".html", data=GOOD_PAGE, policy=policy, limits=MediaLimits(), budget=1)
    folder = ServedFolder(root=None, name=job.name, page=job.data)
    try:
        shown = await render_html(await open_browser(), job, folder, NetworkPolicy(given=True), None)
    except (PageFailed, ConnectionLost):
        return False
    return not any(warning.code == "blank_capture" for warning in shown.warnings)
