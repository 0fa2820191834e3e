"""What this machine has and lacks for judging, each missing thing with the line that installs it."""

from __future__ import annotations

import asyncio
import importlib
import io
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import beholder
from beholder.errors import BrokenArtifact, MissingTool, RendererFailed
from beholder.evidence.browser import install_hint
from beholder.evidence.good import IMAGE, good_job
from beholder.evidence.kinds import Shown
from beholder.evidence.pages import renderer_info
from beholder.evidence.soffice import OfficeSuite
from beholder.evidence.soffice_find import find_soffice
from beholder.evidence.workers import WorkerPool
from beholder.judges.keys import HOST_KEYS
from beholder.run.dotenv import keys_from_dotenv

Status = Literal["ok", "warning", "missing", "unknown"]

PYTHON = (3, 11)
_OFFICE = "libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked for.

    Attributes:
        group: `system`, `pages`, `fonts`, `documents`, `video`, `tables` or `keys`.
        detail: What was found, or what its absence means.
        fix: The line that mends it; empty if nothing is to be mended.
        needed: Whether pages and pictures cannot be judged without it.
    """

    group: str
    name: str
    status: Status
    detail: str
    fix: str = ""
    needed: bool = False


@dataclass(frozen=True, slots=True)
class _Script:
    """A script that pages are written in: a language that fontconfig knows, Debian's package for it."""

    name: str
    language: str
    package: str
    needed: bool = False


_SCRIPTS = (
    _Script("Latin", "en", "fonts-liberation", needed=True),
    _Script("Korean", "ko", "fonts-noto-cjk"),
    _Script("Chinese", "zh-cn", "fonts-noto-cjk"),
    _Script("Japanese", "ja", "fonts-noto-cjk"),
    _Script("emoji", "und-zsye", "fonts-noto-color-emoji"),
    _Script("Devanagari", "hi", "fonts-indic"),
    _Script("Thai", "th", "fonts-thai-tlwg-ttf"),
    _Script("Arabic", "ar", "fonts-noto-core"),
)


def examine(environ: Mapping[str, str], folder: Path) -> list[Check]:
    """Look at everything; takes some seconds, for the browser is started once.

    Args:
        environ: Where keys are looked for; their values go nowhere.
        folder: Where a `.env` may lie.
    """
    return [
        _beholder(),
        _python(),
        _browser(),
        _pictures(),
        _decoders(),
        *_fonts(),
        _office(),
        _module("video", "opencv", "cv2", "videos are not shown without it", "opencv-python-headless"),
        _module("tables", "pyarrow", "pyarrow", "for `export -o FILE.parquet`", "pyarrow"),
        *_keys(environ, folder),
    ]


def works(checks: list[Check]) -> bool:
    """Whether web pages and pictures can be judged here."""
    return all(check.status in {"ok", "warning", "unknown"} for check in checks if check.needed)


def _beholder() -> Check:
    place = Path(beholder.__file__).parent
    return Check(group="system", name="beholder", status="ok", detail=f"{beholder.__version__} in {place}")


def _python() -> Check:
    good = sys.version_info >= PYTHON
    return Check(
        group="system",
        name="Python",
        status="ok" if good else "missing",
        detail=f"{platform.python_version()} at {sys.executable}",
        fix="" if good else f"install Python {PYTHON[0]}.{PYTHON[1]} or newer",
        needed=True,
    )


def _browser() -> Check:
    def check(status: Status, detail: str, fix: str = "") -> Check:
        return Check(group="pages", name="browser", status=status, detail=detail, fix=fix, needed=True)

    try:
        info = asyncio.run(renderer_info())
    except MissingTool:
        return check("missing", "pages cannot be drawn without one", install_hint())
    except RendererFailed as error:
        return check("missing", f"it is there and does not start: {error}", install_hint())
    found = f"{info['browser']} at {info['path']}, sandbox {info['sandbox']} ({info['sandbox_reason']})"
    if info["sandbox"] != "on":
        return check(
            "warning", found, "run as a user of your own, not as root, or install util-linux (setpriv)"
        )
    return check("ok", found)


def _pictures() -> Check:
    from PIL import Image
    from PIL import __version__ as version

    lacking = []
    for format_ in ("PNG", "JPEG", "WEBP"):
        try:
            Image.new("RGB", (8, 8)).save(io.BytesIO(), format_)
        except (OSError, KeyError):  # a Pillow built without that library
            lacking.append(format_)
    return Check(
        group="pages",
        name="pictures",
        status="missing" if lacking else "ok",
        detail=f"Pillow {version}" + (f" without {', '.join(lacking)}" if lacking else ""),
        fix="pip install --force-reinstall pillow" if lacking else "",
        needed=True,
    )


