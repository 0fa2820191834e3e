"""Tasks and a run directory -> everything that is wrong with them, at once. Calls nobody; starts no browser.

    missing       nothing was handed in for a task, or a link leads nowhere
    doubled       several files for one task, or a file and a folder
    empty         a file of 0 bytes
    unreadable    a file or folder that may not be read
    unsafe_path   a link out of the submission's folder, or no regular file
    too_large     more bytes or pixels than are looked at
    wrong_type    the content is of another kind than the suffix says
    corrupt       a picture, document or video that cannot be decoded
    encrypted     a document that needs a password
    unsupported   no file of a kind that the protocol looks at
    no_response   a task's folder without response.txt
    no_artifacts  a task's folder without artifacts/, where the protocol has a text route
    malformed     task.json, metadata.json or history.jsonl is no JSON; response.txt is no UTF-8
    task_differs  task.json says something else than the task's row
    unexpected    what no task asks for, or does not belong into a task's folder
    task_file     the task file itself
    rubric        a task's own criteria cannot be used
    rules         a task's own rule is wrong

Outside hosts that pages name are no problem but a decision to be made: they are listed apart, with the flag
that would allow them. So are pictures of another format than their suffix says, which are judged as they are,
documents and videos that are damaged in parts, of which the rest is judged, files that the protocol excludes,
and rules of an unknown type, which are never passed.
"""

from beholder.validation.records import HostUse, Problem, Validation
from beholder.validation.run import validate_run

__all__ = ["HostUse", "Problem", "Validation", "validate_run"]
