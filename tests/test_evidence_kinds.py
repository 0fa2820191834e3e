"""What all kinds have in common."""

from __future__ import annotations

import asyncio

import pytest

from beholder.errors import RendererFailed
from beholder.evidence.kinds import in_thread


def test_too_little_memory_is_our_fault() -> None:
    """Work that this machine has not the memory for fails as ours, with the artifact's name."""
    with pytest.raises(RendererFailed, match="memory") as caught:
        asyncio.run(in_thread("a.png", bytes, 1 << 62))
    assert caught.value.concerns == "a.png"
    assert asyncio.run(in_thread("a.png", bytes, 2)) == b"\0\0"
