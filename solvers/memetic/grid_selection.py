"""Which grid to work on next."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inner
from solvers.memetic.ordering import order_by
from solvers.memetic.population import promise_of
from solvers.memetic.randomness import below, uniform


@inner
def choose_niche(search):  # type: ignore[no-untyped-def]
    """A grid by rank of promise, so that none is forgotten but those that cannot hold a better plan.

    For one goal, grids whose best plan has not changed for long fall behind; for a front the goal changes all the time.
    """
    p, pool, archive, rng, settings = search.p, search.pool, search.archive, search.rng, search.settings
    niches = len(pool.grids)
    single = archive.held[2] == 0
    promise, order = pool.promise, pool.order
    open_niches = 0
    for g in range(niches):
        promise[g] = promise_of(p, pool, g)
        if single:
            promise[g] *= 1.0 + settings.stagnation * pool.stale[g]
        if pool.bound[g] >= archive.best[0]:
            promise[g] = np.inf
        else:
            open_niches += 1
    power = 1.0 - settings.greed if single else 0.0
    u = uniform(rng)
    if power == 0.0:
        rank = int(np.exp(u * np.log(open_niches + 1.0))) - 1
    else:
        rank = int((1.0 - u + u * (open_niches + 1.0) ** power) ** (1.0 / power)) - 1
    order_by(promise, order, niches)
    return order[max(0, min(rank, open_niches - 1))]


@inner
def choose_neighbour(search, g):  # type: ignore[no-untyped-def]
    """A random grid a step from g in replicas, depth or micro-batch, or two but for the latter; g if there is none."""
    pool, archive, rng = search.pool, search.archive, search.rng
    grids = pool.grids
    chosen, found = g, 0
    for other in range(len(grids)):
        steps = abs(grids[g, 0] - grids[other, 0]) + abs(grids[g, 1] - grids[other, 1])
        steps += abs(grids[g, 2] - grids[other, 2])
        if pool.bound[other] >= archive.best[0]:
            continue
        if steps == 1 or (steps == 2 and grids[g, 1] == grids[other, 1]):
            found += 1
            if below(rng, found) == 0:
                chosen = other
    return chosen
