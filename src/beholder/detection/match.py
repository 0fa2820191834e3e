"""Maximum-cardinality matching of many small bipartite graphs at once.

The graphs (one per image and class) lie side by side in one edge list, so that every step is a few array
operations whatever their number:

    1. leaves    an edge whose one end has no other edge is in some maximum matching: take it, remove both
                 ends, repeat (Karp and Sipser 1981). One gold box and N predictions, N gold boxes and one
                 prediction, trees: all done here.
    2. greedy    in what is left every box has two edges or more: take one edge a box, then leaves again, some
                 rounds.
    3. proof     a graph whose step 2 used up all gold or all predicted boxes of its remainder is done.
    4. exact     for the few others, augmenting paths from nothing (scipy's Hopcroft-Karp if they are large).
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]

_GREEDY_ROUNDS = 20
_LARGE = 4000  # edges; scipy's import costs as much as augmenting so many by hand


def maximum_matching(left: Index, right: Index, group: Index, n_left: int, n_right: int) -> Index:
    """A largest set of edges of which no two share an end.

    Args:
        left, right: (E,) ends of the edges, numbered from 0 below `n_left` and `n_right`.
        group: (E,) number of the graph that the edge lies in; graphs share no ends.

    Returns:
        Positions of the chosen edges, rising. Which of several largest sets is found depends on the order
        of the edges; its size does not.
    """
    return np.sort(_Matching(left, right, group, n_left, n_right).solve())


class _Matching:
    """The edge list and what has been chosen of it."""

    def __init__(self, left: Index, right: Index, group: Index, n_left: int, n_right: int) -> None:
        self.left, self.right, self.group = left, right, group
        self.left_used = np.zeros(n_left, np.bool_)
        self.right_used = np.zeros(n_right, np.bool_)
        self.first_left = np.empty(n_left, np.int64)
        self.first_right = np.empty(n_right, np.int64)

    def solve(self) -> Index:
        certain, rest = self._take_leaves(np.arange(len(self.left)))
        if not len(rest):
            return certain
        rest = rest[np.argsort(self.left[rest], kind="stable")]
        chosen, live = [], rest
        for _ in range(_GREEDY_ROUNDS):
            if not len(live):
                break
            taken = self._take(self._one_edge_each(live))
            more, live = self._take_leaves(self._open(live))
            chosen += [taken, more]
        greedy = np.concatenate(chosen)
        unproven = self._unproven(greedy, rest)
        if not len(unproven):
            return np.concatenate([certain, greedy])
        again = rest[np.isin(self.group[rest], unproven)]
        kept = greedy[~np.isin(self.group[greedy], unproven)]
        return np.concatenate([certain, kept, _exact(self.left, self.right, again)])

    def _one_edge_each(self, live: Index) -> Index:
        """One edge per left end, of edges sorted by it: the k-th end of a graph takes its k-th edge, in turn.

        So that many boxes that all overlap one another are matched at once, not one a round.
        """
        left = self.left[live]
        start = np.flatnonzero(np.r_[True, left[1:] != left[:-1]])
        degree = np.diff(np.r_[start, len(left)])
        group = self.group[live[start]]
        order = np.argsort(group, kind="stable")
        first = np.flatnonzero(np.r_[True, group[order][1:] != group[order][:-1]])
        rank = np.empty(len(group), np.int64)
        rank[order] = np.arange(len(group)) - np.repeat(first, np.diff(np.r_[first, len(group)]))
        chosen: Index = live[start + rank % degree]
        return chosen

    def _take_leaves(self, live: Index) -> tuple[Index, Index]:
        """Take edges with a leaf until none is left; what was taken, and the edges that remain."""
        taken = []
        while len(live):
            left, right = self.left[live], self.right[live]
            alone = np.bincount(left, minlength=len(self.left_used))[left] == 1
            alone |= np.bincount(right, minlength=len(self.right_used))[right] == 1
            if not alone.any():
                break
            taken.append(self._take(live[alone]))
            live = self._open(live)
        return (np.concatenate(taken) if taken else np.empty(0, np.int64)), live

    def _take(self, edges: Index) -> Index:
        """Of these edges some that share no end, chosen by order; their ends are used then."""
        backwards = edges[::-1]
        self.first_right[self.right[backwards]] = backwards  # the last write, so the first edge, stays
        edges = edges[self.first_right[self.right[edges]] == edges]
        backwards = edges[::-1]
        self.first_left[self.left[backwards]] = backwards
        edges = edges[self.first_left[self.left[edges]] == edges]
        self.left_used[self.left[edges]] = True
        self.right_used[self.right[edges]] = True
        return edges

    def _open(self, edges: Index) -> Index:
        """The edges with neither end used."""
        return edges[~(self.left_used[self.left[edges]] | self.right_used[self.right[edges]])]

    def _unproven(self, greedy: Index, rest: Index) -> Index:
        """Groups in which `greedy` used up neither side of `rest`."""
        groups, at = np.unique(self.group[rest], return_inverse=True)
        taken = np.bincount(np.searchsorted(groups, self.group[greedy]), minlength=len(groups))
        sides = [_count_ends(end[rest], at, len(groups)) for end in (self.left, self.right)]
        return groups[taken < np.minimum(*sides)]


def _count_ends(end: Index, at: Index, n_groups: int) -> Index:
    """(n_groups,) number of different ends per group."""
    _, first = np.unique(end, return_index=True)
    return np.bincount(at[first], minlength=n_groups)


def _exact(left: Index, right: Index, edges: Index) -> Index:
    """A maximum matching of some edges, from nothing."""
    return (_by_scipy if len(edges) > _LARGE else _by_augmenting)(left, right, edges)


def _by_augmenting(left: Index, right: Index, edges: Index) -> Index:
    """Breadth-first augmenting paths, one left end after the other (Berge 1957)."""
    reach: dict[int, list[tuple[int, int]]] = {}
    for edge, a, b in zip(edges.tolist(), left[edges].tolist(), right[edges].tolist(), strict=True):
        reach.setdefault(a, []).append((b, edge))
    owner: dict[int, tuple[int, int]] = {}  # right end -> its left end and edge
    mate: dict[int, int] = {}  # left end -> its right end
    for root in reach:
        came: dict[int, tuple[int, int]] = {}  # right end -> left end and edge by which it was reached
        queue = deque([root])
        free: int | None = None
        while queue and free is None:
            a = queue.popleft()
            for b, edge in reach[a]:
                if b in came:
                    continue
                came[b] = (a, edge)
                if b not in owner:
                    free = b
                    break
                queue.append(owner[b][0])
        while free is not None:
            a, edge = came[free]
            owner[free] = (a, edge)
            following = mate.get(a)
            mate[a] = free
            free = following
    return np.array([edge for _, edge in owner.values()], np.int64)


def _by_scipy(left: Index, right: Index, edges: Index) -> Index:
    """Hopcroft and Karp's algorithm (1973)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    _, a = np.unique(left[edges], return_inverse=True)
    _, b = np.unique(right[edges], return_inverse=True)
    shape = (int(a.max()) + 1, int(b.max()) + 1)
    graph = csr_array((np.ones(len(edges), np.int8), (a, b)), shape=shape)
    partner = maximum_bipartite_matching(graph, perm_type="column")[a]
    chosen: Index = edges[partner == b]
    return chosen
