"""Simulated annealing by incremental moves."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inlined, inner
from solvers.kernel.evaluation import u
from solvers.kernel.packed import (
    B_INDEX,
    ENERGY,
    EXCESS,
    GRID,
    NEIGHBOUR,
    R_INDEX,
    REPLICAS,
    SCORE,
    SLOTS,
    STAGES,
    TIME,
    TOP,
)
from solvers.kernel.reevaluation import try_plan
from solvers.kernel.shift_move import do_shift, try_shift
from solvers.kernel.state import load
from solvers.kernel.swap_move import do_swap, exceeds_limit, try_swap
from solvers.memetic.archive import offer, wanted
from solvers.memetic.copying import copy
from solvers.memetic.grid_moves import change_grid
from solvers.memetic.randomness import below, uniform
from solvers.memetic.structural_moves import reshape

REFRESH = 4096
"""Accepted moves after which sums that are updated by differences are recomputed."""
INVALID, REJECTED, ACCEPTED = range(3)
"""Outcomes of a proposal; an invalid one is not evaluated."""


@inner
def pick_slot(o, q, f, rng, focus):  # type: ignore[no-untyped-def]
    """A random slot; with probability `focus` one of the slowest pipeline or the slowest exchange."""
    stages, replicas = q[STAGES], q[REPLICAS]
    draw = uniform(rng)
    if draw >= focus or replicas == 1:
        return below(rng, q[SLOTS])
    # In proportion to their parts of T: the larger part is worth more tries.
    pipeline, exchange = f[o.pipeline + 3 * q[TOP]], f[o.stage + 3 * q[TOP + 3]]
    if draw * (pipeline + exchange) < focus * pipeline:
        return q[TOP] * stages + below(rng, stages)
    return below(rng, replicas) * stages + q[TOP + 3]


@inner
def keep(f, archive, result):  # type: ignore[no-untyped-def]
    """Whether a neighbour with this result would enter the archive."""
    return result[EXCESS] == 0.0 and wanted(f, archive, result[TIME], result[ENERGY])


@inner
def anneal(p, kept, at, rng, archive, schedule, steps, switches):  # type: ignore[no-untyped-def]
    """Make up to `steps` proposals while cooling; returns the number of plans evaluated.

    Parameters
    ----------
    kept
        [L + n] scratch for the plan that a structural move starts from.
    at
        [r, b, S] index of the grid, -1 for one that is not searched.
    schedule
        [temperature, factor per proposal, moves made since the last refresh]; changed in place.
    switches
        [share of swaps that start at a bottleneck, share of structural moves, share of moves to other grids].
    """
    result, grid = p.real[NEIGHBOUR], p.whole[GRID]
    evaluated = 0
    o, q, f = p.o, p.q, p.f
    structural, shifts = shares(q, switches)
    for _ in range(steps):
        schedule[0] *= schedule[1]
        # Metropolis' rule: a plan that is worse by x is accepted with probability exp(-x / temperature).
        limit = f[SCORE] - schedule[0] * np.log(uniform(rng))
        draw = uniform(rng)
        if draw < structural:
            outcome = propose_structure(p, kept, rng, archive, limit, result)
        elif draw < structural + switches[2]:
            outcome = propose_grid(p, kept, at, rng, archive, limit, grid)
            structural, shifts = shares(q, switches)
        elif draw < structural + switches[2] + shifts:
            outcome = propose_shift(o, q, f, rng, archive, limit, result)
        else:
            outcome = propose_swap(o, q, f, rng, archive, limit, result, switches[0])
        if outcome == INVALID:
            continue
        evaluated += 1
        if outcome == ACCEPTED:
            schedule[2] += 1
            if keep(f, archive, f):
                offer(p, archive, q[R_INDEX], q[B_INDEX], q[STAGES], p.layers, p.group)
            if schedule[2] >= REFRESH:
                schedule[2] = 0
                load(o, q, f, q[R_INDEX], q[B_INDEX], q[STAGES])
    return evaluated


@inlined
def shares(q, switches):  # type: ignore[no-untyped-def]
    """Shares of structural moves and of shifts on the current grid."""
    slots = q[SLOTS]
    shifts = 0.0 if q[STAGES] == 1 else (0.3 if slots < 16 else 0.1)
    return min(switches[1], 6.0 / slots), shifts


@inlined
def propose_swap(o, q, f, rng, archive, limit, result, focus):  # type: ignore[no-untyped-def]
    """Swap a used GPU with any other."""
    i = pick_slot(o, q, f, rng, focus)
    j = below(rng, o.gpus)
    if q[u(o.group + i)] == q[u(o.group + j)]:
        return INVALID
    if exceeds_limit(o, q, f, i, j, limit):
        return REJECTED
    try_swap(o, q, f, i, j, result)
    if result[SCORE] > limit and not keep(f, archive, result):
        return REJECTED
    do_swap(o, q, f, i, j)
    return ACCEPTED


@inlined
def propose_shift(o, q, f, rng, archive, limit, result):  # type: ignore[no-untyped-def]
    """Shift a layer, or up to three, from one stage to another."""
    stages = q[STAGES]
    a = below(rng, stages)
    z = (a + 1 + below(rng, stages - 1)) % stages
    size = 1 if uniform(rng) < 0.8 else 1 + below(rng, 3)
    if q[u(o.layers + a)] <= size:
        return INVALID
    try_shift(o, q, f, a, z, size, result)
    if result[SCORE] > limit and not keep(f, archive, result):
        return REJECTED
    do_shift(o, q, f, a, z, size)
    return ACCEPTED


@inlined
def propose_structure(p, kept, rng, archive, limit, result):  # type: ignore[no-untyped-def]
    """Move columns, tails or segments."""
    o, q, f = p.o, p.q, p.f
    save_plan(p, kept)
    if not reshape(p, rng):
        return INVALID
    try_plan(o, q, f, p.group, result)
    if result[SCORE] > limit and not keep(f, archive, result):
        restore_plan(p, kept)
        return REJECTED
    load(o, q, f, q[R_INDEX], q[B_INDEX], q[STAGES])
    return ACCEPTED


@inlined
def propose_grid(p, kept, at, rng, archive, limit, grid):  # type: ignore[no-untyped-def]
    """Add or drop a stage, or change the micro-batch."""
    o, q, f = p.o, p.q, p.f
    r_index, b, stages = q[R_INDEX], q[B_INDEX], q[STAGES]
    save_plan(p, kept)
    if not change_grid(p, rng, at, grid):
        return INVALID
    load(o, q, f, grid[0], grid[1], grid[2])
    if f[SCORE] > limit and not keep(f, archive, f):
        restore_plan(p, kept)
        load(o, q, f, r_index, b, stages)
        return REJECTED
    return ACCEPTED


@inner
def save_plan(p, kept):  # type: ignore[no-untyped-def]
    """Save split and placement."""
    total, gpus = p.o.total, p.o.gpus
    copy(p.layers, 0, kept, 0, total)
    copy(p.group, 0, kept, total, gpus)


@inner
def restore_plan(p, kept):  # type: ignore[no-untyped-def]
    """Restore the saved split and placement."""
    total, gpus = p.o.total, p.o.gpus
    copy(kept, 0, p.layers, 0, total)
    copy(kept, total, p.group, 0, gpus)
