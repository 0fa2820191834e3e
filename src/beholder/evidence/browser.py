"""One long-lived browser in its sandbox, and the pages in it.

The browser is spoken to by pipes (`cdp`), is started as `fenced.programs` starts programs, and is gone when
the pipes close, when its group is killed or when this process dies. It keeps its network, for the proxy; run
as root, it is handed to an unprivileged user: Chromium's sandbox refuses to work for root.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beholder.errors import MissingTool, RendererFailed
from beholder.evidence.cdp import JSON, Connection, ConnectionLost, ProtocolFailure, Session
from beholder.fenced.folders import make_folder, remove_folder
from beholder.fenced.limits import Limits
from beholder.fenced.programs import (
    Fence,
    Fenced,
    guarded,
    is_root,
    last_line,
    start_fenced,
    tied,
)

START_S = 30.0
SETUP_S = 15.0
"""Wall seconds until a blank page is there; it takes a twentieth of one. No page's content is in it."""

DEAD_PROXY = "http://127.0.0.1:9"
"""The discard port: with it and no resolver the browser has no way out of its own."""

_FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-hang-monitor",
    "--disable-quic",
    "--disable-sync",
    "--metrics-recording-only",
    "--mute-audio",
    # A window that nobody sees must not slow down its timers.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    # The same pixels on every machine with the same fonts.
    "--disable-lcd-text",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--blink-settings=imageAnimationPolicy=2",
    "--run-all-compositor-stages-before-draw",
    # Otherwise a frame may be drawn before its pictures are decoded, and filled in later.
    "--disable-checker-imaging",
    "--disable-image-animation-resync",
    "--disable-new-content-rendering-timeout",
    "--disable-threaded-animation",
    "--disable-threaded-scrolling",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
    "--block-new-web-contents",
    # Frames share their page's process and so its virtual clock. Each submission has a context of its own.
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process,Translate,MediaRouter,OptimizationHints,PaintHolding",
    "--js-flags=--max-old-space-size=1024",
    # No way out but the proxy, loopback included; nothing is resolved by the browser itself.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)

_LIMITS = Limits(data_bytes=4 * 2**30)
"""Of one process of the browser: a page that fills its memory up gets an error instead of the machine."""

