"""One 0/1 criterion against another: a signal of the process against the final answer, say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from beholder.stats import wilson_interval
from beholder.summary.figures import Scale, TaskFigures

MAX_CRITERIA = 8


def crosstabs(tasks: Sequence[TaskFigures], scale: Scale) -> list[dict[str, Any]]:
    """A table of every two 0/1 criteria over scored tasks; none where there are more than `MAX_CRITERIA`.

    A task's value is what more than half of its scored repeats say; where they are split evenly it is in no
    cell and is counted.

    Returns:
        Of each pair `{rows, columns, n, split, table {"0": {"0", "1"}, "1": {…}}, agreement, agreement_ci95,
        given {"0": {share, ci95, n}, "1": …}}`: `given` is the share of 1 in `columns` among tasks with that
        value of `rows`; null for none.
    """
    if not 2 <= len(scale.binary) <= MAX_CRITERIA:
        return []
    return [_crosstab(tasks, rows, columns) for rows, columns in combinations(scale.binary, 2)]


def _crosstab(tasks: Sequence[TaskFigures], rows: str, columns: str) -> dict[str, Any]:
    known = [task.scores for task in tasks if rows in task.scores and columns in task.scores]
    cells: Counter[tuple[int, int]] = Counter()
    split = 0
    for scores in known:
        row, column = _vote(scores, rows), _vote(scores, columns)
        if row is None or column is None:
            split += 1
        else:
            cells[row, column] += 1
    n = cells.total()
    agreed = cells[0, 0] + cells[1, 1]
    return {
        "rows": rows,
        "columns": columns,
        "n": n,
        "split": split,
        "table": {str(row): {str(column): cells[row, column] for column in (0, 1)} for row in (0, 1)},
        "agreement": agreed / n if n else None,
        "agreement_ci95": _pair(wilson_interval(agreed, n)),
        "given": {str(row): _share(cells[row, 1], cells[row, 0] + cells[row, 1]) for row in (0, 1)},
    }


def _vote(scores: Mapping[str, float], key: str) -> int | None:
    mean = scores[key]
    return None if mean == 0.5 else int(mean > 0.5)


def _share(ones: int, n: int) -> dict[str, Any]:
    return {"share": ones / n if n else None, "ci95": _pair(wilson_interval(ones, n)), "n": n}


def _pair(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)
