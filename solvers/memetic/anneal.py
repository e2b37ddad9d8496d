"""Simulated annealing by incremental moves: the mutation and first half of the local search."""

from __future__ import annotations

import numpy as np

from solvers.compiled import inner
from solvers.kernel.exchange import do_exchange, hopeless, try_exchange
from solvers.kernel.other_plan import try_plan
from solvers.kernel.packed import (
    B_INDEX,
    ENERGY,
    EXCESS,
    R_INDEX,
    REPLICAS,
    SCORE,
    SLOTS,
    STAGES,
    TIME,
    TOP,
)
from solvers.kernel.shift import do_shift, try_shift
from solvers.kernel.state import load
from solvers.memetic.randomness import below, uniform
from solvers.memetic.record import offer, wanted
from solvers.memetic.regrid import regrid
from solvers.memetic.reshape import reshape

REFRESH = 4096
"""Accepted moves until sums kept by differences are made anew."""


@inner
def pick_slot(o, q, f, rng, focus):  # type: ignore[no-untyped-def]
    """A random slot; with probability `focus` one of the slowest pipeline or the slowest exchange."""
    stages, replicas = q[STAGES], q[REPLICAS]
    u = uniform(rng)
    if u >= focus or replicas == 1:
        return below(rng, q[SLOTS])
    # In proportion to their parts of T: what weighs more is worth more tries.
    pipeline, exchange = f[o.pipeline + 3 * q[TOP]], f[o.stage + 3 * q[TOP + 3]]
    if u * (pipeline + exchange) < focus * pipeline:
        return q[TOP] * stages + below(rng, stages)
    return below(rng, replicas) * stages + q[TOP + 3]


@inner
def keep(f, record, result):  # type: ignore[no-untyped-def]
    """Whether a neighbour with this result improves on the record."""
    return result[EXCESS] == 0.0 and wanted(f, record, result[TIME], result[ENERGY])


@inner
def anneal(p, kept, at, rng, record, heat, steps, switches):  # type: ignore[no-untyped-def]
    """Make up to `steps` proposals and cool down; returns the plans costed.

    Parameters
    ----------
    kept
        Scratch for the plan that a structural move starts from.
    at
        [r, b, S] which grid it is, -1 for one that is not searched.
    heat
        [temperature, factor per proposal, accepted moves since the last refresh]; changed in place.
    switches
        [share of exchanges that start at a bottleneck, share of structural moves, share of moves to other grids].
    """
    result = np.zeros(5)
    costed = 0
    o, q, f = p.o, p.q, p.f
    layers, group = p.layers, p.group
    stages, slots = q[STAGES], q[SLOTS]
    gpus = len(group)
    structural = min(switches[1], 6.0 / slots)
    shifts = 0.0 if stages == 1 else (0.3 if slots < 16 else 0.1)
    grid = np.empty(3, dtype=np.int64)
    for _ in range(steps):
        heat[0] *= heat[1]
        moved = False
        u = uniform(rng)
        if u < structural + switches[2]:
            kept[: len(layers)] = layers
            kept[len(layers) :] = group
            if u < structural:
                if not reshape(p, rng):
                    continue
                try_plan(o, q, f, group, result)
                costed += 1
                moved = accepted(rng, result[SCORE] - f[SCORE], heat[0]) or keep(f, record, result)
                if not moved:
                    layers[:] = kept[: len(layers)]
                    group[:] = kept[len(layers) :]
                else:
                    load(o, q, f, q[R_INDEX], q[B_INDEX], stages)
            else:
                r_index, b, before = q[R_INDEX], q[B_INDEX], f[SCORE]
                if not regrid(p, rng, at, grid):
                    continue
                load(o, q, f, grid[0], grid[1], grid[2])
                costed += 1
                moved = accepted(rng, f[SCORE] - before, heat[0]) or keep(f, record, f)
                if not moved:
                    layers[:] = kept[: len(layers)]
                    group[:] = kept[len(layers) :]
                    load(o, q, f, r_index, b, stages)
                stages, slots = q[STAGES], q[SLOTS]
                structural = min(switches[1], 6.0 / slots)
                shifts = 0.0 if stages == 1 else (0.3 if slots < 16 else 0.1)
        elif u < structural + switches[2] + shifts:
            a = below(rng, stages)
            z = (a + 1 + below(rng, stages - 1)) % stages
            size = 1 if uniform(rng) < 0.8 else 1 + below(rng, 3)
            if layers[a] <= size:
                continue
            try_shift(o, q, f, a, z, size, result)
            costed += 1
            moved = accepted(rng, result[SCORE] - f[SCORE], heat[0]) or keep(f, record, result)
            if moved:
                do_shift(o, q, f, a, z, size)
                heat[2] += 1
        else:
            i = pick_slot(o, q, f, rng, switches[0])
            j = below(rng, gpus)
            if group[i] == group[j]:
                continue
            costed += 1
            limit = f[SCORE] - heat[0] * np.log(uniform(rng))
            if hopeless(o, q, f, i, j, limit):
                continue
            try_exchange(o, q, f, i, j, result)
            moved = result[SCORE] <= limit or keep(f, record, result)
            if moved:
                do_exchange(o, q, f, i, j)
                heat[2] += 1
        if moved and keep(f, record, f):
            offer(p, record, q[R_INDEX], q[B_INDEX], stages, layers, group)
        if heat[2] >= REFRESH:
            heat[2] = 0
            load(o, q, f, q[R_INDEX], q[B_INDEX], stages)
    return costed


@inner
def accepted(rng, worse, temperature):  # type: ignore[no-untyped-def]
    """Metropolis' rule."""
    return worse <= 0.0 or uniform(rng) < np.exp(-worse / temperature)
