"""What the memetic search begins with: the user's plan, and plans site by site."""

from __future__ import annotations

import pytest

from instances.generator.family import generate
from instances.referee.violations import violations
from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Problem, Status
from solvers.memetic.grids import grids_to_search
from solvers.memetic.incumbent_log import IncumbentLog
from solvers.memetic.warm_starts import evaluate_placements, warm_starts
from solvers.placements.best_plans import BestPlans
from tests.cases import CLOSE, FEASIBLE
from tests.random_instances import random_instance
from tests.solving import outcome_of, problem_of

ENOUGH = Budget(evaluations=150_000)


def value_of(problem: Problem, solver: str, budget: Budget | None = None) -> float:
    plan = outcome_of(solver, problem, budget).plan
    assert plan is not None
    value = problem.value(plan)
    assert value is not None
    return value


def test_never_worse_than_its_start() -> None:
    case = FEASIBLE[0]
    best = outcome_of("memetic", problem_of(case.instance, "time"), ENOUGH).plan
    problem = problem_of(case.instance, "time", start=best)
    assert value_of(problem, "memetic", Budget(evaluations=1)) == pytest.approx(case.truth["time_s"], rel=CLOSE)


def test_its_start_is_in_the_population() -> None:
    instance = random_instance(3, gpus=12)
    start = outcome_of("memetic", problem_of(instance, "time"), ENOUGH).plan
    assert start is not None
    problem = problem_of(instance, "time", start=start)
    grids = grids_to_search(problem.tables)
    starts = warm_starts(problem.tables, grids, start, ())
    r_index, b, stages = grids[starts.niche[0]]
    assert (problem.tables.replicas[r_index], stages) == (start.replicas, start.stages)
    assert problem.tables.micro_batches[b] == start.micro_batch
    assert starts.layers[0, : start.stages].tolist() == list(start.layers)
    slots = start.replicas * start.stages
    assert starts.groups[0, :slots].tolist() == [k for row in start.groups for k in row]


def test_plans_made_site_by_site_are_there_from_the_beginning() -> None:
    problem = problem_of(generate("dtfm", 64, 0, {"scenario": "worldwide"}), "time")
    site_by_site = value_of(problem, "contiguous")
    assert value_of(problem, "memetic", Budget(evaluations=5000)) <= site_by_site * (1 + CLOSE)


def test_plans_made_site_by_site_take_no_more_than_half_of_the_evaluations() -> None:
    problem = problem_of(generate("dtfm", 64, 0, {"scenario": "worldwide"}), "time")
    goal = BestPlans(problem.tables, problem.goal, 1.2)
    budget = Budget(evaluations=200)
    log = IncumbentLog(problem, Deadline.of(budget, Monitor()), Monitor())
    evaluate_placements(problem, budget, 200, log, [goal])
    assert 100 <= log.deadline.evaluations < 200  # it stops between placements


@pytest.mark.parametrize("evaluations", [20, 50])
def test_a_front_cut_short_while_plans_made_site_by_site_are_priced_has_those(evaluations: int) -> None:
    problem = problem_of(generate("dtfm", 16, 0, {}), "front")
    outcome = outcome_of("memetic", problem, Budget(evaluations=evaluations))
    assert outcome.status is Status.FEASIBLE
    assert outcome.front
    assert not any(violations(problem.instance, plan) for plan in outcome.front)
