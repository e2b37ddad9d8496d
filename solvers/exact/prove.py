"""One run of an exact method: bounds, initial plans, branch and bound; or the whole models of all grids."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import version

from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Outcome, Problem
from solvers.core.registry import make_solver, solver_types
from solvers.exact.branch_and_bound import BranchAndBound
from solvers.exact.grid_bounds import grid_bounds, instant_bound
from solvers.exact.grid_proofs import GridProofs
from solvers.exact.initial_plans import initial_plans
from solvers.exact.leaf_model import Answer, InconsistentProofError, Model
from solvers.exact.subproblem import Subproblem
from solvers.exact.whole import WholeGrids


class LateModel:
    """A model that is made, and its library loaded, when it gets its first subproblem."""

    def __init__(self, make: Callable[[], Model]) -> None:
        self._make = make
        self._made: Model | None = None

    def solve(self, subproblem: Subproblem, target: float, seconds: float | None) -> Answer:
        """As `Model.solve`."""
        if self._made is None:
            self._made = self._make()
        return self._made.solve(subproblem, target, seconds)


def warm_up_exact(start: str) -> None:
    """Compile the bounds and the solver to start from, or load the compiled code."""
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
    """Prove the optimum, or the best bound that the budget allows. The outcome is never worse than the initial plans.

    `make` gives the model for subproblems, `packages` are the libraries behind it. `whole` solves the plain model
    of every grid instead of searching.
    """
    deadline = Deadline.of(budget, monitor)
    instant = None if whole else instant_bound(problem.tables, problem.goal)
    if instant is not None:
        monitor.on_bound(instant, {})  # so that even a run cut off before the grids' bounds has one
    versions = {"solver_versions": {package: version(package) for package in packages}}
    monitor.on_details(versions)
    model = LateModel(make)
    # Before the bounds of all grids, which take a while in a large pool: an interrupted run has a plan then.
    plans = list(initial_plans(problem, start, budget, deadline, monitor))
    run: GridProofs = (
        WholeGrids(problem, model, deadline, monitor)
        if whole
        else BranchAndBound(problem, grid_bounds(problem.tables, problem.goal), model, deadline, monitor)
    )
    for plan in plans:
        run.incumbent.offer(plan)
    run.report()
    try:
        outcome = run.run()
    except InconsistentProofError as contradiction:
        outcome = run.withdrawn(str(contradiction))
    return replace(outcome, details={**outcome.details, **versions})
