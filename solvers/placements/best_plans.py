"""The best plan of every grid among the site-by-site placements evaluated so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from instances.objective import Goal
from instances.plan import Plan
from instances.tables import Ints, Tables
from solvers.placements.site_by_site import Placement


class EvaluatedPlan(NamedTuple):
    """A feasible plan as arrays, with the positions of R and mb in the tables."""

    value: float
    r_index: int
    b: int
    layers: Ints  # [S]
    groups: Ints  # [R, S]

    def to_plan(self, tables: Tables) -> Plan:
        """The plan with GPUs by name."""
        return Plan.from_groups(tables.micro_batches[self.b], self.layers, self.groups)


class BestPlans:
    """Evaluates placements, and keeps one goal's best plan overall and of each grid that is not far behind.

    Parameters
    ----------
    slack
        Plans worse than so many times the best one are dropped, which makes evaluation faster; at least 1.
    """

    def __init__(self, tables: Tables, goal: Goal, slack: float) -> None:
        from solvers.kernel.packed import pack
        from solvers.placements.columns import new_columns
        from solvers.placements.evaluate_placement import no_plans

        self._tables, self._slack = tables, slack
        self._packed, self._columns = pack(tables, goal), new_columns(tables)
        self._best = [no_plans(tables) for _ in tables.replicas]
        self._groups: dict[tuple[int, int, int], Ints] = {}  # placement of the best plan, by R, S and b
        self.best: EvaluatedPlan | None = None
        nothing = Placement(np.zeros((1, 1), dtype=np.int64), equal=False, every_depth=False)
        self.evaluate(nothing, -np.inf)  # compiles, or loads what was compiled

    def evaluate(self, placement: Placement, least: float = np.inf) -> int:
        """Evaluate a placement at each of its depths, keeping plans below `least`; number of plans evaluated."""
        from solvers.placements.evaluate_placement import evaluate_placement

        replicas, width = placement.groups.shape
        r_index = self._tables.replicas.index(replicas)
        values = self._best[r_index].values
        if self.best is not None:
            least = min(least, self.best.value)
        before = values.copy()
        shallowest = 1 if placement.every_depth else width
        where = self._packed, r_index, placement.groups, placement.equal, shallowest
        evaluated: int = evaluate_placement(*where, least, self._slack, self._columns, self._best[r_index])
        if evaluated:
            for stages, b in np.argwhere(values < before).tolist():
                self._groups[r_index, stages, b] = placement.groups
                if values[stages, b] < least:
                    least = float(values[stages, b])
                    self.best = self._plan(r_index, stages, b)
        return evaluated

    def by_grid(self) -> Iterator[EvaluatedPlan]:
        """The best plan of each grid that has one within the slack."""
        for r_index, stages, b in sorted(self._groups):
            if self.best is not None and self._best[r_index].values[stages, b] < self.best.value * self._slack:
                yield self._plan(r_index, stages, b)

    def _plan(self, r_index: int, stages: int, b: int) -> EvaluatedPlan:
        values, layers, turned = self._best[r_index]
        groups = self._groups[r_index, stages, b][:, :stages]
        if turned[stages, b]:
            groups = groups[:, ::-1]
        return EvaluatedPlan(float(values[stages, b]), r_index, b, layers[stages, b, :stages].copy(), groups)
