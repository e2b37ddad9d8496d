"""Simulated annealing by incremental moves: the mutation and first half of the local search."""

from __future__ import annotations

import numpy as np

from solvers.compiled import compiled
from solvers.kernel.moves import do_exchange, do_shift, try_exchange, try_shift
from solvers.kernel.state import B_INDEX, ENERGY, EXCESS, R_INDEX, REPLICAS, SCORE, SLOTS, STAGES, TIME, load
from solvers.memetic.randomness import below, uniform
from solvers.memetic.record import offer, wanted
from solvers.memetic.reshape import reshape

REFRESH = 4096
"""Accepted moves until sums kept by differences are made anew."""


@compiled
def copy_plan(source, target):  # type: ignore[no-untyped-def]
    """Copy split and placement."""
    target.layers[:] = source.layers
    target.group[:] = source.group


@compiled
def pick_slot(rng, st, focus):  # type: ignore[no-untyped-def]
    """A random slot; with probability `focus` one of the slowest pipeline or the slowest exchange."""
    stages, replicas = st.shape[STAGES], st.shape[REPLICAS]
    u = uniform(rng)
    if u >= focus or replicas == 1:
        return below(rng, st.shape[SLOTS])
    # In proportion to their parts of T: what weighs more is worth more tries.
    pipeline, exchange = st.pipeline[st.top[0], 0], st.stage[st.top[3], 0]
    if u * (pipeline + exchange) < focus * pipeline:
        return st.top[0] * stages + below(rng, stages)
    return below(rng, replicas) * stages + st.top[3]


@compiled
def keep(p, record, result):  # type: ignore[no-untyped-def]
    """Whether a neighbour with this result improves on the record."""
    return result[EXCESS] == 0.0 and wanted(p, record, result[TIME], result[ENERGY])


@compiled
def anneal(p, st, spare, rng, record, heat, steps, switches):  # type: ignore[no-untyped-def]
    """Make up to `steps` proposals and cool down; returns the plans costed.

    Parameters
    ----------
    heat
        [temperature, factor per proposal, accepted moves since the last refresh]; changed in place.
    switches
        [share of proposals that start at a bottleneck, share of structural moves].
    """
    result = np.zeros(5)
    costed = 0
    stages, slots = st.shape[STAGES], st.shape[SLOTS]
    gpus = len(st.group)
    structural = min(switches[1], 6.0 / slots)
    shifts = 0.0 if stages == 1 else (0.3 if slots < 16 else 0.1)
    for _ in range(steps):
        heat[0] *= heat[1]
        moved = False
        u = uniform(rng)
        if u < structural:
            copy_plan(st, spare)
            before = st.result[SCORE]
            if not reshape(rng, st):
                continue
            load(p, st, st.shape[R_INDEX], st.shape[B_INDEX], stages)
            costed += 1
            moved = accepted(rng, st.result[SCORE] - before, heat[0]) or keep(p, record, st.result)
            if not moved:
                copy_plan(spare, st)
                load(p, st, st.shape[R_INDEX], st.shape[B_INDEX], stages)
        elif u < structural + shifts:
            a = below(rng, stages)
            z = (a + 1 + below(rng, stages - 1)) % stages
            size = 1 if uniform(rng) < 0.8 else 1 + below(rng, 3)
            if st.layers[a] <= size:
                continue
            try_shift(p, st, a, z, size, result)
            costed += 1
            moved = accepted(rng, result[SCORE] - st.result[SCORE], heat[0]) or keep(p, record, result)
            if moved:
                do_shift(p, st, a, z, size)
                heat[2] += 1
        else:
            i = pick_slot(rng, st, switches[0])
            j = below(rng, gpus)
            if st.group[i] == st.group[j]:
                continue
            try_exchange(p, st, i, j, result)
            costed += 1
            moved = accepted(rng, result[SCORE] - st.result[SCORE], heat[0]) or keep(p, record, result)
            if moved:
                do_exchange(p, st, i, j)
                heat[2] += 1
        if moved and keep(p, record, st.result):
            offer(p, record, st.shape[R_INDEX], st.shape[B_INDEX], stages, st.layers, st.group)
        if heat[2] >= REFRESH:
            heat[2] = 0
            load(p, st, st.shape[R_INDEX], st.shape[B_INDEX], stages)
    return costed


@compiled
def accepted(rng, worse, temperature):  # type: ignore[no-untyped-def]
    """Metropolis' rule."""
    return worse <= 0.0 or uniform(rng) < np.exp(-worse / temperature)
