"""Signals during a run: once, twice, ignored ones, and a program's own handlers afterwards."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator

import pytest

from beholder.run.stop import Stop, signals

NAMES = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _own_handlers() -> Iterator[None]:
    """The handlers of this process are what they were, whatever a test does."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("only the main thread takes signals")
    before = {name: signal.getsignal(name) for name in NAMES}
    yield
    for name, handler in before.items():
        signal.signal(name, handler)


def received(*names: signal.Signals) -> list[str]:
    """What is done when these signals come, one after the other."""
    done: list[str] = []

    async def scene() -> None:
        stop = Stop()
        with signals(stop, lambda: done.append("halt"), lambda: done.append("abandon"), lambda _: None):
            for name in names:
                signal.raise_signal(name)
                before = len(done)
                async with asyncio.timeout(60):
                    while len(done) == before:  # noqa: ASYNC110 - the loop's own callback does it
                        await asyncio.sleep(0)
        assert stop.reason == "interrupted"

    asyncio.run(scene())
    return done


@pytest.mark.parametrize("name", NAMES)
def test_the_first_halts_and_the_second_abandons(name: signal.Signals) -> None:
    """Whichever they are: Ctrl-C, an end that a scheduler asks for, or a terminal that went away."""
    signal.signal(name, signal.default_int_handler)
    assert received(name, name) == ["halt", "abandon"]


def test_a_programs_own_handlers_are_back_afterwards() -> None:
    """A training program saves its state on SIGTERM: a run takes that away for its own time only."""

    def own(*_: object) -> None:
        pass

    for name in NAMES:
        signal.signal(name, own)
    assert received(signal.SIGTERM) == ["halt"]
    assert [signal.getsignal(name) for name in NAMES] == [own] * 3


def test_a_terminal_that_goes_away_under_nohup_is_ignored() -> None:
    """A run that was started to outlive its terminal does."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    done: list[str] = []

    async def scene() -> None:
        with signals(Stop(), lambda: done.append("halt"), lambda: None, lambda _: None):
            signal.raise_signal(signal.SIGHUP)
            await asyncio.sleep(0.01)

    asyncio.run(scene())
    assert done == []
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_a_run_in_the_background_of_a_script_can_be_stopped(name: signal.Signals) -> None:
    """Shells let such a one ignore Ctrl-C; a signal that is sent to it all the same is meant for it."""
    signal.signal(name, signal.SIG_IGN)
    assert received(name) == ["halt"]
    assert signal.getsignal(name) is signal.SIG_IGN


def test_a_run_stops_though_nobody_hears_of_it() -> None:
    """What is said of the signal comes last: a terminal that went away cannot be written to."""
    signal.signal(signal.SIGHUP, signal.default_int_handler)
    done: list[str] = []

    def say(_: str) -> None:
        done.append("said")
        raise OSError("the terminal is gone")

    async def scene() -> Stop:
        asyncio.get_running_loop().set_exception_handler(lambda *_: done.append("failed"))
        stop = Stop()
        with signals(stop, lambda: done.append("halt"), lambda: None, say):
            signal.raise_signal(signal.SIGHUP)
            async with asyncio.timeout(60):
                while "failed" not in done:  # noqa: ASYNC110 - the loop's own callback does it
                    await asyncio.sleep(0)
        return stop

    assert asyncio.run(scene()).is_set
    assert done == ["halt", "said", "failed"]
