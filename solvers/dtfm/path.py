"""Open-loop travelling-salesman path: the order in which the groups of a partition become stages.

Up to `EXACT_STAGES` groups the path is exact (Held and Karp 1962); beyond that it is the heuristic of
improved_path.py. Weights are symmetric.
"""

import numpy as np
from numpy.typing import NDArray

from solvers.core.compiled import compiled
from solvers.dtfm.path_heuristic import NOISE, improved_path, path_length

EXACT_STAGES = 16
UNLIMITED_STAGES = 9  # up to here a known path costs more time than it saves


@compiled
def two_lightest(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of the two lightest edges at each group, (S, 2); 0 for an edge that is missing."""
    size = weights.shape[0]
    lightest = np.zeros((size, 2))
    for group in range(size):
        others = np.sort(np.delete(weights[group], group))[:2]
        lightest[group, : others.size] = others
    return lightest


@compiled
def held_karp(weights: NDArray[np.float64], limit: float) -> NDArray[np.int64]:
    """Return a shortest path through all groups; O(S^2 2^S) time, O(S 2^S) memory.

    `limit` is the length of a path that is known, or infinite: beginnings that cannot end below it are
    dropped. What is still to come is at least half of the two lightest edges at each group to come and of
    the lightest at the last one, but for one edge at the far end.
    """
    size = weights.shape[0]
    full = (1 << size) - 1
    lightest = two_lightest(weights)
    shortest = np.full((full + 1, size), np.inf)  # [visited, last]: shortest path over exactly these groups
    for start in range(size):
        shortest[1 << start, start] = 0.0
    for visited in range(1, full):
        to_come = 0.0
        largest = 0.0
        for group in range(size):
            if not visited >> group & 1:
                to_come += lightest[group, 0] + lightest[group, 1]
                largest = max(largest, lightest[group, 1])
        allowed = limit - (to_come - largest) / 2
        for last in range(size):
            so_far = shortest[visited, last]
            if so_far + lightest[last, 0] / 2 > allowed or so_far == np.inf:
                continue
            for new in range(size):
                if not visited >> new & 1:
                    extended = visited | 1 << new
                    shortest[extended, new] = min(shortest[extended, new], so_far + weights[last, new])
    order = np.empty(size, np.int64)
    visited = full
    order[size - 1] = np.argmin(shortest[full])
    for place in range(size - 1, 0, -1):  # the predecessor is the one that gives the stored value
        last = order[place]
        visited ^= 1 << last
        order[place - 1] = np.argmin(shortest[visited] + weights[:, last])
    return order


@compiled
def shortest_path(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Order the groups so that the sum of weights between neighbours is least.

    Parameters
    ----------
    weights : (S, S), symmetric; the diagonal is not used

    Returns
    -------
    order : (S,), the groups from one end of the path to the other
    """
    size = weights.shape[0]
    if size <= UNLIMITED_STAGES:
        return held_karp(weights, np.inf)
    known = improved_path(weights)
    if size > EXACT_STAGES:
        return known
    return held_karp(weights, path_length(weights, known) * (1 + NOISE))
