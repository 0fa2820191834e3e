"""What a default installation brings along."""

from __future__ import annotations

import re
from importlib import metadata

# "GPL" that is not "LGPL": GPL, AGPL, GPLv3, "GNU General Public License".
COPYLEFT = re.compile(r"(?<!L)\bA?GPL|(?<!Lesser )General Public License", re.IGNORECASE)
RUNTIME_EXCEPTION = re.compile(r"GCC[- ]exception|GCC Runtime Library", re.IGNORECASE)


def closure(name: str, found: set[str]) -> set[str]:
    """A distribution and everything it requires here, by normalised name."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in found:
        return found
    try:
        requires = metadata.requires(key) or []
    except metadata.PackageNotFoundError:
        return found  # required on another system only
    found.add(key)
    for line in requires:
        if "extra ==" not in line:
            closure(re.split(r"[ ;<>=!~\[(]", line)[0], found)
    return found


def test_no_gpl_or_agpl_package_is_installed_with_beholder() -> None:
    """By each distribution's own licence field and classifiers; GCC's runtime exception asks nothing."""
    names = closure("beholder", set())
    assert {"playwright", "pillow", "pydantic-ai-slim", "scipy"} <= names
    offending = []
    for name in sorted(names):
        about = metadata.metadata(name)
        said = [about.get("License-Expression") or "", *(about.get_all("Classifier") or [])]
        first_line = (about.get("License") or "").splitlines()[:1]
        for text in [*said, *first_line]:
            if COPYLEFT.search(text) and not RUNTIME_EXCEPTION.search(text):
                offending.append((name, text))
    assert offending == []
