"""Videos that are too large for a request: handed over to the vendor's store before, deleted afterwards.

    upload -> PROCESSING … -> ACTIVE -> the question names its address -> deleted
                           -> FAILED: no repeat of this question can be asked

A file is handed over once for all repeats of a task. None of this is a paid call; each step has a deadline,
and nothing here tries twice: an error goes to the one retry loop, whose next attempt goes on where this one
ended. The vendor deletes by itself, after 48 h, what a killed run could not.
"""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

from beholder.errors import JudgeError, JudgeRejected, JudgeUnavailable
from beholder.judges.exchange import CURRENT, Exchange, NotSent
from beholder.records import Video

if TYPE_CHECKING:
    from google.genai.files import AsyncFiles

FIRST_POLL_S = 0.5
LONGEST_POLL_S = 5.0
DELETE_S = 10.0

_log = logging.getLogger(__name__)

Translate = Callable[[BaseException, Exchange], JudgeError]


class UploadBrokenOff(httpx2.TransportError):
    """A piece of an upload was answered by something else than the store."""


@dataclass(slots=True)
class FileExchange(Exchange):
    """One request to the vendor's store.

    Attributes:
        host: The only one that is spoken to, whatever address the store hands out.
    """

    prompt: str = ""
    stand_ins: tuple[()] = ()
    host: str = ""

    def before(self, request: httpx2.Request) -> None:
        """Nothing is checked but where it goes."""
        if request.url.host != self.host:
            self.violation = JudgeRejected(
                f"the judge's store sends on to {request.url.host}; nothing was sent there", stops_run=True
            )
            raise NotSent(str(self.violation), request=request)

    async def after(self, response: httpx2.Response) -> None:
        """The library would send a piece up to three times, blocking everything in between: not here."""
        await super(FileExchange, self).after(response)
        is_piece = "x-goog-upload-offset" in response.request.headers
        if is_piece and response.status_code < 400 and "x-goog-upload-status" not in self.headers:
            raise UploadBrokenOff("the store did not say what became of the upload", request=response.request)


@dataclass(slots=True, eq=False)
class Upload:
    """One video on its way to the vendor's store, or in it.

    Attributes:
        name: The store's name for it, once it is there.
        uri: Its address, once it may be used.
        made: How often it was sent.
        failed: Why it can never be used.
    """

    video: Video = field(repr=False)
    name: str | None = None
    uri: str | None = None
    made: int = 0
    failed: JudgeRejected | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)


@dataclass(frozen=True, slots=True)
class FileStore:
    """The vendor's store.

    Attributes:
        host: Of its address.
        timeout_s: For the upload, and again until the file is ready.
        errors: What the library raises.
        translate: Our error for one of theirs.
    """

    files: AsyncFiles
    host: str
    timeout_s: float
    errors: tuple[type[Exception], ...]
    translate: Translate

    async def ready(self, upload: Upload) -> str:
        """The address of a video that may be used, sent and waited for if need be.

        Raises:
            JudgeUnavailable: It did not arrive or is not ready in time; the next attempt goes on with it.
            JudgeRejected: The store cannot read it.
        """
        async with upload.lock:  # the other repeats of the task wait for the same file
            if upload.failed:
                raise upload.failed
            if upload.uri is None:
                if upload.name is None:
                    await self._send(upload)
                upload.uri = await self._wait(upload)
            return upload.uri

    async def delete(self, upload: Upload) -> None:
        """Delete it, if it is there; a failure is logged, for the vendor deletes it in time."""
        name, upload.uri = upload.name, None
        if name is None:
            return
        try:
            async with self._talk(DELETE_S):
                await self.files.delete(name=name)
        except JudgeError as error:
            _log.warning("%s was not deleted at the judge's, which does so after 48 h: %s", name, error)
        upload.name = None  # not before: if this is cancelled, closing the judge tries again

    async def _send(self, upload: Upload) -> None:
        from google.genai.types import UploadFileConfig

        video = upload.video
        # Nothing of the artifact's name leaves; the digest finds the file again in the vendor's list.
        config = UploadFileConfig(mime_type=video.media_type, display_name=video.sha256[:32])
        upload.made += 1
        async with self._talk(self.timeout_s):
            file = await self.files.upload(file=io.BytesIO(video.data), config=config)
        upload.name = file.name

    async def _wait(self, upload: Upload) -> str:
        """The address, once the store has read the file."""
        pause = FIRST_POLL_S
        async with self._talk(self.timeout_s):
            while True:
                file = await self.files.get(name=upload.name or "")
                state = getattr(file.state, "value", file.state)
                if state == "ACTIVE" and file.uri:
                    return file.uri
                if state != "PROCESSING":
                    break
                await asyncio.sleep(pause)
                pause = min(LONGEST_POLL_S, pause * 1.5)
        why = f": {file.error.message}" if file.error and file.error.message else ""
        upload.failed = JudgeRejected(
            f"the judge cannot read the video {upload.video.source} ({state}{why})",
            concerns=upload.video.source,
        )
        raise upload.failed

    @asynccontextmanager
    async def _talk(self, timeout_s: float) -> AsyncIterator[None]:
        """A stretch of the conversation with the store, with its deadline; its errors become ours."""
        exchange = FileExchange(host=self.host)
        token = CURRENT.set(exchange)
        try:
            async with asyncio.timeout(timeout_s):
                yield
        except TimeoutError as error:
            raise JudgeUnavailable(
                f"the judge's store has not got the video ready within {timeout_s:g} s", slug="timeout"
            ) from error
        except self.errors as error:
            raise _free_of_charge(self.translate(error, exchange)) from error
        finally:
            CURRENT.reset(token)


def _free_of_charge(error: JudgeError) -> JudgeError:
    """Nothing of this is billed, however it ends."""
    if isinstance(error, JudgeUnavailable):
        error.possibly_billed = False
    return error


def uploads_made(uploads: tuple[Upload, ...]) -> dict[str, Any]:
    """For the record of what was sent."""
    return {"uploads": sum(upload.made for upload in uploads)} if uploads else {}
