"""Scalarisation of a front: every child gets weights or a cap of its own. Penalties are drawn here as well."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inner
from solvers.kernel.packed import ENERGY_CAP, ENERGY_WEIGHT, PENALTY, SURROGATE, TIME_CAP, TIME_WEIGHT
from solvers.memetic.randomness import below, uniform


@inner
def draw_goal(search):  # type: ignore[no-untyped-def]
    """Draw the next child's penalty and surrogate weight; for a front also weights, or a cap below a point."""
    p, rng, archive = search.p, search.rng, search.archive
    goal = p.goal
    goal[PENALTY] = (2.0, 10.0, 50.0, 300.0)[below(rng, 4)]
    goal[SURROGATE] = search.settings.guide * uniform(rng)
    if archive.held[2] == 0:
        return
    goal[TIME_CAP] = goal[ENERGY_CAP] = np.inf
    count = archive.held[0]
    if count == 0:
        goal[TIME_WEIGHT], goal[ENERGY_WEIGHT] = 1.0, 0.0
        return
    low, high = archive.point[0], archive.point[count - 1]
    u = uniform(rng)
    if count > 1 and u < 0.5:
        i = below(rng, count - 1)
        if u < 0.25:
            goal[TIME_WEIGHT], goal[ENERGY_WEIGHT] = 0.0, 1.0
            goal[TIME_CAP] = archive.point[i + 1, 0] * (1.0 - 1e-9)
        else:
            goal[TIME_WEIGHT], goal[ENERGY_WEIGHT] = 1.0, 0.0
            goal[ENERGY_CAP] = archive.point[i, 1] * (1.0 - 1e-9)
        return
    weight = uniform(rng)
    if u > 0.9:
        weight = float(below(rng, 2))
    goal[TIME_WEIGHT] = weight / max(high[0] - low[0], 1e-9 * high[0])
    goal[ENERGY_WEIGHT] = (1.0 - weight) / max(low[1] - high[1], 1e-9 * low[1])
