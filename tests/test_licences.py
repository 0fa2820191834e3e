"""What a default installation brings along."""

from __future__ import annotations

import re
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# "GPL" that is not "LGPL": GPL, AGPL, GPLv3, "GNU General Public License".
COPYLEFT = re.compile(r"(?<!L)\bA?GPL|(?<!Lesser )General Public License", re.IGNORECASE)
RUNTIME_EXCEPTION = re.compile(r"GCC[- ]exception|GCC Runtime Library", re.IGNORECASE)


def closure(name: str, extras: frozenset[str], found: dict[str, frozenset[str]]) -> set[str]:
    """A distribution, with the extras asked for, and everything it requires here, by normalised name."""
    key = canonicalize_name(name)
    if key in found and extras <= found[key]:
        return set(found)
    try:
        requires = metadata.requires(key) or []
    except metadata.PackageNotFoundError:
        return set(found)  # required on another system only
    found[key] = found.get(key, frozenset()) | extras
    for line in requires:
        required = Requirement(line)
        wanted = [
            True
            for extra in (*extras, "")
            if not required.marker or required.marker.evaluate({"extra": extra})
        ]
        if wanted:
            closure(required.name, frozenset(required.extras), found)
    return set(found)


def test_no_gpl_or_agpl_package_is_installed_with_beholder() -> None:
    """By each distribution's own licence field and classifiers; GCC's runtime exception asks nothing."""
    names = closure("beholder", frozenset(), {})
    assert {"playwright", "pillow", "anthropic", "openai", "google-genai", "scipy"} <= names
    offending = []
    for name in sorted(names):
        about = metadata.metadata(name)
        said = [about.get("License-Expression") or "", *(about.get_all("Classifier") or [])]
        said += (about.get("License") or "").splitlines()[:1]
        offending += [(name, t) for t in said if COPYLEFT.search(t) and not RUNTIME_EXCEPTION.search(t)]
    assert offending == []
