"""The generic exact method: the straightforward model of a whole grid, grid after grid.

It uses the instance's tables only: no bounds, relaxations or branching of ours. The best known value is the cutoff
of the next model. It shares the leaf models with the search, but no bounds.
"""

from __future__ import annotations

import math

from solvers.core.deadline import Deadline
from solvers.core.interface import Monitor, Outcome, Problem
from solvers.exact.grid_costs import GridCosts
from solvers.exact.grid_proofs import GridProofs
from solvers.exact.grid_records import GridRecord
from solvers.exact.leaf_model import Claim, Model
from solvers.exact.subproblem import Subproblem


class WholeGrids(GridProofs):
    """One run over all legal grids."""

    def __init__(self, problem: Problem, model: Model, deadline: Deadline, monitor: Monitor) -> None:
        records = [GridRecord(grid, None, whole=True, open_parts=1, parts=1) for grid in problem.tables.grids()]
        super().__init__(problem, records, model, deadline, monitor)
        self._open = {
            record.grid: Subproblem.plain(GridCosts(problem.tables, problem.goal, record.grid)) for record in records
        }
        for record in records:
            if not self._open[record.grid].alive:  # memory leaves a stage without a GPU
                record.started = True
                record.close_part(math.inf)
                del self._open[record.grid]

    def run(self) -> Outcome:
        """Go on until every grid is solved or the budget ends, in rounds that share the time left equally."""
        while self._open and not self._late:
            waiting = list(self._open.items())
            for i, (grid, subproblem) in enumerate(waiting):
                if self._late:
                    break
                left = self._deadline.left
                seconds = math.inf if left is None else left / (len(waiting) - i)
                self._solve_grid(subproblem, self._records[grid], seconds)
            if self._deadline.left is None:
                break  # the rest is open because a model failed, not for lack of time
        return self._outcome(done=not self._open)

    def _solve_grid(self, subproblem: Subproblem, record: GridRecord, seconds: float) -> None:
        """One model after another, each with the previous plan as cutoff, until there is no better plan."""
        before, claim = self._deadline.seconds, Claim.BEST
        record.started = True
        if subproblem.value >= self.incumbent.target:
            self._close(record, subproblem.value)
            claim = Claim.NONE
        while claim is Claim.BEST and not self._late:
            claim = self._solve(subproblem, record, max(0.0, seconds - (self._deadline.seconds - before)))
        record.open_bound = math.inf if claim is Claim.NONE else subproblem.value
        if claim is Claim.NONE:
            del self._open[record.grid]
        record.seconds += self._deadline.seconds - before
        self.report()

    def _global_bound(self) -> float | None:
        """Least bound of all grids and the incumbent; None if a grid has none."""
        if any(record.open_parts and record.bound is None for record in self._records.values()):
            return None
        bounds = [record.bound for record in self._records.values() if record.bound is not None]
        bound = min([*bounds, self.incumbent.value])
        return bound if bound < math.inf else None
