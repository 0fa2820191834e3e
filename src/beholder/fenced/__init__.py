"""How processes that handle hostile files are started, kept poor, and ended.

A program that is not ours (the browser, LibreOffice) is started behind a fence: `programs`. Python code of
ours that reads hostile bytes runs in a worker: `worker` starts one and calls functions in it, `inside` is
what runs there and shuts itself in (`landlock`) once it has loaded what it needs. What either may use is in
`limits`, and what they leave on the disk if we are killed goes by `folders`.
"""

from __future__ import annotations

PROGRAM_USER = 64_917
"""The user that programs run as under root: in systemd's range for passing users, without a name."""

WORKER_USER = 64_918
"""The user that workers run as under root. One that has been taken over can do nothing to the programs."""
