"""Open-loop travelling-salesman path: the order in which the groups of a partition become stages.

Up to `EXACT_STAGES` groups the path is exact: a good one is, if it meets a lower bound, else Held and Karp (1962) find
it. Beyond that it is a good one: nearest neighbour
from every start, of which the `IMPROVED_STARTS` shortest are improved until no reversal of a segment (2-opt) and no
move of a short one (or-opt) helps. Weights are symmetric.
"""

import numpy as np
from numpy.typing import NDArray

from solvers.core.compiled import compiled

EXACT_STAGES = 16
UNLIMITED_STAGES = 9  # up to here a known path costs more time than it saves
IMPROVED_STARTS = 8
BOUND_STEPS = 100  # a hundredth of the time of an exact path
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


@compiled
def spanning_bound(weights: NDArray[np.float64], enough: float) -> float:
    """Return a lower bound on the length of a path through all groups; the search for a better one ends at `enough`.

    With a penalty added to the edges at each group, a path is a spanning tree that weighs its length, plus twice all
    penalties, less those of its two ends (Held and Karp 1970). So the lightest such tree, less twice all penalties,
    plus the two least, is a bound whatever the penalties are; they follow a subgradient.
    """
    size = weights.shape[0]
    penalty, key, degree = np.zeros(size), np.empty(size), np.empty(size)
    parent, inside = np.zeros(size, np.int64), np.empty(size, np.bool_)
    best, pace = -np.inf, 1.0
    for _ in range(BOUND_STEPS):
        tree, new = 0.0, 0
        key[:], inside[:], degree[:] = np.inf, False, 0.0
        for _ in range(size - 1):
            inside[new] = True
            nearest = -1
            for other in range(size):
                if inside[other]:
                    continue
                weight = weights[new, other] + penalty[new] + penalty[other]
                if weight < key[other]:
                    key[other], parent[other] = weight, new
                if nearest < 0 or key[other] < key[nearest]:
                    nearest = other
            tree += key[nearest]
            degree[nearest] += 1
            degree[parent[nearest]] += 1
            new = nearest
        ends = np.argsort(penalty)[:2]
        rounding = 1e-14 * (abs(tree) + 2 * np.abs(penalty).sum())
        bound = tree - 2 * penalty.sum() + penalty[ends].sum() - rounding
        if bound > best:
            best = bound
        else:
            pace *= 0.9
        degree -= 2
        degree[ends] += 1
        square = (degree * degree).sum()
        if best >= enough or square == 0:
            break
        penalty += pace * (enough - bound) / square * degree
    return best


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
def allowed_lengths(weights: NDArray[np.float64], limit: float) -> NDArray[np.float64]:
    """Return for each set of visited groups how long a path over them may be so that a whole one is within `limit`.

    What is still to come is at least half of the two lightest edges at each group to come, but for one edge at the far
    end, and of the lightest at the last one, which the caller adds.
    """
    size = weights.shape[0]
    lightest = two_lightest(weights)
    allowed = np.empty(1 << size)
    for visited in range(1 << size):
        to_come, largest = 0.0, 0.0
        for group in range(size):
            if not visited >> group & 1:
                to_come += lightest[group, 0] + lightest[group, 1]
                largest = max(largest, lightest[group, 1])
        allowed[visited] = limit - (to_come - largest) / 2
    return allowed


@compiled
def shortest_halves(weights: NDArray[np.float64], counts: NDArray[np.int64], limit: float) -> NDArray[np.float64]:
    """Return [visited, last]: the shortest path over exactly these groups, up to half of all; infinite if hopeless."""
    size = weights.shape[0]
    nearest = two_lightest(weights)[:, 0]
    allowed = allowed_lengths(weights, limit)
    shortest = np.full((1 << size, size), np.inf)
    for start in range(size):
        shortest[1 << start, start] = 0.0
    for visited in range(1, 1 << size):
        if counts[visited] >= (size + 1) // 2:
            continue
        for last in range(size):
            so_far = shortest[visited, last]
            if so_far + nearest[last] / 2 > allowed[visited] or so_far == np.inf:
                continue
            for new in range(size):
                if not visited >> new & 1:
                    extended = visited | 1 << new
                    shortest[extended, new] = min(shortest[extended, new], so_far + weights[last, new])
    return shortest


@compiled
def retrace(weights: NDArray[np.float64], shortest: NDArray[np.float64], visited: int, last: int) -> NDArray[np.int64]:
    """Return the path of length shortest[visited, last], from its last group back to its first."""
    order = np.empty(weights.shape[0], np.int64)
    order[0] = last
    size = 1
    visited ^= 1 << last
    while visited:  # the predecessor is the one that gives the stored value
        last = int(np.argmin(shortest[visited] + weights[:, last]))
        visited ^= 1 << last
        order[size] = last
        size += 1
    return order[:size]


@compiled
def held_karp(weights: NDArray[np.float64], limit: float) -> NDArray[np.int64]:
    """Return a shortest path through all groups, or no group if every path is longer than `limit`.

    Both halves of a path are shortest paths over their groups; O(S^2 2^S) time, O(S 2^S) memory.
    """
    size = weights.shape[0]
    if size == 1:
        return np.zeros(1, np.int64)
    full = (1 << size) - 1
    counts = np.zeros(full + 1, np.int64)
    for visited in range(1, full + 1):
        counts[visited] = counts[visited >> 1] + (visited & 1)
    shortest = shortest_halves(weights, counts, limit)
    least, half, left, right = np.inf, 0, 0, 0
    for found in np.flatnonzero(counts == size // 2):
        visited = int(found)
        for last in range(size):
            if shortest[visited, last] == np.inf:
                continue
            for other in range(size):
                length = shortest[visited, last] + weights[last, other] + shortest[full ^ visited, other]
                if length < least:
                    least, half, left, right = length, visited, last, other
    if least > limit:
        return np.empty(0, np.int64)
    begin = retrace(weights, shortest, half, left)[::-1]
    return np.concatenate((begin, retrace(weights, shortest, full ^ half, right)))


@compiled
def shortest_path(weights: NDArray[np.float64], limit: float) -> NDArray[np.int64]:
    """Order the groups so that the sum of weights between neighbours is least.

    Parameters
    ----------
    weights : (S, S), symmetric; the diagonal is not used
    limit : paths longer than this are of no use; infinite if all are

    Returns
    -------
    order : (S,), the groups from one end of the path to the other, or (0,) if no path is found within the limit
    """
    size = weights.shape[0]
    if size <= UNLIMITED_STAGES:
        return held_karp(weights, limit)
    known = improved_path(weights)
    length = path_length(weights, known)
    if size > EXACT_STAGES:
        return known if length <= limit else known[:0]
    target = min(limit, length)
    bound = spanning_bound(weights, target * (1 - NOISE))
    if bound >= length * (1 - NOISE):
        return known if length <= limit else known[:0]
    if bound > limit * (1 + NOISE):
        return known[:0]
    return held_karp(weights, target * (1 + NOISE))
