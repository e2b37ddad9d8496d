"""Selection of the grid to work on next."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inner
from solvers.memetic.ordering import order_by
from solvers.memetic.population import promise_of
from solvers.memetic.randomness import below, uniform


@inner
def choose_niche(search):  # type: ignore[no-untyped-def]
    """Draw a grid by rank of promise: every grid keeps a chance unless its bound excludes a better plan.

    With a single goal, grids that stagnate fall behind; for a front the goal changes with every child.
    """
    p, population, archive, rng, settings = search.p, search.population, search.archive, search.rng, search.settings
    niches = len(population.grids)
    single = archive.held[2] == 0
    promise, order = population.promise, population.order
    open_niches = 0
    for g in range(niches):
        promise[g] = promise_of(p, population, g)
        if single:
            promise[g] *= 1.0 + settings.stagnation * population.stale[g]
        if population.bound[g] >= archive.best[0]:
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
    """A random grid one step from g in replicas, depth or micro-batch, or two in the first two; g if there is none."""
    population, archive, rng = search.population, search.archive, search.rng
    grids = population.grids
    chosen, found = g, 0
    for other in range(len(grids)):
        steps = abs(grids[g, 0] - grids[other, 0]) + abs(grids[g, 1] - grids[other, 1])
        steps += abs(grids[g, 2] - grids[other, 2])
        if population.bound[other] >= archive.best[0]:
            continue
        if steps == 1 or (steps == 2 and grids[g, 1] == grids[other, 1]):
            found += 1
            if below(rng, found) == 0:
                chosen = other
    return chosen
