"""The profile that LibreOffice is given: no macros, no links, nothing that asks or waits."""

from __future__ import annotations

import re
from pathlib import Path
from xml.sax.saxutils import escape

_COMMON = "/org.openoffice.Office.Common"
_SETTINGS: tuple[tuple[str, str, str], ...] = (
    ("/org.openoffice.Setup/Office", "ooSetupInstCompleted", "true"),
    ("/org.openoffice.Setup/L10N", "ooLocale", "en-US"),
    # In a profile that no version has used yet, each call draws test pictures first: most of its start-up.
    ("/org.openoffice.Setup/Product", "ooSetupLastVersion", "999.0"),
    (f"{_COMMON}/Misc", "FirstRun", "false"),
    (f"{_COMMON}/Misc", "CrashReport", "false"),
    (f"{_COMMON}/Misc", "ShowTipOfTheDay", "false"),
    (f"{_COMMON}/Misc", "UseOpenCL", "false"),
    # No macro runs, whoever has signed it.
    (f"{_COMMON}/Security/Scripting", "MacroSecurityLevel", "3"),
    (f"{_COMMON}/Security/Scripting", "DisableMacrosExecution", "true"),
    # No linked picture, section or sheet is read, from the network or from the disk.
    (f"{_COMMON}/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    ("/org.openoffice.Office.Writer/Content/Update", "Link", "2"),
    ("/org.openoffice.Office.Calc/Content/Update", "Link", "2"),
    # Cells show what was saved with them; those without a value are computed whatever stands here.
    ("/org.openoffice.Office.Calc/Formula/Load", "OOXMLRecalcMode", "1"),
    ("/org.openoffice.Office.Calc/Formula/Load", "ODFRecalcMode", "1"),
    # A sheet is one page. Said here and not by the call, so that documents may go into the same call.
    (f"{_COMMON}/Filter/PDF/Export", "SinglePageSheets", "true"),
    ("/org.openoffice.Office.Recovery/RecoveryInfo", "Enabled", "false"),
    ("/org.openoffice.Office.Recovery/AutoSave", "Enabled", "false"),
    ("/org.openoffice.Office.Update/Update", "Enabled", "false"),
    ("/org.openoffice.Office.Java/VirtualMachine", "Enable", "false"),
)
PROFILE_POLICY = "no macros, no links, no updates, no Java, no recovery"
"""The same for people."""


def profile_xml() -> str:
    """The private profile's settings, as LibreOffice reads them (`registrymodifications.xcu`)."""
    items = "\n".join(
        f'<item oor:path="{escape(path)}"><prop oor:name="{name}" oor:op="fuse">'
        f"<value>{escape(value)}</value></prop></item>"
        for path, name, value in _SETTINGS
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<oor:items xmlns:oor="http://openoffice.org/2001/registry" '
        'xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n'
        f"{items}\n</oor:items>\n"
    )


def write_profile(folder: Path, program: Path) -> None:
    """Make the folder a profile (`UserInstallation`) that has never been used.

    Args:
        folder: An empty one.
        program: LibreOffice's own, whose build the profile is for.
    """
    user = folder / "user"
    user.mkdir()
    (user / "registrymodifications.xcu").write_text(profile_xml(), encoding="utf-8")
    build = _build_id(program)
    if build:
        # Where no build has noted itself, the first call only does that, and wants to be started again.
        (user / "extensions").mkdir()
        (user / "extensions" / "buildid").write_text(build, encoding="utf-8")


def _build_id(program: Path) -> str:
    """What the installation beside the program calls its build; empty where it does not say."""
    try:
        said = (program.parent / "versionrc").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"^buildid=(.+)$", said, re.MULTILINE)
    return found.group(1).strip() if found else ""
