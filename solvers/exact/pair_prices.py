"""Prices on GPUs for two pipelines at once: the Lagrangian bound of `prices` on the paths of `pairs`. Import late."""

from __future__ import annotations

import numpy as np

from solvers.compiled import compiled
from solvers.exact.pairs import drop_pairs_above, pair_from_the_end, pair_from_the_start, read_pair
from solvers.exact.prices import PATIENCE, next_prices


@compiled
def tighten_pair(  # type: ignore[no-untyped-def]
    node, hop, stay, move, sync, most_sync, counts, layers, constant, target, price, steps, groups_of, layers_of
):
    """As `solvers.exact.prices.tighten`, for two pipelines that hold the same layers.

    Returns
    -------
    The bound, the number of choices dropped, and the cost without prices of the cheapest pair met that uses
    no group too often, written to `groups_of` [r, s] and `layers_of` [s].
    """
    _, stages, groups, _ = stay.shape
    ending = np.empty((stages, groups, groups, layers + 1))
    onward = np.empty((stages, groups, groups, layers + 1))
    best = -np.inf
    best_price = price.copy()
    best_path = np.inf
    path_groups = np.zeros((2, stages), dtype=np.int64)
    path_layers = np.zeros(stages, dtype=np.int64)
    scale = 1.0
    waited = 0
    for _ in range(steps):
        least = pair_from_the_end(node, price, hop, stay, move, counts, sync, most_sync, ending, onward)
        if least == np.inf:
            return np.inf, 0, best_path
        read_pair(node, price, hop, stay, move, sync, most_sync, ending, onward, path_groups, path_layers)
        excess = -counts.astype(np.float64)
        paid = 0.0
        for r in range(2):
            for s in range(stages):
                excess[path_groups[r, s]] += 1
                paid += price[path_groups[r, s]]
        bound = constant + least - (price * counts).sum()
        if best == -np.inf or bound > best + 1e-9 * abs(best):
            best = bound
            best_price[:] = price
            waited = 0
        else:
            waited += 1
            if waited >= PATIENCE:
                scale /= 2
                waited = 0
        if best > target or scale < 0.05:
            break
        if excess.max() <= 0 and least - paid < best_path:
            best_path = least - paid
            groups_of[:] = path_groups
            layers_of[:] = path_layers
        if not next_prices(price, excess, scale, target, bound):
            break
    price[:] = best_price
    if best > target or target == np.inf:
        return best, 0, best_path
    least = pair_from_the_end(node, price, hop, stay, move, counts, sync, most_sync, ending, onward)
    starting = np.empty((stages, groups, groups, layers + 1))
    arriving = np.empty((stages, groups, groups, layers + 1))
    pair_from_the_start(node, price, hop, stay, move, counts, sync, most_sync, starting, arriving)
    limit = target - constant + (price * counts).sum()
    dropped = drop_pairs_above(
        limit, node, price, hop, stay, move, counts, sync, most_sync, ending, onward, starting, arriving
    )
    return best, dropped, best_path
