"""Every exception of beholder. The class says who must act.

    BeholderError            has a slug and the name of what it concerns
      SpecError              the user's files or flags: fix and run again (exit code 2)
        ProtocolError          a protocol file
        TaskError              a task file or a run directory
        ConfigError            flags, environment, keys
      MissingTool            a program or extra is absent: the message is the line that installs it
      RenderError            evidence could not be made
        BrokenArtifact         the submission's own fault: `absent`
        RendererFailed         ours, for a known good page fails too: `unscored`
      JudgeError             the call to the judge
        JudgeUnavailable       asking again may help: `rate_limited`, `timeout`, `unavailable`
        JudgeRejected          asking again cannot help this call; with `stops_run`, not the next one either
        JudgeRefused           the judge declined to answer: `refused`
      ReplyError             the reply came back and cannot be used; carries it verbatim
      StoreError             the out-dir is locked, damaged, newer than this version or pinned to other inputs

Misuse of the Python API is a `ValueError` or `TypeError`, outside this family.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from decimal import Decimal

    from beholder.records import Usage


class BeholderError(Exception):
    """Base of the family.

    Attributes:
        slug: A short code, stable between versions, such as `unknown_protocol`.
        concerns: What it is about: a file, a task id, a criterion; empty where nothing narrower is known.
    """

    default_slug: ClassVar[str] = "error"

    def __init__(self, message: str, *, slug: str | None = None, concerns: str = "") -> None:
        super().__init__(message)
        self.slug = slug or self.default_slug
        self.concerns = concerns


class SpecError(BeholderError):
    """The user's files or flags are wrong."""

    default_slug = "spec"


class ProtocolError(SpecError):
    """A protocol file is wrong."""

    default_slug = "protocol"


class TaskError(SpecError):
    """A task file or a run directory is wrong."""

    default_slug = "tasks"


class ConfigError(SpecError):
    """A flag, an environment variable or a key is wrong or missing."""

    default_slug = "config"


class MissingTool(BeholderError):
    """A program or an optional package is absent; the message tells the line that installs it."""

    default_slug = "missing_tool"


class RenderError(BeholderError):
    """Evidence could not be made of an artifact."""

    default_slug = "render_failed"


class BrokenArtifact(RenderError):
    """The submission's own fault.

    `slug` is one of `empty, corrupt, encrypted, wrong_type, too_large, unsafe_path, unrenderable, missing`.
    """

    default_slug = "corrupt"


class RendererFailed(RenderError):
    """The renderer failed and fails on a known good page as well: not the submission's fault."""

    default_slug = "render_failed"


class JudgeError(BeholderError):
    """A call to the judge ended without a usable answer.

    Attributes:
        status: The HTTP status, where there was one.
        request_id: The vendor's id of the request, where it was sent.
        body: The answer's body as text, shortened to some thousand characters.
        usage, cost_usd: Set after the fact where an answer came, was no reply, and told its tokens.
        retryable: Whether asking again may help; a property of the class.
    """

    usage: Usage | None = None
    cost_usd: Decimal | None = None
    default_slug = "judge"
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        slug: str | None = None,
        concerns: str = "",
        status: int | None = None,
        request_id: str | None = None,
        body: str = "",
    ) -> None:
        super().__init__(message, slug=slug, concerns=concerns)
        self.status = status
        self.request_id = request_id
        self.body = body


class JudgeUnavailable(JudgeError):
    """Asking again may help.

    `slug` is `rate_limited`, `timeout` or `unavailable`.

    Attributes:
        retry_after_s: Seconds the vendor asked to wait, or None.
        possibly_billed: The request may have been worked on (a timeout, a body cut short).
    """

    default_slug = "unavailable"
    retryable = True

    def __init__(
        self,
        message: str,
        *,
        slug: str | None = None,
        concerns: str = "",
        status: int | None = None,
        request_id: str | None = None,
        body: str = "",
        retry_after_s: float | None = None,
        possibly_billed: bool = False,
    ) -> None:
        super().__init__(
            message, slug=slug, concerns=concerns, status=status, request_id=request_id, body=body
        )
        self.retry_after_s = retry_after_s
        self.possibly_billed = possibly_billed


class JudgeRejected(JudgeError):
    """Asking the same again cannot help.

    Attributes:
        stops_run: The cause is the key, the quota or the model's name, so every further call is futile.
    """

    default_slug = "rejected"

    def __init__(
        self,
        message: str,
        *,
        slug: str | None = None,
        concerns: str = "",
        status: int | None = None,
        request_id: str | None = None,
        body: str = "",
        stops_run: bool = False,
    ) -> None:
        super().__init__(
            message, slug=slug, concerns=concerns, status=status, request_id=request_id, body=body
        )
        self.stops_run = stops_run


class JudgeRefused(JudgeError):
    """The vendor blocked the prompt or the answer, and no text came back."""

    default_slug = "refused"


class ReplyError(BeholderError):
    """A reply came back and cannot be used.

    `slug` is the reason: `invalid_json, missing_key, out_of_range, ambiguous, refused, truncated, empty`.

    Attributes:
        reply: The reply, verbatim.
        flags, repairs: What was noticed before the reply was given up.
    """

    default_slug = "invalid_json"

    def __init__(
        self,
        message: str,
        *,
        slug: str,
        reply: str,
        concerns: str = "",
        flags: tuple[str, ...] = (),
        repairs: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, slug=slug, concerns=concerns)
        self.reply = reply
        self.flags = flags
        self.repairs = repairs


class StoreError(BeholderError):
    """The out-dir cannot be used as asked."""

    default_slug = "store"
