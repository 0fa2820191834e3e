"""The profile that LibreOffice is given: no macros, no links, nothing that asks or waits."""

from __future__ import annotations

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


def write_profile(folder: Path) -> None:
    """Make the folder a profile (`UserInstallation`) that has never been used."""
    (folder / "user").mkdir()
    (folder / "user" / "registrymodifications.xcu").write_text(profile_xml(), encoding="utf-8")
