"""What every test may rely on: a clean environment, and the handed cases where they are present."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Time is measured in benchmarks; on a busy machine a slow example is no wrong one.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

SHARED = Path(os.environ.get("BEHOLDER_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, default or locale of the developer's machine reaches a test."""
    for name in list(os.environ):
        if name.startswith("BEHOLDER_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of handed cases; tests that need it are skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the handed cases are not here (set BEHOLDER_SHARED)")
    return SHARED
