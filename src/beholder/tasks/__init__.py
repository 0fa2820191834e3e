"""Task files and run directories -> `Task` and `Submission`, pinned by digest."""

from beholder.tasks.files import FileProblem, TaskFile, has_column, load_tasks, read_tasks
from beholder.tasks.submissions import RunDirectory

__all__ = ["FileProblem", "RunDirectory", "TaskFile", "has_column", "load_tasks", "read_tasks"]
