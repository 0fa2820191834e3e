"""What a machine has and lacks."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from beholder import doctor
from beholder.doctor import Check, examine, works
from beholder.errors import MissingTool, RendererFailed
from tests.fakes.runs import command, environment, run


def program(folder: Path, name: str, script: str) -> None:
    """A program of our own on the search path."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def by_name(checks: list[Check]) -> Mapping[str, Check]:
    return {check.name: check for check in checks}


def test_what_is_here_is_told_with_its_version_and_place(tmp_path: Path) -> None:
    """The real machine: a browser, its sandbox and why, pictures, and exit 0."""
    done = run(command("doctor", "--json"), cwd=tmp_path)
    told = json.loads(done.stdout)
    checks = {check["name"]: check for check in told["checks"]}
    assert (done.returncode, told["ok"]) == (0, True), done.stdout
    assert "sandbox o" in checks["browser"]["detail"]
    assert os.access(checks["browser"]["detail"].split(" at ")[1].split(",")[0], os.X_OK)
    for check in told["checks"]:
        assert check["status"] in {"ok", "warning", "missing", "unknown"}
        assert bool(check["fix"]) or check["status"] in {"ok", "unknown"}, check
    plain = run(command("doctor"), cwd=tmp_path)
    assert "can be judged here" in plain.stdout
    assert "\x1b" not in plain.stdout


def test_keys_are_told_by_name_and_place_and_never_by_value(tmp_path: Path) -> None:
    """From the environment or a .env of the current folder; an empty one is none."""
    secret, other = "sk-very-secret-1", "sk-very-secret-2"
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={secret}\nANTHROPIC_API_KEY='{secret}'\nPATH=/nowhere\n")
    env = environment(ANTHROPIC_API_KEY=other, MY_SERVER_API_KEY=other, GEMINI_API_KEY=" ")
    for line in (command("doctor"), command("doctor", "--json")):
        done = run(line, cwd=tmp_path, env=env)
        assert secret not in done.stdout + done.stderr
        assert other not in done.stdout + done.stderr
    keys = {
        check["name"]: check["detail"]
        for check in json.loads(done.stdout)["checks"]
        if check["group"] == "keys"
    }
    assert keys.keys() == {"ANTHROPIC_API_KEY", "MY_SERVER_API_KEY", "OPENAI_API_KEY"}
    assert ".env" in keys["OPENAI_API_KEY"]
    assert "the environment" in keys["ANTHROPIC_API_KEY"]
    assert "--api-key-env" in keys["MY_SERVER_API_KEY"]


def test_without_any_key_the_way_to_set_one_is_told(tmp_path: Path) -> None:
    """It is no reason to fail: scripted judges need none."""
    check = by_name(examine({}, tmp_path))["judges' keys"]
    assert (check.status, check.needed) == ("missing", False)
    assert "ANTHROPIC_API_KEY" in check.fix


def test_each_script_without_a_font_has_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what fc-list says of a language; without a Latin font nothing can be judged."""
    program(tmp_path / "bin", "fc-list", 'case "$1" in :lang=ko) echo "Nanum,나눔" ;; :lang=th) ;; esac')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = by_name(list(doctor._fonts()))
    assert (found["Korean"].status, found["Korean"].detail) == ("ok", "Nanum")
    assert (found["Thai"].status, found["Thai"].fix) == ("missing", "apt-get install fonts-thai-tlwg-ttf")
    assert not works(list(found.values()))
    (tmp_path / "bin" / "fc-list").unlink()
    assert {check.status for check in doctor._fonts()} == {"unknown"}


def test_the_office_suite_converts_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real one is told with its version and fence; one that converts nothing is a warning; none has its
    packages."""
    if shutil.which("soffice"):
        found = doctor._office()
        assert found.status in {"ok", "warning"}
        assert "LibreOffice" in found.detail
        assert "network o" in found.detail
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    program(tmp_path / "bin", "soffice", "exit 1")
    broken = doctor._office()
    assert (broken.status, "converts nothing" in broken.detail) == ("warning", True)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert doctor._office().status == "missing"
    assert "libreoffice-calc-nogui" in doctor._office().fix


def test_decoders_are_told_with_their_fence() -> None:
    """The processes that decode hostile files are started, and what they have given up is told."""
    found = doctor._decoders()
    assert found.status in {"ok", "warning"}
    assert "network o" in found.detail


@pytest.mark.parametrize(
    ("error", "word"),
    [(MissingTool("none"), "cannot be drawn"), (RendererFailed("no such library"), "no such library")],
)
def test_without_a_browser_that_starts_nothing_works(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, word: str
) -> None:
    """Missing or broken, with the line that installs one."""

    async def fail() -> dict[str, str]:
        raise error

    monkeypatch.setattr(doctor, "renderer_info", fail)
    checks = examine({}, tmp_path)
    check = by_name(checks)["browser"]
    assert (check.status, works(checks)) == ("missing", False)
    assert word in check.detail
    assert "chromium" in check.fix


def test_a_browser_without_its_sandbox_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It works, and why it is off is told."""

    async def info() -> dict[str, str]:
        return {"browser": "X/1", "path": "/x", "sandbox": "off", "sandbox_reason": "run as root"}

    monkeypatch.setattr(doctor, "renderer_info", info)
    checks = examine({}, tmp_path)
    assert (by_name(checks)["browser"].status, works(checks)) == ("warning", True)
    assert "run as root" in by_name(checks)["browser"].detail
