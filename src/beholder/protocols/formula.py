"""`[score]` -> `Formula`: names resolved, cycles refused, nodes put in the order of evaluation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter

from beholder.records import Criterion, Formula, ScoreNode

KINDS = ("sum", "mean", "min", "max", "weighted", "scale")


def resolve_formula(nodes: Mapping[str, ScoreNode], pass_at: Decimal | None) -> Formula:
    """The formula with its nodes ordered; see `problems_of` for what must hold first."""
    return Formula(nodes={name: nodes[name] for name in _order(nodes)}, pass_at=pass_at)


def weighted_formula(criteria: Sequence[Criterion], pass_at: Decimal | None = None) -> Formula:
    """`main` as the weighted mean of all criteria, 0 to 1; without weights they count alike."""
    weights = {c.key: Decimal(1) if c.weight is None else c.weight for c in criteria}
    return Formula(nodes={"main": ScoreNode(weighted=weights)}, pass_at=pass_at)


def weight_problem(criteria: Sequence[Criterion]) -> str | None:
    """Why `weighted_formula` has no meaning for these criteria, as a sentence; None if it has."""
    without = [c.key for c in criteria if c.weight is None]
    if without and len(without) < len(criteria):
        return (
            f"{', '.join(map(repr, without))} without a weight beside others that have one; give all or none"
        )
    if criteria and not without and not any(c.weight for c in criteria):
        return "the weights sum to 0; give at least one criterion a weight above 0"
    return None


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


def problems_of(
    nodes: Mapping[str, ScoreNode], keys: Collection[str], others: Collection[str] = ()
) -> Iterator[tuple[str | None, str]]:
    """Every reason why `[score]` cannot be evaluated: (name, sentence); None where it is no one name's.

    Args:
        keys: The criteria's.
        others: Names of `[score]` that are wrong in themselves, and told elsewhere.
    """
    known = {*keys, *nodes, *others}
    if "main" not in {*nodes, *others}:
        yield None, "there is no main; it is the score, so add one, such as main = { mean = [...] }"
    for name, node in nodes.items():
        yield from ((name, sentence) for sentence in _node_problems(name, node, keys, known))
    try:
        _order(nodes)
    except CycleError as error:
        circle = " -> ".join(map(str, error.args[1]))
        yield None, f"names use one another in a circle: {circle}; a name may use earlier results only"


def _node_problems(
    name: str, node: ScoreNode, keys: Collection[str], known: Collection[str]
) -> Iterator[str]:
    kinds = [kind for kind in KINDS if getattr(node, kind) is not None]
    if len(kinds) != 1:
        yield f"must have exactly one of {', '.join(KINDS)}; it has {' and '.join(kinds) or 'none'}"
        return
    if name in keys:
        yield "a criterion has the same name; choose another"
    if name == "pass":
        yield "this name is taken by what pass_at decides; choose another"
    if not uses(node):
        yield f"{kinds[0]} of nothing; name at least one criterion"
    for used in uses(node):
        if used not in known:
            names = ", ".join(sorted(known - {name} if isinstance(known, set) else known)) or "none"
            yield f"{used!r} is neither a criterion nor a name of [score]; those are {names}"
    if node.weighted is not None:
        for used, weight in node.weighted.items():
            if weight < 0:
                yield f"weight {weight} of {used!r} is below 0; leave the criterion out, or weigh it 0"
        if not any(node.weighted.values()):
            yield "the weights sum to 0; weigh at least one above 0"
    if node.scale is not None:
        if node.from_ is None or node.to is None:
            yield "scale needs from = [low, high] and to = [low, high]"
        elif node.from_[0] == node.from_[1]:
            yield "from is a single point, so nothing can be scaled; write from = [low, high]"
    elif node.from_ is not None or node.to is not None or node.round is not None:
        yield "from, to and round belong to scale; remove them, or scale a name"
