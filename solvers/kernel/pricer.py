"""Many plans priced fast on the way to one that the referee prices: a door to the compiled cost model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from instances.objective import Goal
from instances.plan import Plan
from instances.tables import Tables

if TYPE_CHECKING:
    from solvers.kernel.cost import KernelTables


class Pricer:
    """Values of plans by one goal; agrees with the referee to 1e-9. Loads numba, so make it while solving only."""

    def __init__(self, tables: Tables, goal: Goal) -> None:
        from solvers.kernel.cost import kernel_tables

        self._tables = tables
        self.arrays: KernelTables = kernel_tables(tables, goal)

    def value(self, plan: Plan) -> float:
        """The goal's value; infinite where memory, power or a cap of the goal forbids the plan."""
        from solvers.kernel.value import plan_value

        where = self._tables.replicas.index(plan.replicas), self._tables.micro_batches.index(plan.micro_batch)
        layers = np.array(plan.layers, dtype=np.int64)
        return float(plan_value(self.arrays, *where, layers, np.array(plan.groups, dtype=np.int64)))
