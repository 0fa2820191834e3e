"""`[score]` -> `Formula`: names resolved, cycles refused, nodes put in the order of evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter

from beholder.records import Criterion, Formula, ScoreNode

KINDS = ("sum", "mean", "min", "max", "weighted", "scale")


def resolve_formula(nodes: Mapping[str, ScoreNode], pass_at: Decimal | None) -> Formula:
    """The formula with its nodes ordered; see `problems_of` for what must hold first."""
    return Formula(nodes={name: nodes[name] for name in _order(nodes)}, pass_at=pass_at)


def _order(nodes: Mapping[str, ScoreNode]) -> tuple[str, ...]:
    """Names such that each stands after those it uses. Raises CycleError."""
    graph = {name: [used for used in uses(node) if used in nodes] for name, node in nodes.items()}
    return tuple(TopologicalSorter(graph).static_order())


def uses(node: ScoreNode) -> tuple[str, ...]:
    """The names that a node is made of."""
    if node.scale is not None:
        return (node.scale,)
    if node.weighted is not None:
        return tuple(node.weighted)
    return node.sum or node.mean or node.min or node.max or ()


def problems_of(nodes: Mapping[str, ScoreNode], criteria: Sequence[Criterion]) -> Iterator[str]:
    """Every reason why `[score]` cannot be evaluated, as sentences."""
    keys = {criterion.key for criterion in criteria}
    known = keys | set(nodes)
    if "main" not in nodes:
        yield "score: there is no main; it is the score, so add one, such as main = { mean = [...] }"
    for name, node in nodes.items():
        kinds = [kind for kind in KINDS if getattr(node, kind) is not None]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            yield f"score.{name}: must have exactly one of {', '.join(KINDS)}; it has {found}"
            continue
        if name in keys:
            yield f"score.{name}: a criterion has the same name; choose another"
        if not uses(node):
            yield f"score.{name}: {kinds[0]} of nothing"
        for used in uses(node):
            if used not in known:
                yield f"score.{name}: {used!r} is neither a criterion nor a name of [score]"
        if node.weighted is not None:
            for used, weight in node.weighted.items():
                if weight < 0:
                    yield f"score.{name}: weight {weight} of {used!r} is below 0"
            if not any(node.weighted.values()):
                yield f"score.{name}: the weights sum to 0"
        if node.scale is not None:
            if node.from_ is None or node.to is None:
                yield f"score.{name}: scale needs from = [low, high] and to = [low, high]"
            elif node.from_[0] == node.from_[1]:
                yield f"score.{name}: from is a single point, so nothing can be scaled"
        elif node.from_ is not None or node.to is not None or node.round is not None:
            yield f"score.{name}: from, to and round belong to scale"
    try:
        tuple(
            TopologicalSorter(
                {n: [u for u in uses(d) if u in nodes] for n, d in nodes.items()}
            ).static_order()
        )
    except CycleError as error:
        yield f"score: names use one another in a circle: {' -> '.join(map(str, error.args[1]))}"
