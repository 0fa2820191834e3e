"""What each cause of a failed call becomes: three tables, from codes, exceptions and statuses to fates.

Names only: nothing here imports a vendor's package. A test walks the packages and finds what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from beholder.errors import JudgeError, JudgeRefused, JudgeRejected, JudgeUnavailable


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
NO_MODEL = Fate(
    JudgeRejected, "rejected", "the model's name, or the address, is not known there", stops_run=True
)
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
    # Anthropic: causes, then types
    "enforced_spend_limit_reached": NO_QUOTA,
    "contract_spend_limit_reached": NO_QUOTA,
    "linked_organization_spend_limit_reached": NO_QUOTA,
    "linked_organization_billing_unavailable": NO_QUOTA,
    "organization_on_hold": NOT_ALLOWED,
    "organization_type_not_supported": NOT_ALLOWED,
    "parent_organization_required": NOT_ALLOWED,
    "claude_code_key_creator_not_member": BAD_KEY,
    "claude_code_version_too_old": BAD_KEY,
    "sandbox_egress_restricted": NOT_ALLOWED,
    "cmek_key_disabled": NOT_ALLOWED,
    "cmek_key_network_blocked": NOT_ALLOWED,
    "cmek_key_unreachable": FAILED,
    "cmek_context_unavailable": FAILED,
    "ramp_limit_exceeded": RATE,
    "workspace_human_review_disabled": REJECTED,
    "request_body_encoding_invalid": REJECTED,
    "request_body_encoding_unsupported": REJECTED,
    "request_body_too_large_after_decoding": TOO_LARGE,
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
TELLING = (NO_QUOTA, BAD_KEY, NO_MODEL, NOT_ALLOWED, REFUSED, TOO_LARGE)

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
    "anthropic.DeadlineExceededError": FAILED,
    "anthropic.RequestTooLargeError": TOO_LARGE,
    "anthropic.WorkloadIdentityError": BAD_KEY,
    "anthropic.CMEKContextUnavailableError": FAILED,
    "anthropic.CMEKKeyDisabledError": NOT_ALLOWED,
    "anthropic.CMEKKeyNetworkBlockedError": NOT_ALLOWED,
    "anthropic.CMEKKeyUnreachableError": FAILED,
    "anthropic.ClaudeCodeKeyCreatorNotMemberError": BAD_KEY,
    "anthropic.ClaudeCodeVersionTooOldError": BAD_KEY,
    "anthropic.ContractSpendLimitReachedError": NO_QUOTA,
    "anthropic.EnforcedSpendLimitReachedError": NO_QUOTA,
    "anthropic.LinkedOrganizationBillingUnavailableError": NO_QUOTA,
    "anthropic.LinkedOrganizationSpendLimitReachedError": NO_QUOTA,
    "anthropic.OrganizationOnHoldError": NOT_ALLOWED,
    "anthropic.OrganizationTypeNotSupportedError": NOT_ALLOWED,
    "anthropic.ParentOrganizationRequiredError": NOT_ALLOWED,
    "anthropic.RampLimitExceededError": RATE,
    "anthropic.RequestBodyEncodingInvalidError": REJECTED,
    "anthropic.RequestBodyEncodingUnsupportedError": REJECTED,
    "anthropic.RequestBodyTooLargeAfterDecodingError": TOO_LARGE,
    "anthropic.SandboxEgressRestrictedError": NOT_ALLOWED,
    "anthropic.WorkspaceHumanReviewDisabledError": REJECTED,
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
    "httpx2.SSEError": None,  # nothing is streamed
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
