"""Random plans, compiled: GPUs and split for a given grid, the split repaired to fit memory, the best one kept."""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import compiled, inner
from solvers.kernel.evaluation import kind_of
from solvers.kernel.value import plan_value


@inner
def draw_groups(rng, gpus, slots):  # type: ignore[no-untyped-def]
    """Shuffle `gpus` so that its first `slots` are a uniform random selection in random order."""
    for slot in range(slots):
        other = slot + int(rng.random() * (len(gpus) - slot))
        gpus[slot], gpus[other] = gpus[other], gpus[slot]


@inner
def draw_split(rng, total, stages, layers):  # type: ignore[no-untyped-def]
    """Split `total` layers over layers[:stages], at least one each; all splits equally likely."""
    for s in range(stages):
        layers[s] = 0
    # The cuts are `stages - 1` of the `total - 1` gaps between layers, chosen in one pass over the gaps.
    s = 0
    for gap in range(total):
        layers[s] += 1
        if rng.random() * (total - 1 - gap) < stages - 1 - s:
            s += 1


@inner
def place_layer(rng, stages, layers, spare):  # type: ignore[no-untyped-def]
    """Give one more layer to a random stage with spare memory, uniformly."""
    able = 0
    for s in range(stages):
        able += spare[s] > 0
    pick = int(rng.random() * able)
    for s in range(stages):
        if spare[s] > 0:
            if pick == 0:
                layers[s] += 1
                spare[s] -= 1
                return
            pick -= 1


@inner
def repair_split(rng, p, r_index, b, stages, groups, layers, spare):  # type: ignore[no-untyped-def]
    """Move layers that do not fit, one by one, to random stages with spare memory; whether all fit.

    `spare` is scratch, length L.
    """
    over = total_spare = 0
    for s in range(stages):
        most = p.o.total
        for r in range(p.replicas[r_index]):
            most = min(most, p.fits[r_index, b, groups[r * stages + s], kind_of(s, stages)])
        if most < 1:
            return False
        if layers[s] > most:
            over += layers[s] - most
            layers[s] = most
        spare[s] = most - layers[s]
        total_spare += spare[s]
    if over > total_spare:
        return False
    for _ in range(over):
        place_layer(rng, stages, layers, spare)
    return True


@compiled
def draw_plans(rng, p, grids, gpus, draws, best, kept_groups, kept_layers):  # type: ignore[no-untyped-def]
    """Draw plans and keep the best one that is feasible and below `best[0]`.

    Parameters
    ----------
    p
        `Packed`; drawn splits overwrite that of its current plan.
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
    Row of `grids` of the kept plan, -1 if none was kept; number of feasible plans.
    """
    kept = -1
    feasible = 0
    layers, spare = p.layers, p.whole[0]
    for _ in range(draws):
        row = int(rng.random() * len(grids))
        replicas, stages, r_index, b = grids[row, 0], grids[row, 1], grids[row, 2], grids[row, 3]
        draw_groups(rng, gpus, replicas * stages)
        draw_split(rng, p.o.total, stages, layers)
        if not repair_split(rng, p, r_index, b, stages, gpus, layers, spare):
            continue
        value = plan_value(p.o, p.q, p.f, r_index, b, stages, layers, gpus)
        if value < np.inf:
            feasible += 1
        if value < best[0]:
            best[0] = value
            kept = row
            for slot in range(replicas * stages):
                kept_groups[slot] = gpus[slot]
            for s in range(stages):
                kept_layers[s] = layers[s]
    return kept, feasible
