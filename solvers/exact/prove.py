"""One run of an exact method: bounds, plans to start from, search; or the whole models of all grids."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import version

from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Outcome, Problem
from solvers.core.registry import make_solver, solver_types
from solvers.exact.branch_and_bound import Search
from solvers.exact.grid_bounds import grid_bounds, instant_bound
from solvers.exact.initial_plans import starting_plans
from solvers.exact.leaf_model import Answer, Contradiction, Model
from solvers.exact.subproblem import Subproblem
from solvers.exact.whole import WholeGrids


class LateModel:
    """A model that is made, and its library loaded, when the first subproblem is left to it."""

    def __init__(self, make: Callable[[], Model]) -> None:
        self._make = make
        self._made: Model | None = None

    def solve(self, subproblem: Subproblem, target: float, seconds: float | None) -> Answer:
        """As the model does."""
        if self._made is None:
            self._made = self._make()
        return self._made.solve(subproblem, target, seconds)


def warm_up_exact(start: str) -> None:
    """Compile what bounds the subproblems, and the solver to start from, or load what was compiled."""
    from solvers.exact.relaxation import warm_up

    warm_up()
    if start in solver_types():
        make_solver(start).warm_up()


def solve_exactly(
    problem: Problem,
    budget: Budget,
    monitor: Monitor,
    make: Callable[[], Model],
    packages: Iterable[str],
    start: str,
    whole: bool,
) -> Outcome:
    """Prove the optimum, or the best bound that the budget allows. The outcome is never worse than the start.

    `make` gives the model for subproblems, `packages` are the libraries behind it. `whole` solves the plain model
    of every grid instead of searching.
    """
    deadline = Deadline.of(budget)
    instant = None if whole else instant_bound(problem.tables, problem.goal)
    if instant is not None:
        monitor.on_bound(instant, {})  # something proven outlives even a limit that ends before the bounds of the grids
    versions = {"solver_versions": {package: version(package) for package in packages}}
    monitor.on_details(versions)
    model = LateModel(make)
    run: Search | WholeGrids = (
        WholeGrids(problem, model, deadline, monitor)
        if whole
        else Search(problem, grid_bounds(problem.tables, problem.goal), model, deadline, monitor)
    )
    for plan in starting_plans(problem, start, budget, deadline):
        run.incumbent.offer(plan)
    run.report()
    try:
        outcome = run.run()
    except Contradiction as contradiction:
        outcome = run.distrusting(str(contradiction))
    return replace(outcome, details={**outcome.details, **versions})
