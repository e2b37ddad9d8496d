"""Random plans, compiled: GPUs and split for a given grid, the split repaired to fit memory, the best one kept."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import compiled
from solvers.kernel.value import plan_value


@compiled
def draw_groups(rng, gpus, groups):  # type: ignore[no-untyped-def]
    """Fill the R x S slots with different GPUs, every selection and order equally likely; shuffles `gpus` in place."""
    replicas, stages = groups.shape
    for slot in range(replicas * stages):
        other = slot + int(rng.random() * (len(gpus) - slot))
        gpus[slot], gpus[other] = gpus[other], gpus[slot]
        groups[slot // stages, slot % stages] = gpus[slot]


@compiled
def draw_split(rng, total, layers):  # type: ignore[no-untyped-def]
    """Split `total` layers, at least one each; all splits equally likely."""
    stages = len(layers)
    layers[:] = 0
    # The cuts are `stages - 1` of the `total - 1` gaps between layers, chosen in one pass over the gaps.
    s = 0
    for gap in range(total):
        layers[s] += 1
        if rng.random() * (total - 1 - gap) < stages - 1 - s:
            s += 1


@compiled
def repair_split(rng, t, r_index, b, groups, layers):  # type: ignore[no-untyped-def]
    """Move layers that do not fit, one by one, to stages with room, each as likely as any; whether all fit."""
    replicas, stages = groups.shape
    room = np.empty(stages, dtype=np.int64)
    total = layers.sum()
    over = 0
    for s in range(stages):
        most = total
        for r in range(replicas):
            most = min(most, t.fits[r_index, b, groups[r, s], 1 if s == 0 else 0, 1 if s == stages - 1 else 0])
        if most < 1:
            return False
        if layers[s] > most:
            over += layers[s] - most
            layers[s] = most
        room[s] = most - layers[s]
    if over > room.sum():
        return False
    while over > 0:
        pick = int(rng.random() * (room > 0).sum())
        for s in range(stages):
            if room[s] > 0:
                if pick == 0:
                    layers[s] += 1
                    room[s] -= 1
                    break
                pick -= 1
        over -= 1
    return True


@compiled
def draw_plans(rng, t, grids, gpus, draws, best, kept_groups, kept_layers):  # type: ignore[no-untyped-def]
    """Draw plans and keep the best one that is feasible and below `best[0]`.

    Parameters
    ----------
    grids
        (G, 4): R, S, positions of R and of the micro-batch size in the tables; each equally likely.
    gpus
        (n,) the group of every GPU, in any order; shuffled in place.
    best
        (1,) value of the best plan so far; changed in place.
    kept_groups, kept_layers
        (n,) and (L,), receive the best plan: slot (r, s) at r * S + s, and its split.

    Returns
    -------
    Row of `grids` that the kept plan has, -1 if none was kept; number of feasible plans.
    """
    total = t.forward.shape[3] - 1
    kept = -1
    feasible = 0
    for _ in range(draws):
        row = int(rng.random() * len(grids))
        replicas, stages, r_index, b = grids[row]
        groups = np.empty((replicas, stages), dtype=np.int64)
        layers = np.empty(stages, dtype=np.int64)
        draw_groups(rng, gpus, groups)
        draw_split(rng, total, layers)
        if not repair_split(rng, t, r_index, b, groups, layers):
            continue
        value = plan_value(t, r_index, b, layers, groups)
        if value < np.inf:
            feasible += 1
        if value < best[0]:
            best[0] = value
            kept = row
            kept_groups[: replicas * stages] = groups.ravel()
            kept_layers[:stages] = layers
    return kept, feasible
