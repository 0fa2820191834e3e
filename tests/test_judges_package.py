"""The judges' package as a whole."""

from __future__ import annotations

import subprocess
import sys

import beholder.judges


def test_public_names_are_sorted_and_there() -> None:
    """The public names are sorted, and each of them exists."""
    assert beholder.judges.__all__ == sorted(beholder.judges.__all__)
    assert all(hasattr(beholder.judges, name) for name in beholder.judges.__all__)


def test_import_loads_no_vendor_library() -> None:
    """Importing the package and connecting a scripted judge load no vendor's library and no HTTP client."""
    code = (
        "import sys, pathlib, tempfile, beholder.judges as j\n"
        "from beholder.records import JudgeSpec\n"
        "p = pathlib.Path(tempfile.mkdtemp()) / 's.jsonl'; p.write_text('{\"reply\": \"x\"}')\n"
        "j.connect_judge(JudgeSpec(provider='scripted', name=str(p)), api_key=None)\n"
        "heavy = {'pydantic_ai', 'anthropic', 'openai', 'google', 'httpx', 'httpx2', 'genai_prices'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_one_vendor_loads_one_library() -> None:
    """Connecting an OpenAI-compatible judge does not load the other vendors' packages."""
    code = (
        "import sys, beholder.judges as j\n"
        "from beholder.records import JudgeSpec\n"
        "spec = JudgeSpec(provider='openai-compatible', name='x', base_url='http://127.0.0.1:1/v1')\n"
        "j.connect_judge(spec, api_key=None)\n"
        "print(sorted({'anthropic', 'google.genai'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
