"""Values of plans by the compiled cost model, for solvers that try many plans from Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
        return self.value_of(plan.micro_batch, np.array(plan.layers), np.array(plan.groups))

    def value_of(self, micro_batch: int, layers: NDArray[np.int64], groups: NDArray[np.int64]) -> float:
        """`value` of a plan given as the layers of its stages (S,) and the groups of its pipelines (R, S)."""
        replicas, stages = groups.shape
        where = self._tables.replicas.index(replicas), self._tables.micro_batches.index(micro_batch)
        flat = np.ascontiguousarray(groups, dtype=np.int64).ravel()
        return float(self._value(*self._blocks, *where, stages, layers.astype(np.int64), flat))
