"""A page in the browser -> its pictures: loaded, left to settle, captured whole."""

from __future__ import annotations

import asyncio
import io
import struct
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

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
from beholder.evidence.cdp import ProtocolFailure, Session
from beholder.evidence.cuts import between_lines
from beholder.evidence.egress import Egress
from beholder.evidence.gate import Gate
from beholder.evidence.kinds import Job, Shown, cut_warnings, in_thread, plan_facts
from beholder.evidence.layout import Plan
from beholder.evidence.layout import plan as make_plan
from beholder.evidence.page import Page, PageFailed
from beholder.evidence.page_facts import page_facts, page_warnings
from beholder.evidence.page_settle import go_on, settle, stand_still
from beholder.evidence.pictures import crop, encode, is_flat, make_picture, shrink
from beholder.evidence.record import Record
from beholder.evidence.serve import ServedFolder
from beholder.records import NetworkPolicy, Picture, Warning_

CAPTURE_S = 60.0
"""Wall seconds for all pictures of one page: it takes a tenth of one, and tens where eight tall pages share
the two cores of a busy machine. A page that hangs is known by then, and has `GRACE_S`."""

GRACE_S = 5.0
"""The same for a page that was cut short: it may be busy, or hang."""

WORKER_S = 3.0
"""Wall seconds for an answer of the page's workers after the capture. One that has nothing to do answers in
some thousandths, one in the midst of a piece of work after it, and one that is always busy never does."""

_UNFIT = (LookupError, OSError, SyntaxError, ValueError, struct.error, zlib.error)
"""What an answer without its fields, or a picture of the browser's that is none, fails with."""

_WHOLE_LOOK_PX = 1_500_000
"""A picture up to this size is compared whole; a larger one by a small copy, which costs less."""

_FLAT_BYTES = 60_000
"""A flat picture, however large, compresses to less; only then is it decoded to make sure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What of a page is captured, where it is not the whole of it.

    Attributes:
        width, height: In CSS px, from the page's corner.
        facts: For the manifest.
        transforms: What was done to come to this size, for people.
    """

    width: int
    height: int
    facts: dict[str, Any]
    transforms: tuple[str, ...] = ()


Measure = Callable[[Page], Awaitable[Extent]]
"""The extent of a page that has settled; it may change the page, and raise `BrokenArtifact`."""


async def draw(
    browser: Browser,
    job: Job,
    folder: ServedFolder,
    network: NetworkPolicy,
    egress: Egress | None,
    *,
    record: Record | None = None,
    measure: Measure | None = None,
    warnings: tuple[Warning_, ...] = (),
) -> Shown:
    """A page's pictures, one attempt.

    Ends in bounded time, whatever the page or the browser does.

    Args:
        record: Where answers from outside are kept, or are all there is of the outside.
        measure: Says what is captured; left out: the whole page.
        warnings: What is known of the file beforehand.

    Raises:
        BrokenArtifact: By `measure`.
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
            gate = Gate(network, egress, record)
            page = Page(session, frame, folder, job.policy, gate)
            async with asyncio.timeout(SETUP_S):
                await page.prepare()
            await settle(page, scroll=measure is None)
            pending = len(gate.pending)
            async with asyncio.timeout(GRACE_S if page.cut_short else CAPTURE_S):
                extent = None if measure is None else await page.alive(measure(page))
                shown = await page.alive(_capture(session, page, job, pending, extent))
            return replace(shown, warnings=(*warnings, *shown.warnings))
    except TimeoutError:
        raise PageFailed("the page does not answer and cannot be captured", concerns=job.name) from None
    except ProtocolFailure as error:
        raise PageFailed(f"the page cannot be captured: {error}", concerns=job.name) from error
    except _UNFIT as error:
        raise PageFailed(f"the browser's answer cannot be used: {error!r}", concerns=job.name) from error


async def _capture(session: Session, page: Page, job: Job, pending: int, extent: Extent | None) -> Shown:
    size = None if extent is None else (extent.width, extent.height)
    box = await stand_still(page, size)
    plan = make_plan(box.width, box.height, job.policy.layout, job.limits, job.budget)
    full_size = page.full_size
    look = _look(box, plan)
    before = await look.take(session)
    pictures, shots, plan = await _pictures(session, box, plan, job, before if look.is_picture else None)
    if extent is not None and extent.transforms:
        pictures = [replace(one, transforms=(*extent.transforms, *one.transforms)) for one in pictures]
    warnings = list(page_warnings(page))
    unsettled = page.cut_short or (f"{pending} requests pending" if pending else "")
    if not unsettled and await _still_changes(session, page, look, box, before, shots, size):
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
    decided = page.gate.network.given or page.gate.replaying
    undecided = not decided or job.policy.degraded == "unscored"
    facts = page_facts(page) | {"captured": [box.width, box.height]} | plan_facts(plan)
    return Shown(
        pictures=tuple(pictures),
        facts=facts if extent is None else facts | extent.facts,
        warnings=tuple(warnings),
        blocked_hosts=tuple(sorted(page.gate.outside)) if undecided and page.gate.failed else (),
    )


async def _still_changes(
    session: Session,
    page: Page,
    look: _Look,
    box: Box,
    before: bytes,
    shots: list[Shot],
    extent: tuple[int, int] | None,
) -> bool:
    """Whether the page looks different after some more page time.

    Args:
        before: The look at first.
        shots: What was captured in natural size.
    """
    size = page.full_size
    await go_on(page)
    if not await page.workers.idle(WORKER_S):
        return True
    if await stand_still(page, extent) != box or page.full_size != size:
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
) -> tuple[list[Picture], list[Shot], Plan]:
    """(the pictures to send, what was captured in natural size for them, the plan with its final cuts).

    All are made from captures in natural size, which come out the same each time; the browser's own scaling
    does so only nearly.

    Args:
        whole: The page's picture, where it is the only one and is there already.
    """
    if whole is not None:
        return [make_picture(whole, "image/png", png_size(whole), job.name)], [], plan
    needed = box if plan.overview is not None else surrounding(plan.tiles)
    shots = await capture_slices(session, needed)
    pictures, plan = await in_thread(job.name, _lay_out, shots, plan, job)
    return pictures, shots, plan


def _lay_out(shots: list[Shot], plan: Plan, job: Job) -> tuple[list[Picture], Plan]:
    """The overview and the parts of a page out of its slices, cut between lines. CPU-bound."""
    name = job.name
    if plan.overview is not None and plan.overview >= 1.0 and len(shots) == 1:
        box = shots[0].box
        return [make_picture(shots[0].png, "image/png", (box.width, box.height), name)], plan
    page = join_slices([shot.png for shot in shots])
    top, left = shots[0].box.y, shots[0].box.x
    plan = between_lines(plan, page, job.limits, top=top)
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
        data = encode(crop(page, Box(tile.x - left, tile.y - top, tile.width, tile.height)), "image/png")
        size, parts = (tile.width, tile.height), plan.tiles_in_all
        words = (f"cut out at {tile.x},{tile.y}, {tile.width}x{tile.height}",)
        pictures.append(
            make_picture(data, "image/png", size, name, part=number, parts=parts, transforms=words)
        )
    return pictures, plan


def _all_flat(pngs: list[bytes]) -> bool:
    """Whether each is flat; what is large as a file is not, and is not decoded to find out."""
    from PIL import Image

    return all(
        len(data) < _FLAT_BYTES and is_flat(Image.open(io.BytesIO(data), formats=["PNG"])) for data in pngs
    )
