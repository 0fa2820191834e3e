"""The flags of `beholder detect`: options that several commands have, and what NAME=VALUE means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from beholder.errors import ConfigError, SpecError

_Command = TypeVar("_Command", bound=Callable[..., Any])


def option(*names: str, **kwargs: Any) -> Callable[[_Command], _Command]:
    """An option whose default may stand in `BEHOLDER_<FLAG>`."""
    longest = max(names, key=lambda name: name.startswith("--"))
    kwargs.setdefault("envvar", "BEHOLDER_" + longest.strip("-").upper().replace("-", "_"))
    return click.option(*names, **kwargs)


def read_thresholds(_ctx: click.Context, _param: click.Parameter, values: Sequence[str]) -> tuple[float, ...]:
    """Numbers; what is none is refused like a number that is no threshold."""
    found = []
    for value in values:
        try:
            found.append(float(value))
        except ValueError:
            raise SpecError(
                f"IoU threshold {value!r} is no number", slug="bad_iou_threshold", concerns=value
            ) from None
    return tuple(found)


PATH = click.Path(path_type=Path)
json_flag = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
gold_option = option("--gold", "gold_file", required=True, type=PATH, help="Gold boxes, JSONL.")
predictions_option = option(
    "--predictions",
    "prediction_files",
    required=True,
    multiple=True,
    metavar="[NAME=]FILE",
    help="One model's answers, JSONL; several times for several models.",
)
formats_option = option(
    "--box-format",
    "box_formats",
    multiple=True,
    metavar="[NAME=]FORMAT",
    help="What a model's four numbers mean: xyxy (default), xywh, cxcywh, …_norm, xyxy_1000, yxyx_1000.",
)
iou_option = option(
    "--iou",
    "thresholds",
    multiple=True,
    callback=read_thresholds,
    help="IoU threshold; the first is the main one.  [default: 0.5, 0.3, 0.4]",
)
seed_option = option("--seed", type=int, default=0, show_default=True, help="Seed of the bootstrap.")


def named_paths(items: Iterable[str], flag: str) -> dict[str, Path]:
    """Files by the name of their model, from NAME=FILE; without a name, the file's own.

    Raises:
        SpecError: No name or no file, or two models of one name (`duplicate_model`).
    """
    found: dict[str, Path] = {}
    for item in items:
        name, equals, file = item.partition("=")
        if not equals or _is_file(item):
            name, file = Path(item).stem, item
        if not name or not file:
            raise ConfigError(f"{flag} {item!r}: write NAME=FILE", concerns=flag)
        if name in found:
            raise SpecError(f"{flag}: two models are called {name!r}", slug="duplicate_model", concerns=name)
        found[name] = Path(file)
    return found


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except OSError:  # a name that is too long
        return False


def per_model(items: Iterable[str], models: Mapping[str, Path], flag: str) -> dict[str, str]:
    """Values by model, from NAME=VALUE for one, or VALUE for all.

    Raises:
        ConfigError: No model has the name.
    """
    found: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            found |= dict.fromkeys(models, item)
        elif name not in models:
            raise ConfigError(f"{flag} {item!r}: no --predictions is called {name!r}", concerns=flag)
        else:
            found[name] = value
    return found
