"""Solvers called in this process, without the isolation of the command line."""

from __future__ import annotations

from bench.runs.judge import Verdict, judge
from instances.instance import Instance
from instances.objective import parse_objective
from instances.plan import Plan
from solvers.core.interface import Budget, Monitor, Outcome, Problem
from solvers.core.registry import make_solver
from solvers.placements.uniform import reference_of


def problem_of(instance: Instance, objective: str, start: Plan | None = None) -> Problem:
    """The problem that `--objective` asks for, with the uniform plan as reference where one is needed."""
    parsed = parse_objective(objective)
    reference = reference_of(instance) if parsed.needs_reference else None
    return Problem(instance, parsed.goal(reference), start)


def outcome_of(solver: str, problem: Problem, budget: Budget | None = None) -> Outcome:
    """What a solver answers."""
    return make_solver(solver).solve(problem, budget or Budget(), Monitor())


def solved(solver: str, instance: Instance, objective: str) -> Verdict:
    """What a solver's answer is worth, by the referee."""
    problem = problem_of(instance, objective)
    return judge(problem, outcome_of(solver, problem))
