"""Prices on GPUs that make the path relaxation respect how many there are (a Lagrangian bound). Import late: numba."""

from __future__ import annotations

import numpy as np

from solvers.compiled import compiled
from solvers.exact.paths import drop_above, from_the_end, from_the_start, read_path

PATIENCE = 4
"""Steps without a better bound before the step is halved."""


@compiled
def tighten(node, hop, stay, move, counts, layers, pipelines, constant, target, price, steps, groups_of, layers_of):  # type: ignore[no-untyped-def]
    """Raise the bound by pricing scarce GPUs, then forbid what no plan below `target` can use.

    Each of `pipelines` costs at least the cheapest path with prices; what is paid for the `counts` GPUs of
    each group comes back. Subgradient steps after Polyak; `price` is replaced by the best prices found, and
    `stay` and `move` lose what is ruled out.

    Returns
    -------
    The bound (infinite if there is no path), the number of choices dropped, and the cost without prices of
    the cheapest traced path that uses no group too often, written to `groups_of` and `layers_of`.
    """
    stages, groups, _ = stay.shape
    ending = np.empty((stages, groups, layers + 1))
    onward = np.empty((stages, groups, layers + 1))
    best = -np.inf
    best_price = price.copy()
    best_path = np.inf
    path_groups = np.zeros(stages, dtype=np.int64)
    path_layers = np.zeros(stages, dtype=np.int64)
    scale = 1.0
    waited = 0
    least = 0.0
    for _ in range(steps):
        least = from_the_end(node, price, hop, stay, move, ending, onward)
        if least == np.inf:
            return np.inf, 0, best_path
        paid = 0.0
        for k in range(groups):
            paid += price[k] * counts[k]
        bound = constant + pipelines * least - paid
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
        read_path(node, price, hop, stay, move, ending, onward, path_groups, path_layers)
        excess = -counts.astype(np.float64)
        for s in range(stages):
            excess[path_groups[s]] += pipelines
        if excess.max() <= 0:
            cost = least
            for s in range(stages):
                cost -= price[path_groups[s]]
            if cost < best_path:
                best_path = cost
                groups_of[:] = path_groups
                layers_of[:] = path_layers
        square = 0.0
        for k in range(groups):
            if excess[k] < 0 and price[k] <= 0:
                excess[k] = 0.0
            square += excess[k] ** 2
        if square == 0:
            break
        # Without a target the next best thing is to hope for a little more than there is.
        gap = target - bound if target < np.inf else 0.05 * abs(bound)
        step = scale * max(gap, 1e-4 * abs(bound)) / square
        for k in range(groups):
            price[k] = max(0.0, price[k] + step * excess[k])
    price[:] = best_price
    dropped = 0
    if best <= target and target < np.inf:
        starting = np.empty((stages, groups, layers + 1))
        arriving = np.empty((stages, groups, layers + 1))
        least = from_the_end(node, price, hop, stay, move, ending, onward)
        from_the_start(node, price, hop, stay, move, starting, arriving)
        paid = 0.0
        for k in range(groups):
            paid += price[k] * counts[k]
        limit = target - constant + paid - (pipelines - 1) * least
        dropped = drop_above(limit, node, price, hop, stay, move, ending, onward, starting, arriving)
    return best, dropped, best_path
