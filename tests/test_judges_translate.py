"""The table from exceptions, codes and statuses to our errors."""

from __future__ import annotations

import importlib
import inspect
import json
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, get_args

import pytest

from beholder.errors import JudgeError, JudgeRefused, JudgeRejected, JudgeUnavailable
from beholder.judges.exchange import Exchange
from beholder.judges.fates import CODES, EXCEPTIONS
from beholder.judges.translate import (
    codes_of,
    fate_of_class,
    qualified_names,
    retry_after_s,
    translate,
)

MODULES = ("anthropic", "openai", "google.genai.errors", "pydantic_ai.exceptions", "httpx", "httpx2")


def exceptions_of(module: ModuleType) -> list[type[BaseException]]:
    """The exception classes that a module defines or makes public; warnings are none."""
    package = module.__name__.partition(".")[0]
    found = [
        value
        for value in (getattr(module, name, None) for name in dir(module))
        if inspect.isclass(value)
        and issubclass(value, BaseException)
        and not issubclass(value, Warning)
        and value.__module__.partition(".")[0] == package
        and not value.__name__.startswith("_")
    ]
    return sorted(set(found), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("name", MODULES)
def test_every_exception_has_a_counterpart(name: str) -> None:
    """Each exception class of the library, the vendors and the HTTP clients stands in the table."""
    module = importlib.import_module(name)
    private = {"anthropic": "anthropic._exceptions", "openai": "openai._exceptions"}.get(name)
    kinds = exceptions_of(module) + (exceptions_of(importlib.import_module(private)) if private else [])
    assert len(kinds) >= 8
    missing = [kind for kind in kinds if not set(qualified_names(kind)) & set(EXCEPTIONS)]
    assert missing == []


# Where a class lies that its package does not make public.
ELSEWHERE = {
    "anthropic.WorkloadIdentityError": "anthropic.lib.credentials._workload",
}


def test_table_names_only_what_exists() -> None:
    """Every name of the table is a class that can be found, so a renamed one is noticed."""
    for name in EXCEPTIONS:
        module, _, kind = name.rpartition(".")
        places = [module, f"{module}._exceptions"] if module in {"anthropic", "openai"} else [module]
        places.append(ELSEWHERE.get(name, module))
        assert any(hasattr(importlib.import_module(place), kind) for place in places), name


def test_every_cause_of_anthropic_has_a_fate() -> None:
    """Each machine-readable cause that Anthropic's package knows stands in the table of codes."""
    shared = importlib.import_module("anthropic.types.shared")
    details = [getattr(shared, name) for name in dir(shared) if name.endswith("ErrorDetails")]
    details = [kind for kind in details if "error_code" in getattr(kind, "model_fields", {})]
    codes = {get_args(kind.model_fields["error_code"].annotation)[0] for kind in details}
    assert len(codes) >= 15
    assert codes - set(CODES) == set()


def test_most_specific_class_wins() -> None:
    """A subclass with its own row does not take its parent's; one without takes its nearest ancestor's."""
    from pydantic_ai.exceptions import ModelOverloadedError, ModelTimeoutError

    class OddError(ModelTimeoutError):
        pass

    assert (
        fate_of_class(ModelOverloadedError("m", "x"))
        is EXCEPTIONS["pydantic_ai.exceptions.ModelOverloadedError"]
    )
    assert fate_of_class(OddError("m", "x")) is EXCEPTIONS["pydantic_ai.exceptions.ModelTimeoutError"]


def exchange(status: int | None, body: Any = None, **headers: str) -> Exchange:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Exchange("", (), sent={"model": "x"}, status=status, headers=names, body=raw)


def read(status: int | None, body: Any = None, **headers: str) -> JudgeError:
    return translate(RuntimeError("odd"), exchange(status, body, **headers))


@pytest.mark.parametrize(
    ("status", "body", "kind", "stops"),
    [
        (429, {"error": {"code": "insufficient_quota", "type": "insufficient_quota"}}, JudgeRejected, True),
        (429, {"error": {"type": "requests", "code": "rate_limit_exceeded"}}, JudgeUnavailable, None),
        (429, {"error": {"details": {"error_code": "enforced_spend_limit_reached"}}}, JudgeRejected, True),
        (400, {"error": {"code": "invalid_prompt"}}, JudgeRefused, None),
        (403, {"error": {"code": 403, "metadata": {"flagged_input": "x"}}}, JudgeRefused, None),
        (200, {"error": {"code": 502, "message": "upstream"}}, JudgeUnavailable, None),
        (200, {"error": {"code": 402}}, JudgeRejected, True),
        (200, {"object": "error", "code": 404, "message": "no such model"}, JudgeRejected, True),
        (418, {"error": {"message": "teapot"}}, JudgeRejected, False),
        (599, b"<html>", JudgeUnavailable, None),
    ],
)  # fmt: skip
def test_codes_and_statuses(status: int, body: Any, kind: type[JudgeError], stops: bool | None) -> None:
    """A body's code outweighs the status, an error inside a good answer counts by its own status."""
    error = read(status, body)
    assert type(error) is kind
    assert stops is None or error.stops_run == stops  # type: ignore[attr-defined]


def test_messages_are_not_searched() -> None:
    """Words in a message decide nothing: only codes, classes and statuses do."""
    body = {"error": {"message": "insufficient_quota invalid_api_key credit balance too low"}}
    error = read(429, body)
    assert isinstance(error, JudgeUnavailable)
    assert error.slug == "rate_limited"
    assert "insufficient_quota" in str(error)  # people still read it


def test_day_quota_is_told_from_minute_quota() -> None:
    """Of Google's equal 429 answers only a quota counted by the day stops the run."""

    def body(quota: str) -> Any:
        details = [{"violations": [{"quotaId": quota}]}, {"retryDelay": "47s"}]
        return {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}}

    day, minute = read(429, body("RequestsPerDayPerModel")), read(429, body("RequestsPerMinutePerModel"))
    assert isinstance(day, JudgeRejected)
    assert day.stops_run
    assert isinstance(minute, JudgeUnavailable)
    assert minute.retry_after_s == 47


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "16"}, 16),
        ({"retry_after": "0.133"}, 0.133),
        ({"retry_after": "Sun, 29 Nov 2026 12:00:30 GMT"}, 30),
        ({"retry_after": "Sun, 29 Nov 2026 11:59:00 GMT"}, 0),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-5"}, None),
        ({"retry_after": "inf"}, None),
        ({"retry_after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, fractions, milliseconds and dates are read; nonsense is no wait."""
    now = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
    assert retry_after_s(exchange(429, None, **headers), now) == seconds


def test_codes_are_found_wherever_they_stand() -> None:
    """Codes are read from error objects, lists of them, details, inner errors and flat bodies."""
    assert set(codes_of([{"error": {"status": "A", "details": [{"reason": "B"}]}}])) == {"A", "B"}
    assert set(codes_of({"error": {"code": "C", "innererror": {"code": "D"}}})) == {"C", "D"}
    assert set(codes_of({"object": "error", "type": "E", "message": "m"})) == {"E"}
    for body in ({"choices": [], "message": "m", "code": "x"}, {"error": "text"}, None, [], "text", [1]):
        assert list(codes_of(body)) == []


def test_connection_that_never_stood_was_not_billed() -> None:
    """A failure to connect cannot have been billed, one while reading may have been."""
    from pydantic_ai.exceptions import ModelConnectionError

    early = translate(ModelConnectionError("m", "x", phase="connect"), exchange(None))
    late = translate(ModelConnectionError("m", "x", phase="read"), exchange(None))
    assert isinstance(early, JudgeUnavailable)
    assert isinstance(late, JudgeUnavailable)
    assert (early.possibly_billed, late.possibly_billed) == (False, True)


def test_bodies_are_kept_short() -> None:
    """A huge error page is kept in part, and its message is one line."""
    error = read(500, b"line\n" * 100_000)
    assert len(error.body) <= 4000
    assert "\n" not in str(error)
    assert len(str(error)) < 800


def test_codes_have_fates_of_our_family() -> None:
    """Every row of the table of codes gives one of the three errors with a slug of the contract."""
    slugs = {"rate_limited", "timeout", "unavailable", "rejected", "refused"}
    for fate in [*CODES.values(), *(fate for fate in EXCEPTIONS.values() if fate)]:
        assert fate.kind in {JudgeUnavailable, JudgeRejected, JudgeRefused}
        assert fate.slug in slugs
