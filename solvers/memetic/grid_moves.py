"""Moves to a neighbouring grid: one stage more or less, or another micro-batch size.

Each overwrites the current plan with one for the new grid; the caller loads and scores it.
"""

from __future__ import annotations

from solvers.core.compiled import inner
from solvers.kernel.packed import B_INDEX, CHOSEN, R_INDEX, REPLICAS, STAGES
from solvers.memetic.copying import copy
from solvers.memetic.layer_split import fit_layers
from solvers.memetic.randomness import below, uniform
from solvers.memetic.structural_moves import gather_unused


@inner
def change_grid(p, rng, at, r_b_s):  # type: ignore[no-untyped-def]
    """One random move to another grid, written to r_b_s; False, with nothing changed, if the draw is invalid.

    Parameters
    ----------
    at
        [r, b, S] index of the grid, -1 for one that is not searched.
    """
    r_index, b, stages = p.q[R_INDEX], p.q[B_INDEX], p.q[STAGES]
    replicas = p.q[REPLICAS]
    group = p.group
    u = uniform(rng)
    if u < 0.2:
        b += 1 if uniform(rng) < 0.5 else -1
        if b < 0 or b == at.shape[1] or at[r_index, b, stages] < 0:
            return False
    elif u < 0.6:
        if (stages + 1) * replicas > len(group) or stages + 1 == at.shape[2] or at[r_index, b, stages + 1] < 0:
            return False
        gather_unused(p, rng, replicas, replicas * stages)
        insert_column(p, group, below(rng, stages + 1), replicas, stages)
        stages += 1
    else:
        if stages == 1 or at[r_index, b, stages - 1] < 0:
            return False
        remove_column(p, group, below(rng, stages), replicas, stages)
        stages -= 1
    fit_layers(p, r_index, b, stages, p.layers, group)
    r_b_s[0], r_b_s[1], r_b_s[2] = r_index, b, stages
    return True


@inner
def insert_column(p, group, s, replicas, stages):  # type: ignore[no-untyped-def]
    """Make the first `replicas` unused GPUs a stage before stage s."""
    slots = replicas * stages
    column = p.whole[CHOSEN]
    copy(group, slots, column, 0, replicas)
    for r in range(replicas - 1, -1, -1):
        for z in range(stages, -1, -1):
            if z == s:
                group[r * (stages + 1) + z] = column[r]
            else:
                group[r * (stages + 1) + z] = group[r * stages + (z if z < s else z - 1)]


@inner
def remove_column(p, group, s, replicas, stages):  # type: ignore[no-untyped-def]
    """Make the GPUs of stage s the first unused ones."""
    column = p.whole[CHOSEN]
    slot = 0
    for r in range(replicas):
        for z in range(stages):
            k = group[r * stages + z]
            if z == s:
                column[r] = k
            else:
                group[slot] = k
                slot += 1
    copy(column, 0, group, slot, replicas)
