"""From what a call ended with to our errors: the one table at the edge.

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
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from beholder.errors import JudgeError, JudgeRefused, JudgeRejected, JudgeUnavailable
from beholder.judges.exchange import Exchange

BODY_CHARS = 4000


@dataclass(frozen=True, slots=True)
class Fate:
    """Which error a cause becomes.

    Attributes:
        kind: The class of the error.
        slug: Its code.
        billed: Whether the work may have been done and charged.
        stops_run: Whether every further call is futile.
        meaning: What a person should read first.
    """

    kind: type[JudgeError]
    slug: str
    meaning: str
    billed: bool = False
    stops_run: bool = False


RATE = Fate(JudgeUnavailable, "rate_limited", "the judge asks for fewer calls")
OVERLOADED = Fate(JudgeUnavailable, "unavailable", "the judge is overloaded")
FAILED = Fate(JudgeUnavailable, "unavailable", "the judge's server failed")
NO_CONNECTION = Fate(JudgeUnavailable, "unavailable", "the judge could not be reached")
BROKEN_OFF = Fate(JudgeUnavailable, "unavailable", "the connection broke off", billed=True)
TIMEOUT = Fate(JudgeUnavailable, "timeout", "the judge did not answer in time", billed=True)
# A good status with a body that cannot be read is mostly a proxy in between, and passes: ask again.
MALFORMED = Fate(JudgeUnavailable, "unavailable", "the answer is no answer of a judge", billed=True)
UNFINISHED = Fate(JudgeUnavailable, "unavailable", "the judge stopped before it was done", billed=True)
REJECTED = Fate(JudgeRejected, "rejected", "the judge rejects this request")
TOO_LARGE = Fate(JudgeRejected, "rejected", "the request is too large for the judge")
BAD_KEY = Fate(JudgeRejected, "rejected", "the key is not accepted", stops_run=True)
NO_QUOTA = Fate(JudgeRejected, "rejected", "the account's quota or credit is used up", stops_run=True)
NO_MODEL = Fate(JudgeRejected, "rejected", "the model's name is not known there", stops_run=True)
NOT_ALLOWED = Fate(JudgeRejected, "rejected", "this account may not use the judge", stops_run=True)
MOVED = Fate(JudgeRejected, "rejected", "that address sends on to another one: give it", stops_run=True)
MISUSE = Fate(JudgeRejected, "rejected", "the library refuses these settings", stops_run=True)
REFUSED = Fate(JudgeRefused, "refused", "the judge declined to answer")

# 1. Codes in bodies: `code`, `type`, `status`, `reason`, `error_code`, wherever they stand in the error.
CODES: Mapping[str, Fate] = {
    # OpenAI and those who speak like it
    "insufficient_quota": NO_QUOTA,
    "billing_hard_limit_reached": NO_QUOTA,
    "billing_not_active": NO_QUOTA,
    "credit_balance_exhausted": NO_QUOTA,
    "organization_spend_limit_exceeded": NO_QUOTA,
    "project_spend_limit_exceeded": NO_QUOTA,
    "organization_usage_limit_exceeded": NO_QUOTA,
    "invalid_api_key": BAD_KEY,
    "model_not_found": NO_MODEL,
    "unsupported_country_region_territory": NOT_ALLOWED,
    "invalid_prompt": REFUSED,
    "content_filter": REFUSED,
    "content_policy_violation": REFUSED,
    "image_content_policy_violation": REFUSED,
    "moderation_blocked": REFUSED,
    "ResponsibleAIPolicyViolation": REFUSED,
    "context_length_exceeded": TOO_LARGE,
    "image_too_large": TOO_LARGE,
    "unsupported_image_media_type": REJECTED,
    "rate_limit_exceeded": RATE,
    "server_error": FAILED,
    # Anthropic
    "enforced_spend_limit_reached": NO_QUOTA,
    "billing_error": NO_QUOTA,
    "authentication_error": BAD_KEY,
    "permission_error": NOT_ALLOWED,
    "request_too_large": TOO_LARGE,
    "overloaded_error": OVERLOADED,
    # Google: reasons of ErrorInfo, then statuses
    "API_KEY_INVALID": BAD_KEY,
    "API_KEY_EXPIRED": BAD_KEY,
    "API_KEY_SERVICE_BLOCKED": NOT_ALLOWED,
    "SERVICE_DISABLED": NOT_ALLOWED,
    "BILLING_DISABLED": NO_QUOTA,
    "CONSUMER_SUSPENDED": NOT_ALLOWED,
    "UNAUTHENTICATED": BAD_KEY,
    # Without a reason it is about this request's file, not about the key, which is a 400 there.
    "PERMISSION_DENIED": REJECTED,
    # A country that is not served, or an account without billing.
    "FAILED_PRECONDITION": NOT_ALLOWED,
    "RESOURCE_EXHAUSTED": RATE,
    "UNAVAILABLE": FAILED,
    "DEADLINE_EXCEEDED": FAILED,
    "CANCELLED": FAILED,
}
# The order in which the codes of one body are believed: what stops a run, then refusals, then the rest.
_TELLING = (NO_QUOTA, BAD_KEY, NO_MODEL, NOT_ALLOWED, REFUSED, TOO_LARGE)

# 2. Exceptions, by their qualified names. `None`: no call of ours can raise it.
EXCEPTIONS: Mapping[str, Fate | None] = {
    # pydantic_ai.exceptions
    "pydantic_ai.exceptions.ModelRateLimitError": RATE,
    "pydantic_ai.exceptions.ModelQuotaExceededError": NO_QUOTA,
    "pydantic_ai.exceptions.ModelUnavailableError": FAILED,
    "pydantic_ai.exceptions.ModelOverloadedError": OVERLOADED,
    "pydantic_ai.exceptions.ModelServerError": FAILED,
    "pydantic_ai.exceptions.ModelConnectionError": BROKEN_OFF,
    "pydantic_ai.exceptions.ModelTimeoutError": TIMEOUT,
    "pydantic_ai.exceptions.ModelRequestTimeout": TIMEOUT,
    "pydantic_ai.exceptions.ModelContextWindowExceededError": TOO_LARGE,
    "pydantic_ai.exceptions.ModelRequestRejectedError": REJECTED,
    "pydantic_ai.exceptions.ModelAuthenticationError": BAD_KEY,
    "pydantic_ai.exceptions.ModelNotFoundError": NO_MODEL,
    "pydantic_ai.exceptions.ModelHTTPError": None,  # its status says more
    "pydantic_ai.exceptions.ModelAPIError": MALFORMED,
    "pydantic_ai.exceptions.UnexpectedModelBehavior": MALFORMED,
    "pydantic_ai.exceptions.ContentFilterError": REFUSED,
    "pydantic_ai.exceptions.OutputTokenLimitExceeded": UNFINISHED,
    "pydantic_ai.exceptions.IncompleteToolCall": UNFINISHED,
    "pydantic_ai.exceptions.SuspendedResponseExpired": UNFINISHED,
    "pydantic_ai.exceptions.UserError": MISUSE,
    "pydantic_ai.exceptions.AgentRunError": MALFORMED,
    "pydantic_ai.exceptions.FallbackExceptionGroup": None,  # the rest is about agents, tools and fallbacks
    "pydantic_ai.exceptions.ApprovalRequired": None,
    "pydantic_ai.exceptions.CallDeferred": None,
    "pydantic_ai.exceptions.ConcurrencyLimitExceeded": None,
    "pydantic_ai.exceptions.ModelRetry": None,
    "pydantic_ai.exceptions.RetryModelRequest": None,
    "pydantic_ai.exceptions.RunCancelled": None,
    "pydantic_ai.exceptions.RunTimedOut": None,
    "pydantic_ai.exceptions.SkipModelRequest": None,
    "pydantic_ai.exceptions.SkipToolExecution": None,
    "pydantic_ai.exceptions.SkipToolValidation": None,
    "pydantic_ai.exceptions.ToolFailed": None,
    "pydantic_ai.exceptions.ToolFailedError": None,
    "pydantic_ai.exceptions.ToolRetryError": None,
    "pydantic_ai.exceptions.UndrainedPendingMessagesError": None,
    "pydantic_ai.exceptions.UsageLimitExceeded": None,
    # anthropic
    "anthropic.AnthropicError": MISUSE,
    "anthropic.APIError": MALFORMED,
    "anthropic.APIResponseValidationError": MALFORMED,
    "anthropic.APIWebhookValidationError": None,
    "anthropic.APIStatusError": None,  # its status says more
    "anthropic.APIConnectionError": BROKEN_OFF,
    "anthropic.APITimeoutError": TIMEOUT,
    "anthropic.RetryableError": FAILED,
    "anthropic.CredentialsError": BAD_KEY,
    "anthropic.IdentityTokenFileError": BAD_KEY,
    "anthropic.BadRequestError": REJECTED,
    "anthropic.AuthenticationError": BAD_KEY,
    "anthropic.PaymentRequiredError": NO_QUOTA,
    "anthropic.PermissionDeniedError": NOT_ALLOWED,
    "anthropic.NotFoundError": NO_MODEL,
    "anthropic.RequestTimeoutError": FAILED,
    "anthropic.ConflictError": FAILED,
    "anthropic.PreconditionFailedError": REJECTED,
    "anthropic.ContentTooLargeError": TOO_LARGE,
    "anthropic.UnprocessableEntityError": REJECTED,
    "anthropic.RateLimitError": RATE,
    "anthropic.RequestHeaderFieldsTooLargeError": REJECTED,
    "anthropic.ClientClosedRequestError": FAILED,
    "anthropic.InternalServerError": FAILED,
    "anthropic.HTTPNotImplementedError": REJECTED,
    "anthropic.ServiceUnavailableError": FAILED,
    "anthropic.GatewayTimeoutError": FAILED,
    "anthropic.OverloadedError": OVERLOADED,
    # openai
    "openai.OpenAIError": MISUSE,
    "openai.APIError": MALFORMED,
    "openai.APIResponseValidationError": MALFORMED,
    "openai.APIStatusError": None,  # its status says more
    "openai.APIConnectionError": BROKEN_OFF,
    "openai.APITimeoutError": TIMEOUT,
    "openai.SubjectTokenProviderError": BAD_KEY,
    "openai.BadRequestError": REJECTED,
    "openai.AuthenticationError": BAD_KEY,
    "openai.OAuthError": BAD_KEY,
    "openai.PermissionDeniedError": NOT_ALLOWED,
    "openai.NotFoundError": NO_MODEL,
    "openai.ConflictError": FAILED,
    "openai.UnprocessableEntityError": REJECTED,
    "openai.RateLimitError": RATE,
    "openai.InternalServerError": FAILED,
    "openai.LengthFinishReasonError": UNFINISHED,
    "openai.ContentFilterFinishReasonError": REFUSED,
    "openai.InvalidWebhookSignatureError": None,
    "openai.WebSocketConnectionClosedError": None,
    "openai.WebSocketQueueFullError": None,
    # google.genai.errors
    "google.genai.errors.APIError": None,  # its status says more
    "google.genai.errors.ClientError": None,
    "google.genai.errors.ServerError": FAILED,
    "google.genai.errors.UnknownApiResponseError": MALFORMED,
    "google.genai.errors.UnknownFunctionCallArgumentError": None,
    "google.genai.errors.UnsupportedFunctionError": None,
    "google.genai.errors.FunctionInvocationError": None,
    "google.genai.errors.ContinuationInterruptedError": UNFINISHED,
    # httpx2, and httpx of the same names
    "httpx2.HTTPError": BROKEN_OFF,
    "httpx2.RequestError": BROKEN_OFF,
    "httpx2.TransportError": BROKEN_OFF,
    "httpx2.TimeoutException": TIMEOUT,
    "httpx2.ConnectTimeout": NO_CONNECTION,
    "httpx2.ReadTimeout": TIMEOUT,
    "httpx2.WriteTimeout": TIMEOUT,
    "httpx2.PoolTimeout": NO_CONNECTION,
    "httpx2.NetworkError": BROKEN_OFF,
    "httpx2.ReadError": BROKEN_OFF,
    "httpx2.WriteError": BROKEN_OFF,
    "httpx2.ConnectError": NO_CONNECTION,
    "httpx2.CloseError": BROKEN_OFF,
    "httpx2.ProxyError": NO_CONNECTION,
    "httpx2.UnsupportedProtocol": MISUSE,
    "httpx2.ProtocolError": BROKEN_OFF,
    "httpx2.LocalProtocolError": MISUSE,
    "httpx2.RemoteProtocolError": BROKEN_OFF,
    "httpx2.DecodingError": MALFORMED,
    "httpx2.TooManyRedirects": MISUSE,
    "httpx2.HTTPStatusError": None,  # its status says more
    "httpx2.InvalidURL": MISUSE,
    "httpx2.CookieConflict": None,
    "httpx2.StreamError": BROKEN_OFF,
    "httpx2.StreamConsumed": BROKEN_OFF,
    "httpx2.StreamClosed": BROKEN_OFF,
    "httpx2.ResponseNotRead": BROKEN_OFF,
    "httpx2.RequestNotRead": BROKEN_OFF,
    # Python's own, out of the libraries' reading of an odd answer
    "builtins.TimeoutError": TIMEOUT,
    "builtins.ConnectionError": BROKEN_OFF,
    "builtins.IndexError": MALFORMED,
    "builtins.KeyError": MALFORMED,
    "builtins.TypeError": MALFORMED,
    "builtins.AttributeError": MALFORMED,
    "builtins.AssertionError": MALFORMED,
    "builtins.ValueError": MALFORMED,
    "builtins.RuntimeError": MALFORMED,
    "builtins.NotImplementedError": MISUSE,
}
# What the libraries let through when an answer has a shape they did not expect.
MISREADINGS = (LookupError, TypeError, AttributeError, AssertionError, ValueError, RuntimeError)

# 3. Statuses, where neither code nor class has spoken.
STATUSES: Mapping[int, Fate] = {
    301: MOVED,
    302: MOVED,
    303: MOVED,
    307: MOVED,
    308: MOVED,
    401: BAD_KEY,
    402: NO_QUOTA,
    403: NOT_ALLOWED,
    404: NO_MODEL,
    408: FAILED,
    409: FAILED,
    413: TOO_LARGE,
    425: FAILED,
    429: RATE,
    499: FAILED,
    503: FAILED,
    529: OVERLOADED,
}

# Stop reasons that are a refusal though the library has another word for them.
REFUSED_STOPS = frozenset({"LANGUAGE"})

# Stop reasons of an answer that was never finished: asking again may help.
UNFINISHED_STOPS = frozenset(
    {"abort", "error", "cancelled", "queued", "in_progress", "failed", "pause_turn", "MALFORMED_RESPONSE"}
)


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
    return _TELLING.index(fate) if fate in _TELLING else len(_TELLING)


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
