"""One run of an exact method: bounds, plans to start from, search."""

from __future__ import annotations

from solvers.base import Budget, Monitor, Outcome, Problem
from solvers.bounds import grid_bounds
from solvers.clock import Clock
from solvers.exact.model import Model
from solvers.exact.search import Search
from solvers.exact.start import starting_plans


def solve_exactly(problem: Problem, budget: Budget, monitor: Monitor, model: Model, start: str) -> Outcome:
    """Prove the optimum, or the best bound that the budget allows. The outcome is never worse than the start."""
    clock = Clock(budget)
    search = Search(problem, grid_bounds(problem.tables, problem.goal), model, clock, monitor)
    for plan in starting_plans(problem, start, budget, clock):
        search.incumbent.offer(plan)
    search.report()
    return search.run()