_PIPES = ("/bin/sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null', "sh")
"""Chromium takes its pipes at the descriptors 3 and 4; asyncio hands out 0 and 1."""


def install_hint() -> str:
    """The line that installs a browser here."""
    if shutil.which("apt-get"):
        return "apt-get install chromium-headless-shell"
    return f"{Path(sys.executable).name} -m playwright install --only-shell chromium"


def find_browser(path: str | None = None) -> Path:
    """The browser to use: `path`, Debian's `chromium-headless-shell`, else the one Playwright has installed.

    Raises:
        MissingTool: There is none; the message is the line that installs it.
    """
    if path is not None:
        if os.access(path, os.X_OK):
            return Path(path)
        raise MissingTool(f"there is no browser at {path}; install one: {install_hint()}", concerns="browser")
    # Debian's command is a shell script that waits for the program; killing it would leave the program.
    for candidate in ("/usr/lib/chromium/chromium-headless-shell", shutil.which("chromium-headless-shell")):
        if candidate and os.access(candidate, os.X_OK):
            return Path(candidate)
    for folder in _playwright_folders():
        shells = [
            *folder.glob("chromium_headless_shell-*/*/headless_shell"),
            *folder.glob("chromium_headless_shell-*/*/chrome-headless-shell"),
        ]
        if shells:
            return max(shells, key=lambda shell: shell.stat().st_mtime)
    raise MissingTool(f"no browser to render pages with: {install_hint()}", concerns="browser")


def _playwright_folders() -> list[Path]:
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    home = Path.home()
    places = [home / ".cache/ms-playwright", home / "Library/Caches/ms-playwright"]
    return [Path(named)] if named and named != "0" else places


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to start the browser: behind which fence, with Chromium's sandbox or without, and why so."""

    fence: Fence
    sandbox: bool
    reason: str


def _ways() -> list[_Way]:
    """Ways to start, best first."""
    tie, guard = tied() or Fence(), guarded() or Fence()
    if not is_root():
        return [
            _Way(guard, True, "own user"),
            _Way(tie, True, "own user"),
            _Way(tie, False, "the browser did not start without --no-sandbox"),
        ]
    if guard.owner is None:
        return [_Way(Fence(), False, "run as root without the program setpriv")]
    return [
        _Way(guard, True, f"run as root, handed to user {guard.owner}"),
        # A container or chroot may forbid the namespaces that the sandbox is made of: not root, at least.
        _Way(guard, False, f"handed to user {guard.owner}, whose namespaces this system does not allow"),
        _Way(tie, False, f"run as root, and the browser did not start as {guard.owner}"),
    ]


@dataclass(slots=True)
class Browser:
    """A running browser.

    Attributes:
        sandbox: Whether Chromium's sandbox is on, and `sandbox_reason` how or why not.
    """

    connection: Connection
    running: Fenced
    folder: Path
    version: str
    path: Path
    sandbox: bool
    sandbox_reason: str
    _closed: bool = field(default=False)

    @property
    def lost(self) -> bool:
        """Whether the browser has ended by itself."""
        return self.connection.lost.is_set()

    def info(self) -> dict[str, Any]:
        """What a manifest records of it."""
        return {
            "browser": self.version,
            "sandbox": "on" if self.sandbox else "off",
            "sandbox_reason": self.sandbox_reason,
        }

    @contextlib.asynccontextmanager
    async def page(self, width: int, height: int) -> AsyncIterator[tuple[Session, str]]:
        """(session, main frame's id) of a blank page in a context of its own, which is gone afterwards.

        Raises:
            ConnectionLost: The browser is gone, or did not answer and was ended.
        """
        top = self.connection.browser
        making: asyncio.Future[JSON] | None = None
        session: Session | None = None
        try:
            async with self._answering(SETUP_S):
                making = top.post("Target.createBrowserContext", disposeOnDetach=True)
                context = (await asyncio.shield(making))["browserContextId"]
                await top.call("Browser.setDownloadBehavior", behavior="deny", browserContextId=context)
                target = await top.call(
                    "Target.createTarget",
                    url="about:blank",
                    browserContextId=context,
                    width=width,
                    height=height,
                )
                attached = await top.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
                session = self.connection.session(attached["sessionId"])
            yield session, target["targetId"]
        finally:
            if session is not None:
                self.connection.forget(session.id)
            # Also when cancelled: the context goes, and with it a renderer that hangs.
            if making is not None:
                await asyncio.shield(self._dispose(making))

    async def _dispose(self, making: asyncio.Future[JSON]) -> None:
        """Have the browser remove a context, also one that it has not told of yet."""
        with contextlib.suppress(ConnectionLost, ProtocolFailure):
            async with self._answering(SETUP_S):
                context = (await making)["browserContextId"]
                await self.connection.browser.call("Target.disposeBrowserContext", browserContextId=context)

    @contextlib.asynccontextmanager
    async def _answering(self, within_s: float) -> AsyncIterator[None]:
        """End a browser that does not answer in time: no other page would get an answer either."""
        try:
            async with asyncio.timeout(within_s):
                yield
        except TimeoutError:
            self.running.kill()
            raise ConnectionLost("the browser does not answer") from None

    async def aclose(self) -> None:
        """End the browser and everything it started; its folder goes too."""
        if self._closed:
            return
        self._closed = True
        await _end(self.running, self.connection, self.folder)


async def launch(path: Path, *, proxy: str = DEAD_PROXY) -> Browser:
    """A browser that reaches the network through `proxy` only.

    Raises:
        RendererFailed: It does not start in any way.
    """
    said = ""
    for way in _ways():
        # Twice each: a start that fails once, on a machine short of memory, is no reason for a weaker fence.
        for _ in range(2):
            try:
                return await _launch(path, way, proxy)
            except RendererFailed as error:
                said = str(error)
    raise RendererFailed(f"{path} does not start: {said}", concerns="browser")


async def _launch(path: Path, way: _Way, proxy: str) -> Browser:
    folder = make_folder("browser", way.fence.owner)
    command = [*_PIPES, str(path), *_FLAGS, f"--proxy-server={proxy}", f"--user-data-dir={folder}"]
    if not way.sandbox:
        command.append("--no-sandbox")
    running: Fenced | None = None
    connection: Connection | None = None
    said = ""
    try:
        with tempfile.TemporaryFile() as errors:
            try:
                running = await start_fenced(
                    way.fence,
                    [*command, "about:blank"],
                    folder,
                    limits=_LIMITS,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=errors.fileno(),
                )
                if running.process.stdin is None or running.process.stdout is None:
                    raise RendererFailed("no pipe to the browser", concerns="browser")
                connection = Connection(running.process.stdout, running.process.stdin)
                async with asyncio.timeout(START_S):
                    version = await connection.browser.call("Browser.getVersion")
            finally:
                said = last_line(errors)
    except (ConnectionLost, ProtocolFailure, OSError) as error:
        await _end(running, connection, folder)
        raise RendererFailed(said or repr(error), concerns="browser") from error
    except BaseException:
        await _end(running, connection, folder)
        raise
    return Browser(
        connection=connection,
        running=running,
        folder=folder,
        version=str(version.get("product", "unknown")),
        path=path,
        sandbox=way.sandbox,
        sandbox_reason=way.reason,
    )


async def _end(running: Fenced | None, connection: Connection | None, folder: Path) -> None:
    """End the browser's group and remove its folder; also if the caller is cancelled again."""
    try:
        if running is not None:
            await running.aclose()
    finally:
        try:
            if connection is not None:
                await connection.aclose()
        finally:
            remove_folder(folder)


def fonts_fingerprint() -> Mapping[str, Any]:
    """How many font files fontconfig knows, and a digest of names and versions; empty if it does not tell."""
    program = shutil.which("fc-list")
    if program is None:
        return {}
    try:
        listed = subprocess.run(  # noqa: S603 - the program found on PATH, with no outside argument
            [program, "--format", "%{file|basename} %{fontversion} %{style[0]}\n"],
            capture_output=True,
            check=False,
            timeout=30,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    lines = sorted(set(listed.splitlines()))
    return {"count": len(lines), "sha256": hashlib.sha256(b"\n".join(lines)).hexdigest()}
