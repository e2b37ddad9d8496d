"""Initial incumbents of an exact method: the user's plan, the uniform plan, and the plan of `memetic`."""

from __future__ import annotations

from collections.abc import Iterator

from instances.plan import Plan
from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Problem
from solvers.core.registry import make_solver, solver_types
from solvers.placements.uniform import best_uniform

SHARE = 0.1
"""Share of the time limit for `memetic`."""


def check_start(name: str) -> None:
    """ValueError if `name` is not a possible start."""
    if name not in ("none", "megatron", "memetic"):
        raise ValueError(f"option 'start': found {name!r}, expected memetic, megatron or none")


def initial_plans(problem: Problem, name: str, budget: Budget, deadline: Deadline, monitor: Monitor) -> Iterator[Plan]:
    """Initial plans, the user's first; none is checked here, and the monitor hears of each at once.

    `memetic` runs for a tenth of the limit, and no longer than it takes to converge on a pool of this size.
    """
    if problem.start is not None:
        yield problem.start
    if name == "none" or deadline.passed:
        return
    uniform, _ = best_uniform(problem.instance, problem.tables)
    if uniform is not None:
        monitor.on_plan(uniform)
        yield uniform
    if name == "memetic" and name in solver_types():
        seconds = start_seconds(problem.tables.gpus)
        if deadline.left is not None:
            seconds = min(seconds, SHARE * deadline.left)
        outcome = make_solver(name).solve(problem, Budget(seconds=seconds, seed=budget.seed), Monitor(monitor.on_plan))
        deadline.evaluations += outcome.evaluations
        if outcome.plan is not None:
            yield outcome.plan


def start_seconds(gpus: int) -> float:
    """Time limit of `memetic` by the number of GPUs."""
    return min(10.0, 0.02 * gpus * gpus)
