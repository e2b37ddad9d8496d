"""Prices on GPUs that make the path relaxation respect how many there are (a Lagrangian bound). Import late: numba."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import compiled
from solvers.exact.shortest_paths import drop_above, from_the_end, from_the_start, read_path

PATIENCE = 4
"""Steps without a better bound before the step is halved."""


@compiled
def next_prices(price, excess, scale, target, bound):  # type: ignore[no-untyped-def]
    """One step after Polyak: dearer where GPUs are used too often; False if there is nothing to change."""
    square = 0.0
    for k in range(len(price)):
        if excess[k] < 0 and price[k] <= 0:
            excess[k] = 0.0
        square += excess[k] ** 2
    if square == 0:
        return False
    # Without a target the next best thing is to hope for a little more than there is.
    gap = target - bound if target < np.inf else 0.05 * abs(bound)
    step = scale * max(gap, 1e-4 * abs(bound)) / square
    for k in range(len(price)):
        price[k] = max(0.0, price[k] + step * excess[k])
    return True


@compiled
def tighten(  # type: ignore[no-untyped-def]
    node, hop, stay, move, like_before, counts, layers, constant, target, price, steps, groups_of, layers_of
):
    """Raise the bound by pricing scarce GPUs, then forbid what no plan below `target` can use.

    Each pipeline (first index of `stay` and `move`) costs at least its cheapest path with prices; what is
    paid for the `counts` GPUs of each group comes back. Subgradient steps after Polyak; `price` is replaced
    by the best prices found, and `stay` and `move` lose what is ruled out. `like_before[r]` says that
    pipeline r may choose the same as the one before.

    Returns
    -------
    The bound (infinite if there is no path), the number of choices dropped, and the cost without prices of
    the cheapest traced path of a single pipeline that uses no group too often, written to `groups_of` and
    `layers_of`.
    """
    pipelines, stages, groups, _ = stay.shape
    ending = np.empty((stages, groups, layers + 1))
    onward = np.empty((stages, groups, layers + 1))
    best = -np.inf
    best_price = price.copy()
    best_path = np.inf
    path_groups = np.zeros(stages, dtype=np.int64)
    path_layers = np.zeros(stages, dtype=np.int64)
    least = np.zeros(pipelines)
    scale = 1.0
    waited = 0
    for _ in range(steps):
        excess = -counts.astype(np.float64)
        for r in range(pipelines):
            if like_before[r]:
                least[r] = least[r - 1]
            else:
                least[r] = from_the_end(node, price, hop, stay[r], move[r], ending, onward)
                if least[r] == np.inf:
                    return np.inf, 0, best_path
                read_path(node, price, hop, stay[r], move[r], ending, onward, path_groups, path_layers)
            for s in range(stages):
                excess[path_groups[s]] += 1
        bound = constant + least.sum() - (price * counts).sum()
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
        if pipelines == 1 and excess.max() <= 0:
            cost = least[0]
            for s in range(stages):
                cost -= price[path_groups[s]]
            if cost < best_path:
                best_path = cost
                groups_of[:] = path_groups
                layers_of[:] = path_layers
        if not next_prices(price, excess, scale, target, bound):
            break
    price[:] = best_price
    if best > target or target == np.inf:
        return best, 0, best_path
    return best, _drop(node, hop, stay, move, counts, layers, target - constant, price, ending, onward), best_path


@compiled
def _drop(node, hop, stay, move, counts, layers, limit, price, ending, onward):  # type: ignore[no-untyped-def]
    """Forbid every choice with which the pipelines would cost more than `limit` at these prices."""
    pipelines, stages, groups, _ = stay.shape
    starting = np.empty((stages, groups, layers + 1))
    arriving = np.empty((stages, groups, layers + 1))
    least = np.zeros(pipelines)
    for r in range(pipelines):
        least[r] = from_the_end(node, price, hop, stay[r], move[r], ending, onward)
    room = limit + (price * counts).sum() - least.sum()
    dropped = 0
    for r in range(pipelines):
        if r > 0 or pipelines > 1:
            from_the_end(node, price, hop, stay[r], move[r], ending, onward)
        from_the_start(node, price, hop, stay[r], move[r], starting, arriving)
        dropped += drop_above(room + least[r], node, price, hop, stay[r], move[r], ending, onward, starting, arriving)
    return dropped
