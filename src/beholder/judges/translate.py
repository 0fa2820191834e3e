"""From what a call ended with to our errors, by the tables of `fates`.

Three witnesses are asked, the most telling first:

1. the codes in the answer's body (`insufficient_quota`, `invalid_prompt`, `API_KEY_INVALID`, …): vendors
   reword their messages, and rarely their codes;
2. the class of the exception, by the library's or the vendor's own name for it, most specific first;
3. the HTTP status.

Nothing is searched for in a message, and nothing here imports a vendor's package.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from beholder.errors import JudgeError, JudgeRejected, JudgeUnavailable
from beholder.judges.exchange import Exchange
from beholder.judges.fates import (
    BROKEN_OFF,
    CODES,
    EXCEPTIONS,
    FAILED,
    MALFORMED,
    MOVED,
    NO_CONNECTION,
    REFUSED,
    REJECTED,
    STATUSES,
    TELLING,
    TIMEOUT,
    Fate,
)

BODY_CHARS = 4000


def translate(error: BaseException, exchange: Exchange, *, key: str | None = None) -> JudgeError:
    """Our error for whatever a call ended with. `key` is blacked out wherever it stands in the answer."""
    if exchange.violation:
        return exchange.violation
    return make_error(_fate(error, exchange), str(error) or type(error).__name__, exchange, key=key)


def make_error(fate: Fate, detail: str, exchange: Exchange, *, key: str | None = None) -> JudgeError:
    """The error of a fate, with what the exchange knows."""
    seen = message_of(exchange) or detail
    text = f"{fate.meaning}: {seen}" if seen else fate.meaning
    about: dict[str, Any] = {
        "slug": fate.slug,
        "status": exchange.status,
        "request_id": exchange.request_id,
        "body": _hide(exchange.text[:BODY_CHARS], key),
    }
    if fate.kind is JudgeUnavailable:
        about |= {"retry_after_s": retry_after_s(exchange), "possibly_billed": fate.billed}
    if fate.kind is JudgeRejected:
        about["stops_run"] = fate.stops_run
    return fate.kind(_hide(_one_line(text), key), **about)


def _fate(error: BaseException, exchange: Exchange) -> Fate:
    body = exchange.json
    told = sorted((CODES[code] for code in codes_of(body) if code in CODES), key=_how_telling)
    if told:
        return told[0]
    if _flagged(body):
        return REFUSED
    status = status_of(exchange)
    if STATUSES.get(status or 0) is MOVED:
        return MOVED
    by_class = fate_of_class(error)
    if by_class is not None and (by_class is not MALFORMED or status is None or status < 400):
        return _by_phase(error, by_class)
    if status is not None and status in STATUSES:
        return STATUSES[status]
    if status is not None and status >= 400:
        return FAILED if status >= 500 else REJECTED
    return MALFORMED


def fate_of_class(error: BaseException) -> Fate | None:
    """The fate of an exception by its class and that class's ancestors, nearest first."""
    for ancestor in type(error).__mro__:
        for name in qualified_names(ancestor):
            if name in EXCEPTIONS:
                return EXCEPTIONS[name]
    return None


def qualified_names(kind: type) -> tuple[str, ...]:
    """The names a class may have in the table: full, by its package, and httpx's as httpx2's."""
    module, name = kind.__module__, kind.__name__
    package = module.partition(".")[0]
    return (f"{module}.{name}", f"{package}.{name}", *((f"httpx2.{name}",) if package == "httpx" else ()))


def _by_phase(error: BaseException, fate: Fate) -> Fate:
    """A connection that failed before the request was written out has cost nothing."""
    phase = getattr(error, "phase", None)
    return NO_CONNECTION if fate in {BROKEN_OFF, TIMEOUT} and phase in {"pool", "connect"} else fate


def _how_telling(fate: Fate) -> int:
    return TELLING.index(fate) if fate in TELLING else len(TELLING)


# --- reading bodies -----------------------------------------------------------------------------


def _errors_in(body: Any) -> Iterator[Mapping[str, Any]]:
    """The error objects of a body: `{"error": {…}}`, a list of such, or the body itself (vLLM)."""
    for item in body if isinstance(body, list) else [body]:
        if isinstance(item, Mapping):
            error = item.get("error")
            if isinstance(error, Mapping):
                yield error
            elif item.get("object") == "error" or ("message" in item and "choices" not in item):
                yield item


def codes_of(body: Any) -> Iterator[str]:
    """Every code in a body's errors; a Google quota counted by the day is `insufficient_quota`."""
    for error in _errors_in(body):
        details = error.get("details")
        inner = [error.get("innererror"), *(details if isinstance(details, list) else [details])]
        for part in (error, *(part for part in inner if isinstance(part, Mapping))):
            for name in ("code", "type", "status", "reason", "error_code"):
                if isinstance(part.get(name), str):
                    yield part[name]
            for violation in part.get("violations") or ():
                if "PerDay" in str(violation.get("quotaId")):
                    yield "insufficient_quota"


def status_of(exchange: Exchange) -> int | None:
    """The answer's status; for a good one that holds an error (OpenRouter, some vLLM), the error's own."""
    if exchange.status is not None and exchange.status < 400:
        for error in _errors_in(exchange.json):
            code = error.get("code")
            if isinstance(code, int | str) and str(code).isdigit() and 400 <= int(code) < 600:
                return int(code)
    return exchange.status


def _flagged(body: Any) -> bool:
    """Whether the error holds a moderation verdict (OpenRouter's 403)."""
    metadata = [error.get("metadata") for error in _errors_in(body)]
    return any(isinstance(about, Mapping) and "flagged_input" in about for about in metadata)


def message_of(exchange: Exchange) -> str:
    """The vendor's own words about an error, or an empty string."""
    if exchange.status is None:
        return ""
    for error in _errors_in(exchange.json):
        if error.get("message"):
            return f"{exchange.status} {error['message']}"
    if exchange.status >= 400:
        return f"{exchange.status} {exchange.text[:200]}".rstrip()
    return ""


def retry_after_s(exchange: Exchange, now: datetime | None = None) -> float | None:
    """Seconds the vendor asks to wait: `retry-after-ms`, `retry-after` in any form, or Google's RetryInfo."""
    milliseconds = _number(exchange.headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = exchange.headers.get("retry-after")
    seconds = _number(asked)
    if seconds is not None:
        return seconds
    if asked:
        try:
            when = parsedate_to_datetime(asked)
        except ValueError:
            return None
        aware = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0.0, (aware - (now or datetime.now(UTC))).total_seconds())
    for error in _errors_in(exchange.json):
        details = error.get("details")
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, Mapping) and str(detail.get("retryDelay", "")).endswith("s"):
                return _number(detail["retryDelay"][:-1])
    return None


def _number(text: str | None) -> float | None:
    """A finite number of at least 0, or None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _hide(text: str, key: str | None) -> str:
    return text.replace(key, "***") if key else text


def _one_line(text: str) -> str:
    return " ".join(text.split())[:600]
