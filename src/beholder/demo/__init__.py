"""The samples that `beholder demo` judges: two models' answers for each built-in protocol, scripted replies.

They are the folders of `examples/` in the source tree, and a copy of it inside an installed package:

    <protocol>/README.md       what the samples are, and the commands to type
    <protocol>/tasks.jsonl     the tasks
    <protocol>/runs/<model>/   what the two models handed in
    <protocol>/replies.jsonl   the scripted judge's replies, each marked as such
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from beholder.errors import ConfigError
from beholder.run.spec import RunSpec

DEFAULT = "gis-bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """The samples of one protocol.

    Attributes:
        models: The two run directories. The names are of no real model.
        repeats: How often each task is judged; None takes the protocol's number.
        unscored: Reason -> tasks that stay unscored by design, of both models; anything more is a fault of
            the machine, such as a missing browser.
    """

    models: tuple[str, str]
    repeats: int | None = None
    unscored: Mapping[str, int] = field(default_factory=dict)


EXAMPLES: Mapping[str, Example] = {
    "gis-bench": Example(
        models=("atlas-small-demo", "meridian-large-demo"),
        unscored={"blocked_resources": 1, "refused": 1},
    ),
    "web-page": Example(
        models=("loom-small-demo", "garnet-large-demo"),
        repeats=3,
        unscored={"refused": 1},
    ),
    "math-media": Example(
        models=("chalk-small-demo", "slate-large-demo"),
        repeats=3,
        unscored={"no_majority": 1, "truncated": 1},
    ),
    "enterprise-claw": Example(
        models=("clerk-small-demo", "bureau-large-demo"),
        repeats=2,
        unscored={"refused": 1},
    ),
}
"""By protocol, without the `/1`."""


def find_example(protocol: str) -> tuple[str, Example]:
    """A protocol's name without the `/1`, and its samples.

    Raises:
        ConfigError: There are none.
    """
    name = protocol.removesuffix("/1")
    if name not in EXAMPLES:
        raise ConfigError(
            f"--protocol {protocol}: no samples ship for it; there are some for {', '.join(EXAMPLES)}",
            concerns="--protocol",
        )
    return name, EXAMPLES[name]


def example_folder(name: str) -> Path:
    """Where the samples of a protocol lie: in the installed package, else in the source tree."""
    here = Path(__file__).resolve().parent
    installed = here / "examples"
    return (installed if installed.is_dir() else here.parents[2] / "examples") / name


@contextmanager
def demo_spec(out_dir: Path, protocol: str = DEFAULT) -> Iterator[RunSpec]:
    """The run over a protocol's samples."""
    name, example = find_example(protocol)
    folder = example_folder(name)
    yield RunSpec(
        tasks=folder / "tasks.jsonl",
        run_dirs={model: folder / "runs" / model for model in example.models},
        out_dir=out_dir,
        protocol=name,
        judge=f"scripted/{folder / 'replies.jsonl'}",
        judge_name="scripted",
        repeats=example.repeats,
    )


def copy_samples(protocol: str, to: Path) -> Path:
    """A protocol's samples as files of the user's own, in a new folder.

    Raises:
        ConfigError: The folder is there already, or cannot be written.
    """
    name, _ = find_example(protocol)
    try:
        shutil.copytree(example_folder(name), to)
    except FileExistsError:
        raise ConfigError(
            f"--samples {to}: is there already; name a new folder", concerns="--samples"
        ) from None
    except (OSError, shutil.Error) as error:
        raise ConfigError(f"--samples {to}: cannot be written: {error}", concerns="--samples") from error
    return to
