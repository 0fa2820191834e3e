"""Our own scripts for pages, and where they run."""

from __future__ import annotations

import json
import secrets
from functools import cache
from importlib.resources import files
from typing import Any

from beholder.evidence.cdp import Session

SEED = 20_260_101

HOLD = "_" + secrets.token_hex(8)
"""The event by which a page is held; its name is a secret."""


@cache
def script(name: str) -> str:
    """The text of one of our scripts for pages."""
    return files("beholder.evidence").joinpath(name).read_text(encoding="utf-8")


def filled(name: str, **values: object) -> str:
    """One of our scripts with each `$NAME` in it replaced by JSON."""
    source = script(name)
    for key, value in (values | {"HOLD": HOLD}).items():
        source = source.replace(f"${key}", json.dumps(value))
    return source


async def in_own_world(session: Session, frame: str, source: str) -> Any:
    """What a script gives where the page's changes to the built-in objects do not reach, as JSON data."""
    world = await session.call("Page.createIsolatedWorld", frameId=frame, worldName="beholder")
    answer = await session.call(
        "Runtime.evaluate",
        expression=source,
        awaitPromise=True,
        returnByValue=True,
        contextId=world["executionContextId"],
    )
    return answer["result"].get("value")


async def draw_frame(session: Session, frame: str) -> None:
    """One frame by the wall clock, drawn while page time stands."""
    source = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    await in_own_world(session, frame, source)
