"""What every test may rely on: a clean environment, and the handed cases where they are present."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from beholder.evidence.slots import processors

# Time is measured in benchmarks; on a busy machine a slow example is no wrong one. The examples are the same
# each time, so that a change fails for what it changed; `--hypothesis-profile=search` draws others.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", settings.get_profile("search"), derandomize=True)
settings.load_profile("steady")

SHARED = Path(os.environ.get("BEHOLDER_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than processors: tests wait for browsers, servers and clocks for a good part of their time."""
    return processors() + 1


# What changes where a request goes, or how wide and how coloured words are printed.
TELLTALES = {
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"),
    *("TTY_COMPATIBLE", "TTY_INTERACTIVE", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"),
}


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, default, proxy or terminal of the developer's machine reaches a test."""
    for name in list(os.environ):
        foreign = name.startswith("BEHOLDER_") or name.endswith(("_API_KEY", "_AUTH_TOKEN", "_BASE_URL"))
        if foreign or name in TELLTALES or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


PATIENCE_S = {
    "beholder.evidence.browser.START_S": 180.0,
    "beholder.evidence.browser.SETUP_S": 120.0,
    "beholder.evidence.webshot.SETUP_S": 120.0,
    "beholder.evidence.webshot.CAPTURE_S": 300.0,
    "beholder.evidence.webshot.WORKER_S": 120.0,
    "beholder.evidence.workers.JOB_S": 300.0,
    "beholder.rules.fence.START_S": 180.0,
}
"""Wall seconds for what is on its way to a good end. A test of what never ends sets its own."""


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is fast enough for a user is given more time here: a busy machine makes nothing wrong."""
    for name, seconds in PATIENCE_S.items():
        monkeypatch.setattr(name, seconds)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of handed cases; tests that need it are skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("the handed cases are not here (set BEHOLDER_SHARED)")
    return SHARED
