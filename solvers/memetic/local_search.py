"""Local search by swaps and shifts, restricted to the bottlenecks where only they can improve the goal."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inner
from solvers.kernel.packed import (
    B_INDEX,
    ENERGY_WEIGHT,
    EXCESS,
    GOAL,
    NEIGHBOUR,
    R_INDEX,
    REPLICAS,
    SCORE,
    SLOTS,
    STAGES,
    TOP,
)
from solvers.kernel.shift_move import do_shift, try_shift
from solvers.kernel.swap_move import do_swap, exceeds_limit, try_swap
from solvers.memetic.annealing import keep
from solvers.memetic.archive import offer
from solvers.memetic.randomness import below

LOOKS = 4_000_000
"""Pairs that a pass looks at, all of 2,000 GPUs: those of one group cost time and are no plan to count."""


@inner
def local_search(p, rng, archive, limit):  # type: ignore[no-untyped-def]
    """First-improvement passes until a local optimum or `limit` evaluations; returns the number of plans evaluated."""
    evaluated = 0
    improved = True
    while improved and evaluated < limit:
        first, improved_first = shift_pass(p, archive, limit - evaluated)
        second, improved_second = swap_pass(p, rng, archive, limit - evaluated - first)
        evaluated += first + second
        improved = improved_first or improved_second
    return evaluated


@inner
def shift_pass(p, archive, limit):  # type: ignore[no-untyped-def]
    """Try every shift of one layer and make those that improve; returns evaluations, and whether one improved."""
    o, q, f, result = p.o, p.q, p.f, p.real[NEIGHBOUR]
    one = np.int64(1)  # numba would compile the moves again for a literal
    evaluated = 0
    improved = False
    for a in range(q[STAGES]):
        for z in range(q[STAGES]):
            if a == z or p.layers[a] < 2 or evaluated >= limit:
                continue
            try_shift(o, q, f, a, z, one, result)
            evaluated += 1
            if better(result, f) or keep(f, archive, result):
                do_shift(o, q, f, a, z, one)
                improved = True
                note(p, archive)
    return evaluated, improved


@inner
def swap_pass(p, rng, archive, limit):  # type: ignore[no-untyped-def]
    """Try swaps of every used slot (for pure time, of those at a bottleneck) and make those that improve.

    Returns the number of plans evaluated, and whether one improved.
    """
    o, q, f, result = p.o, p.q, p.f, p.real[NEIGHBOUR]
    group, slots = p.group, q[SLOTS]
    focused = f[GOAL + ENERGY_WEIGHT] == 0.0 and q[REPLICAS] > 1
    evaluated = looks = 0
    improved = False
    start = below(rng, slots)
    for step in range(slots):
        if evaluated >= limit or looks >= LOOKS:
            break
        i = (start + step) % slots
        everywhere = not focused or f[EXCESS] > 0.0
        if not everywhere and not at_bottleneck(q, i):
            continue
        # Each pair of used slots once; from a bottleneck all partners count.
        for j in range(i + 1 if everywhere else 0, o.gpus):
            if evaluated >= limit:
                break
            looks += 1
            if group[i] == group[j]:
                continue
            evaluated += 1
            if exceeds_limit(o, q, f, i, j, f[SCORE]):
                continue
            try_swap(o, q, f, i, j, result)
            if better(result, f) or keep(f, archive, result):
                do_swap(o, q, f, i, j)
                improved = True
                note(p, archive)
    return evaluated, improved


@inner
def better(result, now):  # type: ignore[no-untyped-def]
    """Whether `result` improves the score by more than rounding."""
    return result[SCORE] < now[SCORE] * (1.0 - 1e-12)


@inner
def note(p, archive):  # type: ignore[no-untyped-def]
    """Offer the current plan to the archive."""
    if keep(p.f, archive, p.f):
        offer(p, archive, p.q[R_INDEX], p.q[B_INDEX], p.q[STAGES], p.layers, p.group)


@inner
def at_bottleneck(q, slot):  # type: ignore[no-untyped-def]
    """Whether the slot is in the slowest pipeline or gradient exchange; only there can a swap improve pure time."""
    stages = q[STAGES]
    return slot // stages == q[TOP] or slot % stages == q[TOP + 3]
