"""Compiled depth-first enumeration of placements: rows in lexicographic order, so each plan comes once."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import compiled
from solvers.kernel.cost import measure, violation


@compiled
def enumerate_chunk(t, r, b, layers, groups, state, limit, kept, plans, best, front):  # type: ignore[no-untyped-def]
    """Go on with the enumeration of one grid and layer split until `limit` plans were costed.

    Parameters
    ----------
    t
        `KernelTables`.
    r, b
        Positions of the replica count and the micro-batch size in the tables.
    layers
        The split, length S.
    groups
        R x S, the current placement; all -1 at the start. Resumed in place.
    state
        [position of the slot to advance, plans costed in this call]; both changed in place.
    limit
        Most plans to cost in this call.
    kept, plans
        Rooms for (time, energy) and the R*S groups of kept plans.
    best
        [best value so far], changed in place unless `front`.
    front
        Keep what no kept plan dominates, instead of the best.

    Returns
    -------
    Number of kept plans, and whether the enumeration of this split is complete. It also stops when the
    room for kept plans is full.
    """
    replicas, stages = groups.shape
    slots = replicas * stages
    group_count = len(t.counts)
    used = np.zeros(group_count, dtype=np.int64)
    position = state[0]
    for k in groups.ravel():
        if k >= 0:
            used[k] += 1
    count = 0
    while state[1] < limit and count < len(kept):
        s = position % stages
        row = position // stages
        k = groups[row, s]
        if k >= 0:
            used[k] -= 1
        k += 1
        if groups[row, s] < 0 and row > 0:
            tight = True  # equal to the row above so far, so this slot must not be smaller
            for p in range(s):
                tight = tight and groups[row, p] == groups[row - 1, p]
            if tight:
                k = groups[row - 1, s]
        is_first = 1 if s == 0 else 0
        is_last = 1 if s == stages - 1 else 0
        while k < group_count and (used[k] >= t.counts[k] or t.fits[r, b, k, is_first, is_last] < layers[s]):
            k += 1
        if k == group_count:
            groups[row, s] = -1
            position -= 1
            if position < 0:
                return count, True
            # The slot below still counts its group; it is released when it advances.
            continue
        groups[row, s] = k
        used[k] += 1
        if position < slots - 1:
            position += 1
            continue
        state[1] += 1
        if violation(t, r, b, layers, groups) > 0:
            continue
        time, energy = measure(t, b, layers, groups)
        if front:
            dominated = False
            for i in range(count):
                dominated = dominated or (kept[i, 0] <= time and kept[i, 1] <= energy)
            if dominated:
                continue
        else:
            value = t.time_weight * time + t.energy_weight * energy
            if time > t.time_cap or energy > t.energy_cap or value >= best[0]:
                continue
            best[0] = value
        kept[count, 0] = time
        kept[count, 1] = energy
        plans[count] = groups.ravel()
        count += 1
    state[0] = position
    return count, False
