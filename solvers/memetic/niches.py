"""Which grid to work on next."""

from __future__ import annotations

import numpy as np

from solvers.compiled import inner
from solvers.memetic.ordering import order_by
from solvers.memetic.pool import promise_of
from solvers.memetic.randomness import below, uniform


@inner
def choose_niche(search):  # type: ignore[no-untyped-def]
    """A grid by rank of promise: the k-th best with a chance of about 1/k, so that none is forgotten."""
    p, pool, rng = search.p, search.pool, search.rng
    niches = len(pool.grids)
    promise = np.empty(niches)
    for g in range(niches):
        promise[g] = promise_of(p, pool, g, search.settings.optimism)
    rank = int(np.exp(uniform(rng) * np.log(niches + 1.0))) - 1
    order = np.empty(niches, dtype=np.int64)
    order_by(promise, order, niches)
    return order[min(rank, niches - 1)]


@inner
def choose_neighbour(search, g):  # type: ignore[no-untyped-def]
    """A random grid one step from g in replicas, depth or micro-batch; g itself if there is none."""
    grids, rng = search.pool.grids, search.rng
    chosen, found = g, 0
    for other in range(len(grids)):
        steps = abs(grids[g, 0] - grids[other, 0]) + abs(grids[g, 1] - grids[other, 1])
        steps += abs(grids[g, 2] - grids[other, 2])
        if steps == 1 or (steps == 2 and grids[g, 1] == grids[other, 1]):
            found += 1
            if below(rng, found) == 0:
                chosen = other
    return chosen
