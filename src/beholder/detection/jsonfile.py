"""JSON files of settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from beholder.errors import SpecError


def read_json_object(file: Path, slug: str) -> dict[str, Any]:
    """A JSON object in a file.

    Raises:
        SpecError: With this slug, or `unreadable`.
    """
    try:
        value = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SpecError(f"{file}: {error.strerror}", slug="unreadable", concerns=str(file)) from None
    except ValueError as error:
        raise SpecError(f"{file}: no JSON: {error}", slug=slug, concerns=str(file)) from None
    if not isinstance(value, dict):
        raise SpecError(f"{file}: expected a JSON object", slug=slug, concerns=str(file))
    return value
