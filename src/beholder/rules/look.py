"""What one file says to one rule; runs in a worker, for the file may be hostile.

in   a rule's type and arguments, a file's suffix and bytes (or a response's text)
out  (outcome, detail): what became of it, and what was seen, for people
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from beholder.rules.files import FileFailed, NotChecked, counted
from beholder.rules.readers import NoReader, check_format, count_pages, text_of
from beholder.rules.search import Wanted
from beholder.rules.tables import lacks_table

Outcome = Literal["passed", "failed", "not_supported", "error"]
Found = tuple[Outcome, str]
"""What became of a rule or of one file, and what was seen, for people."""


def preload() -> None:
    """Load what texts need while files may still be opened; documents' libraries come beside this module."""
    import justhtml
    import regex
    from charset_normalizer import from_bytes
    from charset_normalizer.constant import IANA_SUPPORTED

    for name in (*IANA_SUPPORTED, "utf-16", "utf-8-sig", "cp437"):  # the last one: of names in archives
        codecs.lookup(name)
    from_bytes("Prüfung".encode("cp1252")).best()
    justhtml.JustHTML("<p>x", sanitize=False).query("p")
    regex.compile("x")


def look(rule: str, suffix: str, data: bytes) -> Found:
    """What a rule finds in a file.

    Args:
        rule: JSON of [type, arguments], which holds every number and text that a task's JSON can hold.
    """
    kind, args = json.loads(rule)
    return decided(lambda: _LOOKS[kind](args, suffix, data))


def search(args: str, data: bytes) -> Found:
    """What `text_contains` finds in a text, which is UTF-8, half characters included."""
    return decided(lambda: Wanted.of(json.loads(args)).found_in(data.decode("utf-8", "surrogatepass")))


def decided(check: Callable[[], Found]) -> Found:
    """What a check finds, or what kept it from finding anything."""
    try:
        outcome, detail = check()
    except FileFailed as error:
        outcome, detail = "failed", str(error)
    except NotChecked as error:
        outcome, detail = "error", str(error)
    except NoReader as error:
        outcome, detail = "not_supported", str(error)
    except MemoryError:
        outcome, detail = "error", "there is not enough memory to check it"
    except RecursionError:
        outcome, detail = "error", "nested deeper than can be read"
    # Names on disk and in files need not be Unicode.
    return outcome, detail.encode("utf-8", "replace").decode("utf-8")


def _text_contains(args: Mapping[str, Any], _suffix: str, data: bytes) -> Found:
    return Wanted.of(args).found_in(text_of(data))


def _valid(args: Mapping[str, Any], _suffix: str, data: bytes) -> Found:
    return "passed", check_format(args["as"], data)


def _table_has(args: Mapping[str, Any], suffix: str, data: bytes) -> Found:
    lack = lacks_table(suffix, data, args)
    return ("failed", lack) if lack else ("passed", "has them")


def _pages(args: Mapping[str, Any], _suffix: str, data: bytes) -> Found:
    pages = count_pages(data)
    least, most = args.get("min", 0), args.get("max")
    good = pages >= least and (most is None or pages <= most)
    return ("passed" if good else "failed"), counted(pages, "page")


_LOOKS: Mapping[str, Callable[[Mapping[str, Any], str, bytes], Found]] = {
    "text_contains": _text_contains,
    "valid": _valid,
    "table_has": _table_has,
    "pages": _pages,
}
