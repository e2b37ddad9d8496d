"""The best known plan, evaluated by the referee; every claimed bound is checked against it."""

from __future__ import annotations

import math

from instances.plan import Plan
from instances.tables import Grid
from solvers.core.deadline import Deadline
from solvers.core.gap import TOLERANCE
from solvers.core.interface import Monitor, Problem
from solvers.exact.leaf_model import InconsistentProofError

CLOSING = 5e-7
"""Relative gap at which a subproblem counts as closed: half of what `optimal` may leave (docs/model.md, Gaps)."""


class Incumbent:
    """The best plan and, for each grid, the best value known."""

    def __init__(self, problem: Problem, deadline: Deadline, monitor: Monitor) -> None:
        self._problem, self._deadline, self._monitor = problem, deadline, monitor
        self._by_grid: dict[Grid, float] = {}
        self.plan: Plan | None = None
        self.value = math.inf

    def offer(self, plan: Plan) -> float | None:
        """Let the referee evaluate a plan and keep it if it is the best; its value, None if it is infeasible."""
        self._deadline.evaluations += 1
        value = self._problem.value(plan)
        if value is None:
            return None
        grid = Grid(plan.replicas, plan.stages, plan.micro_batch)
        self._by_grid[grid] = min(value, self._by_grid.get(grid, math.inf))
        if value < self.value:
            self.plan, self.value = plan, value
            self._deadline.note(value)
            self._monitor.on_plan(plan)
        return value

    @property
    def target(self) -> float:
        """Plans not below this value are not searched for."""
        return self.value * (1 - CLOSING) if self.value < math.inf else math.inf

    def check(self, grid: Grid, bound: float, source: str) -> None:
        """InconsistentProofError if the bound claimed for a grid is above the value of a plan known on it."""
        known = self._by_grid.get(grid, math.inf)
        if bound > known * (1 + TOLERANCE):
            raise InconsistentProofError(
                f"{source} claims a bound of {bound!r} for {grid.replicas} pipelines of {grid.stages} stages with "
                f"micro-batches of {grid.micro_batch}, but the referee values a plan there at {known!r}"
            )
