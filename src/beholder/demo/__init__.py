"""The samples that `beholder demo` judges: ten maps of two models, with scripted replies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import resources
from pathlib import Path

from beholder.run import RunSpec

UNSCORED = {"blocked_resources": 1, "refused": 1}
"""What stays unscored by design; anything more is a fault of the machine, such as a missing browser."""

MODELS = ("atlas-small-demo", "meridian-large-demo")


@contextmanager
def demo_spec(out_dir: Path) -> Iterator[RunSpec]:
    """The run over the samples, which exist as files while the context lasts."""
    with ExitStack() as files:
        folder = files.enter_context(resources.as_file(resources.files("beholder.demo")))
        yield RunSpec(
            tasks=folder / "tasks.jsonl",
            run_dirs={name: folder / "submissions" / name for name in MODELS},
            out_dir=out_dir,
            protocol="gis-bench",
            judge=f"scripted/{folder / 'replies.jsonl'}",
            judge_name="scripted",
        )
