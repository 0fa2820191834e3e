"""From a judge's settings to a judge that can be asked."""

from __future__ import annotations

from pathlib import Path

from beholder.judges.base import Judge
from beholder.judges.limits import media_limits
from beholder.judges.scripted import ScriptedJudge
from beholder.records import JudgeSpec, MediaLimits


def connect_judge(spec: JudgeSpec, *, api_key: str | None, limits: MediaLimits | None = None) -> Judge:
    """The judge; only the one vendor's library it needs is imported.

    Args:
        spec: The model with its settings.
        api_key: Its key, as `find_key` found it; None for servers that ask for none.
        limits: What it takes, where the user knows better than the table.

    Raises:
        ConfigError: A setting cannot be sent, or a scripted judge's file is wrong.
        MissingTool: The vendor's package is not installed.
    """
    known = limits or media_limits(spec)
    if spec.scripted:
        return ScriptedJudge.load(Path(spec.name), spec=spec, limits=known)
    from beholder.judges.wire import connect_wire

    return connect_wire(spec, api_key=api_key, limits=known)
