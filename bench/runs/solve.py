"""One run for `solve`, on the command line and in `geotrain_bench`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from math import inf
from operator import index
from typing import Any, TypeVar

from rich.console import Console

from bench.records.record import Result
from bench.records.task import Task
from bench.runs.isolated import IsolatedRun
from bench.runs.judge import Verdict, judge
from bench.runs.no_plan import explained
from instances.errors import InputError
from instances.instance import Instance
from instances.objective import Goal, Reference, parse_objective
from instances.plan import Plan
from instances.rates import check_metric
from instances.reduce import Reduced, without
from instances.referee.check import Infeasible, check
from solvers.core.interface import Budget, Problem
from solvers.core.registry import make_solver, spelled_options
from solvers.core.sources import solver_digest
from solvers.placements.uniform import reference_of

N = TypeVar("N", int, float)
COMPILING = "{} is compiled first, once for each version: up to a minute, which is not part of the search"


def solve_request(
    instance: Instance,
    solver: str,
    options: Mapping[str, str],
    objective_text: str,
    budget: Budget,
    *,
    reference: tuple[float, float] | None = None,
    start: Plan | None = None,
    start_name: str = "start",
    left_out: Sequence[str] = (),
    live: bool = False,
    memory: int | None = None,
) -> Result:
    """Solve and judge. InputError for what does not fit.

    `reference` are T_ref and E_ref, by default those of the best uniform plan; `start_name` is what messages call the
    start plan, `left_out` names groups and GPUs to do without, `live` shows that work goes on, and `memory` limits its
    bytes.
    """
    budget = _checked(budget)
    made = make_solver(solver, options)
    options = spelled_options(made, options)
    objective = parse_objective(objective_text)
    if objective.kind == "front" and not made.fronts:
        raise InputError(f"--objective front: solver {solver} has no front; see `geotrain-bench solvers`")
    if start is not None and not made.takes_start:
        raise InputError(f"--start: solver {solver} takes no start plan")
    reduced = without(instance, left_out) if left_out else None
    solved = reduced.instance if reduced else instance
    relative_to = _reference(reference, solved) if objective.needs_reference else None
    goal = objective.goal(relative_to)
    check_metric(solved, goal.metric)
    problem = Problem(solved, goal, start and _start(start, start_name, instance, goal, reduced))
    console = Console(file=sys.stderr, quiet=not live)
    with console.status(f"{solver} on {solved.name}; Ctrl-C keeps the best plan") if live else nullcontext():
        compiling = partial(console.print, COMPILING.format(solver), highlight=False)
        ending = IsolatedRun(solver, options, problem, budget, compiling, memory).wait()
    verdict = explained(problem, ending.outcome, judge(problem, ending.outcome, made.proves))
    # The answer is one for the whole instance, whatever was taken away before.
    task = Task(instance, solver, options, objective, relative_to, budget, solver_digest(solver, options))
    if reduced is None:
        return Result.of(task, ending, verdict)
    return Result.of(task, ending, _restored(verdict, reduced), without=tuple(left_out))


def _checked(budget: Budget) -> Budget:
    """The budget with plain numbers, whatever kind a caller's are. InputError names the option that is no limit."""
    whole = partial(_plain, index, "a whole number")
    plain = Budget(
        None if budget.seconds is None else _plain(float, "a number", "--time-limit", budget.seconds),
        None if budget.evaluations is None else whole("--evaluations", budget.evaluations),
        whole("--seed", budget.seed),
        whole("--threads", budget.threads),
    )
    for name, value, least, most in (
        ("--time-limit", plain.seconds, 0, None),
        ("--evaluations", plain.evaluations, 0, 10**18),
        ("--seed", plain.seed, 0, None),
        ("--threads", plain.threads, 1, 1024),
    ):
        if value is not None and not (value >= least and value != inf):
            raise InputError(f"{name} {value}: must be {least:g} or more")
        if value is not None and most is not None and value > most:
            raise InputError(f"{name} {value}: must be {most:,} or less")
    return plain


def _plain(kind: Callable[[Any], N], wanted: str, name: str, value: Any) -> N:
    try:
        if isinstance(value, bool | str):
            raise TypeError
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} {value!r}: must be {wanted}") from None


def _reference(given: tuple[float, float] | None, instance: Instance) -> Reference | None:
    """T_ref and E_ref as given, or else those of the instance's best uniform plan, if it has one."""
    if given is None:
        return reference_of(instance)
    try:
        return Reference(*given)
    except ValueError:
        raise InputError(f"--reference {given[0]} {given[1]}: both must be above 0 and finite") from None


def _start(plan: Plan, name: str, instance: Instance, goal: Goal, reduced: Reduced | None) -> Plan:
    """The start plan, checked against the whole instance, in terms of the one that is solved."""
    if goal.front:
        raise InputError("--start: the objective front takes no start plan")
    checked = check(instance, plan, goal)
    if isinstance(checked, Infeasible):
        raise InputError(f"{name}: the start plan is infeasible: {checked.reasons[0]}")
    if reduced is None:
        return plan
    smaller = {gpu: k for k, gpus in enumerate(reduced.left) for gpu in gpus}
    if any(gpu not in smaller for row in plan.pipelines for gpu in row):
        raise InputError(f"{name}: the start plan uses a GPU that --without takes away")
    return Plan.from_groups(plan.micro_batch, plan.layers, [[smaller[gpu] for gpu in row] for row in plan.pipelines])


def _restored(verdict: Verdict, reduced: Reduced) -> Verdict:
    """The verdict with its plans in terms of the whole instance; GPUs of a group are equal, so nothing else changes."""
    front = verdict.front and tuple(replace(point, plan=reduced.restore(point.plan)) for point in verdict.front)
    return replace(verdict, plan=verdict.plan and reduced.restore(verdict.plan), front=front)
