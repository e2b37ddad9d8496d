"""Grids raced against each other: a third of them goes on with three times the work, again and again.

Grids are ranked after equal work, or nearly: what one can become shows only after tens of thousands of evaluations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instances.tables import Ints
from solvers.compiled import inner
from solvers.memetic.ordering import order_by
from solvers.memetic.pool import promise_of

MEMBERS, TARGET, FIRST = range(3)
"""Entries of `Race.state`: grids in this round, costed plans each of them shall have had, those of the first round."""
FEWEST = 250
"""Half the plans that each grid costs in the very first round."""
KEPT = 3


class Race(NamedTuple):
    """The best `state[MEMBERS]` grids, in order, run up to `state[TARGET]` plans costed."""

    order: Ints  # [g]
    state: Ints  # [3]


def new_race(niches: int) -> Race:
    """A race whose first round is still to be opened."""
    return Race(np.arange(niches, dtype=np.int64), np.array([1, 0, FEWEST], dtype=np.int64))


@inner
def next_runner(search):  # type: ignore[no-untyped-def]
    """The best grid of the round that has not had its share of work; opens the next round if all have.

    Some grid must be able to hold a better plan than the best.
    """
    pool, order, state = search.pool, search.race.order, search.race.state
    while True:
        for i in range(state[MEMBERS]):
            g = order[i]
            if pool.effort[g] < state[TARGET] and pool.bound[g] < search.record.best[0]:
                return g
        open_round(search)


@inner
def open_round(search):  # type: ignore[no-untyped-def]
    """A third of the grids and three times the work; after the last grid all of them with twice the work of before."""
    p, pool, order, state = search.p, search.pool, search.race.order, search.race.state
    niches = len(pool.grids)
    promise = np.empty(niches)
    for g in range(niches):
        promise[g] = promise_of(p, pool, g, 0.0) if pool.bound[g] < search.record.best[0] else np.inf
    order_by(promise, order, niches)
    if state[MEMBERS] > 1:
        state[MEMBERS] = (state[MEMBERS] + KEPT - 1) // KEPT
        state[TARGET] *= KEPT
    else:
        state[FIRST] *= 2
        state[MEMBERS] = niches
        state[TARGET] = state[FIRST]
