"""Task files and run directories -> `Task` and `Submission`, pinned by digest."""

from beholder.tasks.files import TaskFile, has_column, load_tasks, read_task, read_tasks
from beholder.tasks.rows import FileProblem
from beholder.tasks.submissions import RunDirectory, open_folder

__all__ = [
    "FileProblem",
    "RunDirectory",
    "TaskFile",
    "has_column",
    "load_tasks",
    "open_folder",
    "read_task",
    "read_tasks",
]
