"""Maximum matching and IoU."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from beholder.detection import match
from beholder.detection.boxes import boxes_from_arrays
from beholder.detection.match import maximum_matching
from beholder.detection.pairs import Groups, pairwise_iou
from beholder.detection.tally import match_boxes


def brute_force(edges: list[tuple[int, int]]) -> int:
    if not edges:
        return 0
    (a, b), rest = edges[0], edges[1:]
    taken = 1 + brute_force([e for e in rest if e[0] != a and e[1] != b])
    return max(taken, brute_force(rest))


def solve(edges: list[tuple[int, int]], group: list[int] | None = None) -> list[tuple[int, int]]:
    left, right = (np.array([e[k] for e in edges], np.int64) for k in (0, 1))
    of = np.array(group if group is not None else [0] * len(edges), np.int64)
    sizes = [int(side.max()) + 1 if len(edges) else 0 for side in (left, right)]
    chosen = maximum_matching(left, right, of, *sizes)
    found = [edges[k] for k in chosen]
    assert len({a for a, _ in found}) == len(found) == len({b for _, b in found})
    return found


edge_lists = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=11, unique=True)


@settings(max_examples=400, deadline=None)
@given(edge_lists)
def test_as_many_edges_as_trying_everything_finds(edges: list[tuple[int, int]]) -> None:
    """Small graphs, no end used twice."""
    assert len(solve(edges)) == brute_force(edges)


@settings(max_examples=100, deadline=None)
@given(st.lists(edge_lists, min_size=2, max_size=5))
def test_graphs_side_by_side_are_solved_as_alone(graphs: list[list[tuple[int, int]]]) -> None:
    """One call for many graphs finds what many calls find."""
    together = [(a + 10 * k, b + 10 * k) for k, edges in enumerate(graphs) for a, b in edges]
    group = [k for k, edges in enumerate(graphs) for _ in edges]
    assert len(solve(together, group)) == sum(len(solve(edges)) for edges in graphs)


@pytest.mark.parametrize("seed", range(12))
def test_large_graphs_match_as_scipy_does(seed: int) -> None:
    """Sparse to dense, square and not."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(50, 300, 2)
    density = [0.004, 0.01, 0.03, 0.2][seed % 4]
    a, b = np.nonzero(rng.random((n, m)) < density)
    edges = list(zip(a.tolist(), b.tolist(), strict=True))
    graph = csr_array((np.ones(len(a), np.int8), (a, b)), shape=(n, m))
    assert len(solve(edges)) == int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


@pytest.mark.parametrize("seed", range(40))
def test_both_exact_solvers_agree(seed: int) -> None:
    """Augmenting paths by hand, and scipy, from nothing, on graphs in which greedy can lose."""
    chance = random.Random(seed)
    edges = sorted({(chance.randrange(25), chance.randrange(25)) for _ in range(60)})
    left, right = (np.array([e[k] for e in edges], np.int64) for k in (0, 1))
    everything = np.arange(len(edges))
    assert len(match._by_augmenting(left, right, everything)) == len(match._by_scipy(left, right, everything))


