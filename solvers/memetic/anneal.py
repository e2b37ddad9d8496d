"""Simulated annealing by incremental moves: the mutation and first half of the local search."""

from __future__ import annotations

import numpy as np

from solvers.compiled import inner
from solvers.kernel.exchange import do_exchange, try_exchange
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
def anneal(p, spare, rng, record, heat, steps, switches):  # type: ignore[no-untyped-def]
    """Make up to `steps` proposals and cool down; returns the plans costed.

    Parameters
    ----------
    spare
        [L + n] scratch for the plan that a structural move starts from.
    heat
        [temperature, factor per proposal, accepted moves since the last refresh]; changed in place.
    switches
        [share of proposals that start at a bottleneck, share of structural moves].
    """
    result = np.zeros(5)
    costed = 0
    o, q, f = p.o, p.q, p.f
    layers, group = p.layers, p.group
    stages, slots = q[STAGES], q[SLOTS]
    gpus = len(group)
    structural = min(switches[1], 6.0 / slots)
    shifts = 0.0 if stages == 1 else (0.3 if slots < 16 else 0.1)
    for _ in range(steps):
        heat[0] *= heat[1]
        moved = False
        u = uniform(rng)
        if u < structural:
            spare[: len(layers)] = layers
            spare[len(layers) :] = group
            before = f[SCORE]
            if not reshape(p, rng):
                continue
            load(o, q, f, q[R_INDEX], q[B_INDEX], stages)
            costed += 1
            moved = accepted(rng, f[SCORE] - before, heat[0]) or keep(f, record, f)
            if not moved:
                layers[:] = spare[: len(layers)]
                group[:] = spare[len(layers) :]
                load(o, q, f, q[R_INDEX], q[B_INDEX], stages)
        elif u < structural + shifts:
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
            try_exchange(o, q, f, i, j, result)
            costed += 1
            moved = accepted(rng, result[SCORE] - f[SCORE], heat[0]) or keep(f, record, result)
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
