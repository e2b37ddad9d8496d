"""The grids that random plans are drawn from: the legal ones whose memory could hold the model."""

from __future__ import annotations

import numpy as np

from instances.tables import Grid, Tables


def roomy_grids(tables: Tables) -> list[Grid]:
    """The legal grids but for those on which no plan fits, whatever its placement.

    A stage holds what the smallest of its R GPUs can, so the most that S stages can hold is found by giving
    the first R GPUs with most room to one stage, the next to another. As if no stage held embeddings or
    head, so a grid that stays may still have no plan.
    """
    found = []
    for grid in tables.grids():
        r, b = tables.indices(grid)
        whole = int(grid.stages == 1)  # one stage is first and last
        room = -np.sort(-np.repeat(tables.fits[r, b, :, whole, whole], tables.counts))
        worst = room[grid.replicas - 1 :: grid.replicas][: grid.stages]
        if worst[-1] >= 1 and worst.sum() >= tables.layers:
            found.append(grid)
    return found
