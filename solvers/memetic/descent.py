"""Steepest walk to a local optimum of both elementary moves, looking only where the goal can improve."""

from __future__ import annotations

import numpy as np

from solvers.compiled import compiled
from solvers.kernel.moves import do_exchange, do_shift, try_exchange, try_shift
from solvers.kernel.packed import ENERGY_WEIGHT
from solvers.kernel.state import B_INDEX, EXCESS, R_INDEX, REPLICAS, SCORE, SLOTS, STAGES
from solvers.memetic.anneal import keep
from solvers.memetic.randomness import below
from solvers.memetic.record import offer


@compiled
def descend(p, st, rng, record, limit, focused):  # type: ignore[no-untyped-def]
    """First-improvement passes until one finds nothing or `limit` plans were costed; returns the plans costed."""
    result = np.zeros(5)
    stages, slots = st.shape[STAGES], st.shape[SLOTS]
    gpus = len(st.group)
    costed = 0
    improved = True
    while improved and costed < limit:
        improved = False
        start = below(rng, slots)
        for step in range(slots):
            i = (start + step) % slots
            if focused and not at_bottleneck(p, st, i):
                continue
            # Each pair of used slots once; from a bottleneck all partners count.
            for j in range(0 if focused else i + 1, gpus):
                if costed >= limit:
                    break
                if st.group[i] == st.group[j]:
                    continue
                try_exchange(p, st, i, j, result)
                costed += 1
                if better(result, st.result) or keep(p, record, result):
                    do_exchange(p, st, i, j)
                    improved = True
                    note(p, st, record)
        for a in range(stages):
            for z in range(stages):
                if a == z or st.layers[a] < 2 or costed >= limit:
                    continue
                try_shift(p, st, a, z, 1, result)
                costed += 1
                if better(result, st.result) or keep(p, record, result):
                    do_shift(p, st, a, z, 1)
                    improved = True
                    note(p, st, record)
    return costed


@compiled
def better(result, now):  # type: ignore[no-untyped-def]
    """Whether a score improves by more than rounding."""
    return result[SCORE] < now[SCORE] * (1.0 - 1e-12)


@compiled
def note(p, st, record):  # type: ignore[no-untyped-def]
    """Offer the current plan to the record."""
    if keep(p, record, st.result):
        offer(p, record, st.shape[R_INDEX], st.shape[B_INDEX], st.shape[STAGES], st.layers, st.group)


@compiled
def at_bottleneck(p, st, slot):  # type: ignore[no-untyped-def]
    """Whether the slot is in the slowest pipeline or exchange; only there can an exchange improve pure time."""
    if p.goal[ENERGY_WEIGHT] > 0.0 or st.result[EXCESS] > 0.0 or st.shape[REPLICAS] == 1:
        return True
    stages = st.shape[STAGES]
    return slot // stages == st.top[0] or slot % stages == st.top[3]
