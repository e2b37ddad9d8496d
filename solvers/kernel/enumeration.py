"""Compiled depth-first enumeration of placements: rows in lexicographic order, so each plan comes once."""

from __future__ import annotations

from solvers.core.compiled import compiled
from solvers.kernel.evaluation import cap_excess, goal_value, kind_of, measure, violation


# One loop that stops and resumes anywhere: split up, it would pass its whole state from part to part.
@compiled
def enumerate_chunk(p, r_index, b, layers, groups, used, state, limit, kept, plans, best, front):  # type: ignore[no-untyped-def]  # noqa: C901
    """Continue the enumeration of one grid and layer split until `limit` plans were evaluated.

    Parameters
    ----------
    p
        `Packed`.
    r_index, b
        Positions of the replica count and the micro-batch size in the tables.
    layers
        The split, length S.
    groups
        R*S, the current placement, slot (r, s) at r * S + s; all -1 at the start. Resumed in place.
    used
        GPUs of each group that it uses; updated with it.
    state
        [position of the slot to advance, plans evaluated in this call]; both changed in place.
    limit
        Most plans to evaluate in this call.
    kept, plans
        Rows that receive (time, energy) and the R*S groups of kept plans.
    best
        [best value so far], changed in place unless `front`.
    front
        Keep the plans that no kept one dominates, instead of the best.

    Returns
    -------
    Number of kept plans, and whether the enumeration of this split is complete. It also stops when the
    rows for kept plans are full.
    """
    stages, slots = len(layers), len(groups)
    position = state[0]
    count = 0
    while state[1] < limit and count < len(kept):
        s = position % stages
        k = groups[position]
        if k >= 0:
            used[k] -= 1
        k += 1
        if groups[position] < 0 and position >= stages:
            tight = True  # equal to the row above so far, so this slot must not be smaller
            for slot in range(position - s, position):
                tight = tight and groups[slot] == groups[slot - stages]
            if tight:
                k = groups[position - stages]
        kind = kind_of(s, stages)
        while k < p.o.groups and (used[k] >= p.counts[k] or p.fits[r_index, b, k, kind] < layers[s]):
            k += 1
        if k == p.o.groups:
            groups[position] = -1
            position -= 1
            if position < 0:
                return count, True
            # The slot below still counts its group; it is released when it advances.
            continue
        groups[position] = k
        used[k] += 1
        if position < slots - 1:
            position += 1
            continue
        state[1] += 1
        over, power = violation(p.o, p.q, p.f, r_index, b, stages, layers, groups)
        if over > 0 or power > 0.0:
            continue
        time, energy = measure(p.o, p.q, p.f, r_index, b, stages, layers, groups)
        if front:
            dominated = False
            for i in range(count):
                dominated = dominated or (kept[i, 0] <= time and kept[i, 1] <= energy)
            if dominated:
                continue
        else:
            value = goal_value(p.f, time, energy)
            if cap_excess(p.f, time, energy) > 0.0 or value >= best[0]:
                continue
            best[0] = value
        kept[count, 0] = time
        kept[count, 1] = energy
        for slot in range(slots):
            plans[count, slot] = groups[slot]
        count += 1
    state[0] = position
    return count, False
