"""Values of plans by the compiled cost model, for solvers that try many plans from Python."""

from __future__ import annotations

import numpy as np

from instances.objective import Goal
from instances.plan import Plan
from instances.tables import Tables


class Evaluator:
    """Values of plans by one goal; agrees with the referee to 1e-9. Loads numba, so make it only while solving."""

    def __init__(self, tables: Tables, goal: Goal) -> None:
        from solvers.kernel.packed import pack
        from solvers.kernel.value import value_of_arrays

        self._tables = tables
        self._value = value_of_arrays
        self._blocks = pack(tables, goal)[:3]

    def value(self, plan: Plan) -> float:
        """The goal's value; infinite where memory, power or a cap of the goal forbids the plan."""
        where = self._tables.replicas.index(plan.replicas), self._tables.micro_batches.index(plan.micro_batch)
        layers = np.array(plan.layers, dtype=np.int64)
        groups = np.array(plan.groups, dtype=np.int64).ravel()
        return float(self._value(*self._blocks, *where, plan.stages, layers, groups))
