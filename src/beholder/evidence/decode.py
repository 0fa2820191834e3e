"""What a worker runs for evidence: a decoder on a job, whose own bytes do not travel back.

The parent has the artifact; of a picture or video that is shown unchanged, a worker sends everything but the
bytes (`decode`), and the parent puts them back (`with_data`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from beholder.evidence.kinds import Job, Shown
from beholder.fenced.inside import Call
from beholder.records import Picture, Video

_Media = TypeVar("_Media", Picture, Video)


def decoder_call(module: str, function: str, job: Job, more: Mapping[str, Any] | None = None) -> Call:
    """The call for a worker that has loaded this module and `module`."""
    work = {"module": module, "function": function, "job": job, "more": more or {}}
    return Call(module=__name__, function=decode.__name__, arguments=work)


def decode(module: str, function: str, job: Job, more: dict[str, Any]) -> object:
    """What `function` of `module` makes of a job, without bytes that are the job's own."""
    shown = getattr(sys.modules[module], function)(job, **more)
    if not isinstance(shown, Shown):
        return shown
    return replace(
        shown,
        pictures=tuple(_bare(one, job) for one in shown.pictures),
        videos=tuple(_bare(one, job) for one in shown.videos),
    )


def _bare(one: _Media, job: Job) -> _Media:
    return replace(one, data=b"") if one.data == job.data else one


def with_data(shown: Shown, job: Job) -> Shown:
    """The result with the artifact's own bytes where they were left out."""
    return replace(
        shown,
        pictures=tuple(one if one.data else replace(one, data=job.data) for one in shown.pictures),
        videos=tuple(one if one.data else replace(one, data=job.data) for one in shown.videos),
    )
