"""What judging is opened with, be it for a run or for submissions one by one: keys, desks, engine, places."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from beholder.errors import BeholderError, JudgeRejected, StoreError
from beholder.evidence.engine import EvidenceEngine
from beholder.evidence.slots import default_workers
from beholder.judges import Endpoint, Judge, base_url_of, connect_judge, find_key
from beholder.records import Route
from beholder.run.budget import Budget
from beholder.run.dotenv import keys_from_dotenv
from beholder.run.plan import Plan
from beholder.run.seat import Seat
from beholder.run.task import Desk
from beholder.store import OutDir, read_json


def environment(plan: Plan, say: Callable[[str], object]) -> dict[str, str]:
    """The environment, with keys from a `.env` in the current folder where they are not set already."""
    if any(Path.cwd().is_relative_to(model.path) for model in plan.models):
        return dict(os.environ)  # a submission may have put it there
    found = keys_from_dotenv(Path.cwd() / ".env")
    used = {name: value for name, value in found.items() if name not in os.environ}
    if used:
        say(f"Keys from .env in the current folder: {', '.join(sorted(used))}")
    return {**used, **os.environ}


def open_desks(plan: Plan, environ: Mapping[str, str], say: Callable[[str], object]) -> dict[Route, Desk]:
    """Each route's judge, named on screen: equal ones are one, an address with a key has one limiter."""
    judges: list[tuple[Seat, Judge]] = []
    endpoints: dict[tuple[str, str], Endpoint] = {}
    desks: dict[Route, Desk] = {}
    for route, seat in plan.seats.items():
        spec = seat.judge
        key = find_key(spec, environ=environ)
        judge = next((known for other, known in judges if other.judge == spec), None)
        if judge is None:
            judge = connect_judge(spec, api_key=key.value if key else None)
            judges.append((seat, judge))
            source = f", key from {key.variable}" if key else ", no key" if not spec.scripted else ""
            on_route = "" if len({one.judge.model for one in plan.seats.values()}) == 1 else f" ({route})"
            say(f"Judge{on_route}: {spec.model}{source} · {plan.protocol.id} · {_size(plan)}")
        address = (spec.name if spec.scripted else base_url_of(spec), key.variable if key else "")
        endpoint = endpoints.setdefault(
            address,
            Endpoint(max_connections=plan.spec.max_connections, min_interval_s=seat.min_interval_s),
        )
        desks[route] = Desk(seat=seat, judge=judge, endpoint=endpoint)
    return desks


async def close_desks(desks: Mapping[Route, Desk]) -> None:
    """Close each judge's connections, once; all of them, also if the caller is cancelled meanwhile."""
    async with contextlib.AsyncExitStack() as closing:
        for judge in {id(desk.judge): desk.judge for desk in desks.values()}.values():
            closing.push_async_callback(judge.aclose)


def halt(desks: Mapping[Route, Desk], budget: Budget) -> None:
    """Let no call out any more; those under way are not touched."""
    halted = JudgeRejected("interrupted", slug="cancelled", stops_run=True)
    for desk in desks.values():
        desk.endpoint.stop(halted)
    budget.stop(halted)


def engine_for(plan: Plan) -> EvidenceEngine:
    """What draws the submissions of a plan."""
    return EvidenceEngine(
        plan.protocol.evidence,
        plan.protocol.routing,
        plan.spec.network,
        plan.limits,
        texts=[name for name in ("response", "artifacts") if name in plan.protocol.prompt.placeholders],
        cache_dir=plan.spec.cache_dir,
        record=plan.spec.record,
        replay=plan.spec.replay,
    )


def places_for(connections: int) -> int:
    """Submissions worked on at a time: every connection is busy while others wait for their evidence."""
    return connections + 2 * default_workers()


def refuse_joint(out_dir: Path) -> None:
    """Raises StoreError: an out-dir holds several models' folders, and is no place for one's."""
    if "models" in (read_json(out_dir / "judge_summary.json") or {}):
        raise StoreError(
            f"{out_dir}: holds the runs of several models; for one of them alone say --out-dir "
            f"{out_dir / 'NAME'}",
            slug="pinned",
        )


def _size(plan: Plan) -> str:
    """How much there is to do, in words."""
    counts = ((len(plan.tasks), "task"), (len(plan.models), "model"), (plan.protocol.repeats.n, "repeat"))
    words = [f"{n} {word}" if n == 1 else f"{n} {word}s" for n, word in counts if n]
    return " × ".join(word for word in words if word != "1 model")


def say_lost(outs: Sequence[OutDir], say: Callable[[str], object]) -> None:
    """Tell of calls that an earlier run took with it."""
    lost = sum(out.ledger.lost_before for out in outs)
    if lost:
        calls = "1 call was" if lost == 1 else f"{lost} calls were"
        say(f"{calls} under way when an earlier run died: possibly billed, and asked again now.")


def first_of(group: BaseExceptionGroup[BeholderError]) -> BeholderError:
    """The first error of a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if not isinstance(error, BeholderError):
        raise TypeError("a group of beholder's errors holds only such")
    return error
