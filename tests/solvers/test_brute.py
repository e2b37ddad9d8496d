"""Enumeration: complete, up to symmetry, and honest when it is cut short."""

from __future__ import annotations

import itertools

import pytest

from bench.runs.judge import judge
from instances.instance import Instance
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations
from instances.tables import Tables
from solvers.core.interface import Budget, Status
from tests.cases import CLOSE, FEASIBLE, Case, named
from tests.editing import hand_instance
from tests.random_instances import random_instance
from tests.solving import outcome_of, problem_of, solved

UNCAPPED = [case for case in FEASIBLE if not case.power_capped]


def all_plans(instance: Instance) -> set[Plan]:
    """Every feasible plan up to symmetry, by trying everything and keeping canonical forms."""
    found = set()
    layers = instance.model.layers
    groups = range(len(instance.groups))
    for grid in Tables.of(instance).grids():
        for split in itertools.product(range(1, layers + 1), repeat=grid.stages):
            if sum(split) != layers:
                continue
            rows = list(itertools.product(groups, repeat=grid.stages))
            for chosen in itertools.combinations_with_replacement(rows, grid.replicas):
                plan = Plan.from_groups(grid.micro_batch, split, chosen)
                known = all(gpu.number < instance.groups[gpu.group].count for row in plan.pipelines for gpu in row)
                if known and not violations(instance, plan):
                    found.add(plan)
    return found


@pytest.mark.parametrize("case", **named(UNCAPPED))
def test_every_plan_is_costed_once(case: Case) -> None:
    outcome = outcome_of("brute", problem_of(case.instance, "time"))
    assert outcome.evaluations == case.truth["feasible_plans_up_to_symmetry"]
    assert not outcome.limit_reached


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_better_than_the_optimum(seed: int) -> None:
    """Against a second enumeration that shares no code with the first but the referee."""
    instance = random_instance(seed, gpus=3)
    evaluations = [evaluate(instance, plan) for plan in all_plans(instance)]
    for objective in ("time", "energy", "carbon", "cost"):
        found = solved("brute", instance, objective)
        goal = problem_of(instance, objective).goal
        expected = min((goal.value(evaluation) for evaluation in evaluations), default=None)
        assert found.value == (expected and pytest.approx(expected, rel=CLOSE, abs=0))
        assert found.status is (Status.INFEASIBLE if expected is None else Status.OPTIMAL)
    points = {(evaluation.time_s, evaluation.energy_j) for evaluation in evaluations}
    best = sorted(
        point
        for point in points
        if not any(
            other != point and other[0] <= point[0] * (1 + CLOSE) and other[1] <= point[1] * (1 + CLOSE)
            for other in points
        )
    )
    front = solved("brute", instance, "front").front or ()
    found_points = [(point.evaluation.time_s, point.evaluation.energy_j) for point in front]
    assert len(found_points) >= len(best)
    assert all(any(point == pytest.approx(kept, rel=2 * CLOSE) for kept in found_points) for point in best)


@pytest.mark.parametrize("objective", ["time", "energy"])
def test_cut_short_it_has_what_it_found_and_proves_nothing(objective: str) -> None:
    case = max(FEASIBLE, key=lambda case: case.truth["feasible_plans_up_to_symmetry"])
    problem = problem_of(case.instance, objective)
    whole = outcome_of("brute", problem).evaluations
    seen = set()
    for evaluations in (0, 1, 10, whole // 2, whole - 1, whole, whole + 1):
        outcome = outcome_of("brute", problem, Budget(evaluations=evaluations))
        verdict = judge(problem, outcome)
        assert outcome.evaluations <= evaluations
        assert outcome.limit_reached == (outcome.status is not Status.OPTIMAL)
        assert verdict.status is outcome.status
        seen.add(outcome.status)
        if evaluations < whole:
            assert outcome.status in (Status.FEASIBLE, Status.UNKNOWN)
            assert outcome.bound is None
    assert seen == {Status.UNKNOWN, Status.FEASIBLE, Status.OPTIMAL}


def test_a_front_cut_short_is_not_complete() -> None:
    case = max(FEASIBLE, key=lambda case: case.truth["feasible_plans_up_to_symmetry"])
    problem = problem_of(case.instance, "front")
    outcome = outcome_of("brute", problem, Budget(evaluations=100))
    verdict = judge(problem, outcome)
    assert (outcome.status, verdict.status) == (Status.FEASIBLE, Status.FEASIBLE)
    assert verdict.front
    nothing = outcome_of("brute", problem, Budget(evaluations=0))
    assert (nothing.status, nothing.front) == (Status.UNKNOWN, None)


def test_the_front_does_not_depend_on_how_often_the_clock_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    case = FEASIBLE[4]
    whole = solved("brute", case.instance, "front")
    monkeypatch.setattr("solvers.brute.CHUNK", 7)
    assert solved("brute", case.instance, "front").front == whole.front
    assert solved("brute", case.instance, "time").value == pytest.approx(case.truth["time_s"], rel=CLOSE)


def test_an_instance_without_a_usable_micro_batch_is_infeasible() -> None:
    assert solved("brute", hand_instance(training__micro_batches=[3, 5]), "time").status is Status.INFEASIBLE
    assert solved("brute", hand_instance(training__micro_batches=[3, 5]), "front").status is Status.INFEASIBLE
