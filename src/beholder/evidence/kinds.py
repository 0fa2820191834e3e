"""What every kind of artifact has in common: what is put in, and what comes out.

A kind is a module with one function of the shape of `image.render_image`: bytes in, `Shown` out, or a
`BrokenArtifact` that says what is wrong with the file. It opens no path that the artifact names, and needs
neither the browser nor the engine. What decodes hostile bytes runs in a fenced process (`workers`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from beholder.errors import RendererFailed
from beholder.evidence.layout import Plan
from beholder.records import EvidencePolicy, MediaLimits, Picture, Video, Warning_

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def in_thread(name: str, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """The result of work on an artifact, done in a thread.

    Args:
        name: The artifact's.

    Raises:
        RendererFailed: This machine has not the memory for it.
    """
    try:
        return await asyncio.to_thread(work, *args, **kwargs)
    except MemoryError:
        raise RendererFailed("there is not enough memory for it", concerns=name) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One artifact to be shown.

    Attributes:
        name: As a person would name the file.
        suffix: Lower case, with its dot.
        data: Its bytes, as pinned.
        budget: Pictures it may become, at least 1. A document shows at most `policy.pages` of its pages, too.
    """

    name: str
    suffix: str
    data: bytes
    policy: EvidencePolicy
    limits: MediaLimits
    budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An artifact as pictures, texts or a video.

    Attributes:
        texts: (name, text), whole: the engine cuts them to the budget.
        blocked_hosts: Outside hosts that were asked for although nobody had decided on the network.
    """

    pictures: tuple[Picture, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    videos: tuple[Video, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Warning_, ...] = ()
    blocked_hosts: tuple[str, ...] = ()


def cut_warnings(plan: Plan, name: str) -> list[Warning_]:
    """What a plan leaves out or shrinks, in words."""
    warnings = []
    if plan.overview is not None and plan.overview < 1.0 and not plan.tiles:
        detail = f"shown at {plan.overview:.3f} of its size"
        warnings.append(Warning_(code="downscaled", detail=detail, source=name))
    if plan.left_out:
        shown = f"{len(plan.tiles)} of {plan.tiles_in_all} parts"
        detail = f"{shown} are shown in full size; the rest is over the budget of pictures"
        warnings.append(Warning_(code="truncated", detail=detail, source=name))
    return warnings


def plan_facts(plan: Plan) -> dict[str, Any]:
    """A plan for the manifest."""
    return {
        "overview_scale": None if plan.overview is None else round(plan.overview, 6),
        "parts": [[box.x, box.y, box.width, box.height] for box in plan.tiles],
        "parts_in_all": plan.tiles_in_all,
        "parts_left_out": plan.left_out,
    }
