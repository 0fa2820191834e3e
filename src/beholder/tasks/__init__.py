"""Task files and run directories -> `Task` and `Submission`, pinned by digest."""

from beholder.tasks.files import load_tasks
from beholder.tasks.submissions import RunDirectory

__all__ = ["RunDirectory", "load_tasks"]