def _fonts() -> Iterator[Check]:
    program = shutil.which("fc-list")
    for script in _SCRIPTS:
        if program is None:
            # macOS and Windows have fonts for all of these, and no fontconfig.
            linux = sys.platform == "linux"
            yield Check(
                group="fonts",
                name=script.name,
                status="unknown",
                detail="there is no fc-list to ask",
                fix="apt-get install fontconfig" if linux else "",
                needed=script.needed,
            )
            continue
        families = _families(program, script.language)
        yield Check(
            group="fonts",
            name=script.name,
            status="ok" if families else "missing",
            detail=_some(families) if families else "its letters are drawn as empty boxes",
            fix="" if families else f"apt-get install {script.package}",
            needed=script.needed,
        )


def _families(program: str, language: str) -> list[str]:
    done = subprocess.run(  # noqa: S603 - the program found on PATH, with a constant
        [program, f":lang={language}", "family"], capture_output=True, check=False, timeout=30
    )
    names = {line.partition(",")[0].strip() for line in done.stdout.decode("utf-8", "replace").splitlines()}
    return sorted(names - {""})


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _office() -> Check:
    """Whether a document comes out, behind which fence."""

    def check(status: Status, detail: str, fix: str = "") -> Check:
        return Check(group="documents", name="LibreOffice", status=status, detail=detail, fix=fix)

    install = f"apt-get install --no-install-recommends {_OFFICE}"
    try:
        path = find_soffice()
    except MissingTool:
        return check("missing", "documents, slides and sheets are not drawn without it", install)

    async def convert() -> dict[str, Any]:
        async with OfficeSuite() as suite:
            await suite.convert("good.rtf", ".rtf", b"{\\rtf1 good}", target="pdf")
            return suite.renderer

    try:
        told = asyncio.run(convert())
    except (BrokenArtifact, RendererFailed) as error:
        return check("warning", f"{path} is there and converts nothing: {error}", f"reinstall it: {install}")
    fence = told["office_fence"]
    found = f"{told['office']} at {path}, network {fence['network']}, as {fence['user']}"
    if fence["network"] == "on":
        return check("warning", f"{found} ({fence.get('reason', '')})", "install util-linux (unshare)")
    return check("ok", found)


def _decoders() -> Check:
    """Whether hostile files are decoded behind a fence, and which."""

    def check(status: Status, detail: str, fix: str = "") -> Check:
        return Check(group="pages", name="decoders", status=status, detail=detail, fix=fix, needed=True)

    async def decode() -> Mapping[str, Any]:
        pool = WorkerPool((IMAGE,), 1)
        try:
            await pool.run(*good_job(IMAGE), Shown)
            return pool.fence
        finally:
            await pool.aclose()

    try:
        fence = asyncio.run(decode())
    except (BrokenArtifact, RendererFailed) as error:
        return check("missing", f"files cannot be decoded: {error}", "pip install --force-reinstall beholder")
    given_up = fence["given_up"]
    found = f"own processes, network {fence['network']}, given up for good: {given_up}"
    if fence["network"] == "on" and given_up != "files and tcp":
        return check("warning", found, "run on Linux 6.7 or newer, or where user namespaces are allowed")
    return check("ok", found)


def _module(group: str, name: str, module: str, purpose: str, package: str) -> Check:
    try:
        found: Any = importlib.import_module(module)
    except ImportError:
        fix = f"pip install {package}"
        return Check(group=group, name=name, status="missing", detail=purpose, fix=fix)
    return Check(group=group, name=name, status="ok", detail=str(getattr(found, "__version__", "there")))


def _keys(environ: Mapping[str, str], folder: Path) -> Iterator[Check]:
    """Keys by name and place. Their values are read for being empty and for nothing else."""
    stored = {name for name, value in keys_from_dotenv(folder / ".env").items() if value.strip()}
    held = {name for name, value in environ.items() if name.endswith("_API_KEY") and value.strip()}
    held |= {name for names in HOST_KEYS.values() for name in names if environ.get(name, "").strip()}
    hosts = {name: host for host, names in HOST_KEYS.items() for name in names}
    for name in sorted(held | stored):
        place = "the environment" if name in held else f"{folder / '.env'}"
        if name in held and name in stored:
            place = "the environment, which wins over .env"
        goes = f"for {hosts[name]}" if name in hosts else "used where --api-key-env names it"
        yield Check(group="keys", name=name, status="ok", detail=f"set in {place}; {goes}")
    if not held | stored:
        yield Check(
            group="keys",
            name="judges' keys",
            status="missing",
            detail=f"none of {', '.join(sorted(hosts))}; scripted judges and servers of your own need none",
            fix="export ANTHROPIC_API_KEY=… (or write it into a .env file in the current folder)",
        )
