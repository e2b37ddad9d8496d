"""The grids that are searched, and a lower bound on each."""

from __future__ import annotations

import numpy as np

from instances.tables import Floats, Ints, Tables
from solvers.core.interface import Problem
from solvers.exact.grid_bounds import grid_bounds


def bounds_of(problem: Problem, grids: Ints) -> Floats:
    """[g] a lower bound on the objective for each grid, infinite where no plan can be feasible."""
    tables = problem.tables
    values = {
        (*tables.indices(bound.grid), bound.grid.stages): np.inf if bound.value is None else bound.value
        for bound in grid_bounds(tables, problem.goal)
    }
    return np.array([values[r, b, stages] for r, b, stages in grids.tolist()])


def grids_to_search(tables: Tables) -> Ints:
    """Legal grids with enough memory for all layers, as rows (position of R, position of mb, S); most GPUs first."""
    found = []
    for grid in tables.grids():
        r, b = tables.indices(grid)
        kinds = [2 * (s == 0) + (s == grid.stages - 1) for s in range(grid.stages)]
        most = tables.fits[r, b].reshape(-1, 4).max(axis=0)
        if all(most[kind] > 0 for kind in kinds) and sum(most[kind] for kind in kinds) >= tables.layers:
            found.append((-grid.replicas * grid.stages, r, b, grid.stages))
    return np.array([row[1:] for row in sorted(found)], dtype=np.int64).reshape(-1, 3)
