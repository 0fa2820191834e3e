"""A hook of mkdocs: code blocks of docs/ say which file they are, for which its Markdown has no form.

```toml posters.toml        becomes     `posters.toml`, and a block of TOML
```console exit=2           becomes     a block, and that it ends with exit code 2
"""

from __future__ import annotations

import re
from typing import Any

FENCE = re.compile(r"^```(\w+) ([^\n]+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page's text, with the file's name above its block."""

    def told(found: re.Match[str]) -> str:
        language, rest = found.groups()
        name, equals, value = rest.partition("=")
        words = f"Ends with exit code {value}:" if equals and name == "exit" else f"`{rest}`:"
        return f"{words}\n\n```{language}"

    return FENCE.sub(told, markdown)
