"""A good open path through many groups: nearest neighbour, then segments reversed and moved.

The nearest-neighbour path is built from every start; the `IMPROVED_STARTS` shortest of these are improved
until no reversal (2-opt) and no move of a short segment (or-opt) helps. Weights are symmetric.
"""

import numpy as np
from numpy.typing import NDArray

from solvers.core.compiled import compiled

IMPROVED_STARTS = 8
LONGEST_MOVE = 3  # stages in a segment that moves as a whole
NOISE = 1e-12  # relative; smaller improvements are rounding and could cycle


@compiled
def path_length(weights: NDArray[np.float64], order: NDArray[np.int64]) -> float:
    """Return the sum of the weights between neighbours of `order`."""
    length = 0.0
    for place in range(order.size - 1):
        length += weights[order[place], order[place + 1]]
    return length


@compiled
def nearest_neighbour(weights: NDArray[np.float64], start: int) -> NDArray[np.int64]:
    """Return the path that always goes on to the nearest group not yet visited."""
    size = weights.shape[0]
    order = np.arange(size)
    order[0], order[start] = start, 0
    for place in range(1, size):
        nearest = place
        for other in range(place + 1, size):
            if weights[order[place - 1], order[other]] < weights[order[place - 1], order[nearest]]:
                nearest = other
        order[place], order[nearest] = order[nearest], order[place]
    return order


@compiled
def joint(weights: NDArray[np.float64], order: NDArray[np.int64], left: int, right: int) -> float:
    """Return the weight between two places of `order`, 0 where one lies beyond an end of the path."""
    if left < 0 or right >= order.size:
        return 0.0
    return float(weights[order[left], order[right]])


@compiled
def improve_once(weights: NDArray[np.float64], order: NDArray[np.int64], noise: float) -> bool:
    """Reverse or move the first segment [i, j] for which that shortens the path, in place."""
    size = order.size
    for i in range(size):
        for j in range(i, size):
            old_ends = joint(weights, order, i - 1, i) + joint(weights, order, j, j + 1)
            if joint(weights, order, i - 1, j) + joint(weights, order, i, j + 1) < old_ends - noise:
                order[i : j + 1] = order[i : j + 1][::-1].copy()
                return True
            if j - i >= LONGEST_MOVE:
                continue
            closed = 0.0 if i == 0 or j == size - 1 else weights[order[i - 1], order[j + 1]]
            saved = old_ends - closed
            for k in range(-1, size):  # the segment goes between places k and k + 1
                if i - 1 <= k <= j:
                    continue
                opened = 0.0 if k == -1 or k == size - 1 else weights[order[k], order[k + 1]]
                if joint(weights, order, k, i) + joint(weights, order, j, k + 1) - opened < saved - noise:
                    segment = order[i : j + 1].copy()
                    if k < i:
                        order[k + 1 + segment.size : j + 1] = order[k + 1 : i].copy()
                        order[k + 1 : k + 1 + segment.size] = segment
                    else:
                        order[i : k + 1 - segment.size] = order[j + 1 : k + 1].copy()
                        order[k + 1 - segment.size : k + 1] = segment
                    return True
    return False


@compiled
def improved_path(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a good path through many groups."""
    size = weights.shape[0]
    lengths = np.empty(size)
    for start in range(size):
        lengths[start] = path_length(weights, nearest_neighbour(weights, start))
    starts = np.argsort(lengths, kind="mergesort")[:IMPROVED_STARTS]
    noise = NOISE * lengths[starts[0]]
    best = nearest_neighbour(weights, starts[0])
    for start in starts:
        order = nearest_neighbour(weights, start)
        while improve_once(weights, order, noise):
            pass
        if path_length(weights, order) < path_length(weights, best):
            best = order
    return best