def test_a_core_in_which_greedy_fails_is_solved_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among random graphs without leaves some need the exact step, and it is taken."""
    taken = []
    exact = match._exact
    monkeypatch.setattr(match, "_exact", lambda *args: taken.append(1) or exact(*args))
    chance = random.Random(1)
    for _ in range(400):
        edges = sorted({(chance.randrange(7), chance.randrange(7)) for _ in range(17)})
        assert len(solve(edges)) == brute_force(edges)
    assert taken


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_where_greedy_strands_a_box_the_maximum_does_not(order: list[int]) -> None:
    """The smallest case: P1 fits both gold boxes, P2 one of them; two matches in any order."""
    gold = boxes_from_arrays([0, 0], ["k", "k"], np.array([[0, 0, 100, 10], [40, 0, 140, 10.0]]))
    predicted = np.array([[19, 0, 119, 10], [-30, 0, 70, 10.0]])[order]
    found = match_boxes(gold, boxes_from_arrays([0, 0], ["k", "k"], predicted), 0.5)
    assert sorted(zip(*(side.tolist() for side in found), strict=True)) == sorted(
        [(1, order.index(0)), (0, order.index(1))]
    )


def test_iou_is_right_in_cases_done_by_hand() -> None:
    """Half, a third, none, touching, inside, no area, inverted, infinite area, negative times negative."""
    gold = np.array([[0, 0, 10, 10.0]])
    others: list[list[float]] = [
        [0, 0, 10, 5],
        [5, 0, 15, 10],
        [20, 20, 30, 30],
        [10, 0, 20, 10],
        [2, 2, 4, 4],
        [3, 3, 3, 9],
        [9, 9, 1, 1],
        [-1e200, -1e200, 1e200, 1e200],
        [20, 20, 30, 30],
    ]
    found = pairwise_iou(gold, np.array(others))[0].tolist()
    assert found == [0.5, 50 / 150, 0, 0, 0.04, 0, 0, 0, 0]
    assert pairwise_iou(gold, gold).tolist() == [[1.0]]
    assert pairwise_iou(gold[:0], gold).shape == (0, 1)


def test_many_pairs_are_taken_in_pieces_with_the_same_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on memory does not change what is found."""
    rng = np.random.default_rng(0)

    def some(n: int) -> tuple[Any, Any]:
        start = rng.integers(0, 20, (n, 2)).astype(float)
        return rng.integers(0, 5, n), np.concatenate([start, start + rng.integers(1, 20, (n, 2))], axis=1)

    (gold_key, gold), (key, predicted) = some(80), some(90)
    whole = Groups(gold_key, gold).edges(key, predicted, [0.3, 0.6])
    monkeypatch.setattr("beholder.detection.pairs._PAIRS_AT_A_TIME", 7)
    pieces = Groups(gold_key, gold).edges(key, predicted, [0.3, 0.6])
    for name in ("gold", "predicted", "level"):
        assert getattr(whole, name).tolist() == getattr(pieces, name).tolist()
    assert whole.near == pieces.near
    iou = pairwise_iou(predicted, gold)
    by_hand = [(p, g) for p in range(90) for g in range(80) if key[p] == gold_key[g] and iou[p, g] >= 0.3]
    assert sorted(zip(whole.predicted.tolist(), whole.gold.tolist(), strict=True)) == by_hand


def test_ten_thousand_boxes_in_one_image_are_no_trouble() -> None:
    """All of one class, against four gold boxes."""
    rng = np.random.default_rng(0)
    start = rng.random((10_000, 2)) * 100
    many = boxes_from_arrays([0] * 10_000, ["k"] * 10_000, np.concatenate([start, start + 20], axis=1))
    gold = boxes_from_arrays(
        [0] * 4, ["k"] * 4, np.array([[x, x, x + 20, x + 20] for x in (0, 20, 50, 70.0)])
    )
    assert len(match_boxes(gold, many, 0.5)[0]) == 4


@pytest.mark.parametrize(("n", "m"), [(300, 300), (300, 70), (70, 300)])
def test_many_boxes_that_all_overlap_are_matched_at_once(
    n: int, m: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same box over and over: as many matches as the smaller side has, without the exact solver."""
    monkeypatch.setattr(match, "_exact", None)
    boxes = [boxes_from_arrays([0] * k, ["k"] * k, np.array([[0, 0, 9, 9.0]] * k)) for k in (n, m)]
    assert len(match_boxes(boxes[0], boxes[1], 0.5)[0]) == min(n, m)


def test_large_cores_go_to_scipy_and_come_back_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any greedy round everything in a core is solved exactly, in the same number."""
    rng = np.random.default_rng(5)
    a, b = np.nonzero(rng.random((120, 120)) < 0.4)
    edges = list(zip(a.tolist(), b.tolist(), strict=True))
    expected = len(solve(edges))
    monkeypatch.setattr(match, "_GREEDY_ROUNDS", 1)
    assert len(edges) > match._LARGE
    assert len(solve(edges)) == expected == 120
