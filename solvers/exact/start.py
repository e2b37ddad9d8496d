"""Where an exact method starts: a given plan, another solver's, and always the uniform plan."""

from __future__ import annotations

from instances.errors import InputError
from instances.plan import Plan
from solvers.base import Budget, Monitor, Problem
from solvers.clock import Clock
from solvers.registry import make_solver, solver_types
from solvers.uniform import best_uniform

SHARE = 0.1
"""Share of the time limit that the solver to start from may take."""


def check_start(name: str) -> None:
    """ValueError if there is nothing of that name to start from."""
    if name not in ("none", "megatron", "memetic"):
        raise ValueError(f"start: {name!r} is none of memetic, megatron, none")


def starting_plans(problem: Problem, name: str, budget: Budget, clock: Clock) -> list[Plan]:
    """Plans to start from, the given one first; none is checked here.

    `memetic` runs for a tenth of the limit, and no longer than it takes to converge on a pool of this size.
    """
    plans = [] if problem.start is None else [problem.start]
    if name == "none":
        return plans
    uniform, _ = best_uniform(problem.instance, problem.tables)
    if uniform is not None:
        plans.append(uniform)
    if name == "memetic" and name in solver_types():
        seconds = start_seconds(problem.tables.gpus)
        if clock.left is not None:
            seconds = min(seconds, SHARE * clock.left)
        try:
            outcome = make_solver(name).solve(problem, Budget(seconds=seconds, seed=budget.seed), Monitor())
        except InputError:
            return plans
        clock.evaluations += outcome.evaluations
        if outcome.plan is not None:
            plans.append(outcome.plan)
    return plans


def start_seconds(gpus: int) -> float:
    """Seconds for the solver to start from, by the number of GPUs."""
    return min(10.0, 0.02 * gpus * gpus)
