"""The memetic solver: the optimum on tiny instances, honesty about budgets, and repeatability."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from instances.errors import InputError
from instances.files import write_instance
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Status
from solvers.core.registry import make_solver
from solvers.memetic.algorithm import Memetic
from solvers.memetic.parameters import ALLOWED
from tests.cases import CLOSE, FEASIBLE, INFEASIBLE, Case
from tests.random_instances import random_instance, random_objectives
from tests.solving import outcome_of, problem_of

TINY = 150_000
"""Evaluations: far less than a second, many times the plans of most cases."""


def search(problem: Problem, evaluations: int = TINY, seed: int = 0) -> Outcome:
    return Memetic().solve(problem, Budget(evaluations=evaluations, seed=seed), Monitor())


def value_of(problem: Problem, outcome: Outcome) -> float:
    assert outcome.status is Status.FEASIBLE
    assert outcome.plan is not None
    value = problem.value(outcome.plan)
    assert value is not None
    return value


def points_of(problem: Problem, plans: tuple[Plan, ...] | None) -> list[tuple[float, float]]:
    evaluations = [evaluate(problem.instance, plan) for plan in plans or ()]
    return [(evaluation.time_s, evaluation.energy_j) for evaluation in evaluations]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", FEASIBLE, ids=lambda case: case.name)
def test_the_optimum_of_every_case(case: Case, seed: int) -> None:
    truths = {"time": "time_s", "energy": "energy_j", "carbon": "carbon_g", "weighted:0.5": "weighted_05"}
    wanted = {objective: case.truth[key] for objective, key in truths.items() if key in case.truth}
    wanted[f"energy@{case.truth['time_cap_s']!r}"] = case.truth["energy_at_cap_j"]
    for objective, truth in wanted.items():
        problem = problem_of(case.instance, objective)
        assert value_of(problem, search(problem, seed=seed)) == pytest.approx(truth, rel=CLOSE), objective


@pytest.mark.parametrize("case", FEASIBLE, ids=lambda case: case.name)
def test_the_whole_front_of_every_case(case: Case) -> None:
    problem = problem_of(case.instance, "front")
    outcome = search(problem, evaluations=600_000)
    assert outcome.plan is None
    truth = case.truth["front_time_s_energy_j"]
    found = points_of(problem, outcome.front)
    assert found == [pytest.approx(point, rel=CLOSE) for point in truth]


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_that_enumeration_proves(seed: int) -> None:
    instance = random_instance(seed, gpus=4)
    for objective in ("time", "energy", "weighted:0.5"):
        if objective != "time" and outcome_of("megatron", problem_of(instance, "time")).plan is None:
            continue
        problem = problem_of(instance, objective)
        exact = outcome_of("brute", problem)
        if exact.plan is None:
            assert search(problem).status is Status.UNKNOWN
        else:
            truth = problem.value(exact.plan)
            assert value_of(problem, search(problem)) == pytest.approx(truth, rel=CLOSE)


def test_the_front_has_the_hypervolume_of_the_exact_one() -> None:
    import moocore

    problem = problem_of(random_instance(11, gpus=5), "front")
    exact = np.array(points_of(problem, outcome_of("brute", problem).front))
    found = np.array(points_of(problem, search(problem, evaluations=600_000).front))
    corner = exact.max(axis=0) * 1.1
    assert moocore.hypervolume(found, ref=corner) == pytest.approx(moocore.hypervolume(exact, ref=corner), rel=CLOSE)
    assert moocore.is_nondominated(found).all()


@pytest.mark.parametrize("seed", [0, 1, 3, 5, 8, 10])  # random instances with a uniform plan
def test_never_worse_than_the_uniform_plan_even_with_little_time(seed: int) -> None:
    instance = random_instance(seed)
    uniform = outcome_of("megatron", problem_of(instance, "time")).plan
    assert uniform is not None
    evaluation = evaluate(instance, uniform)
    for objective in random_objectives(seed, evaluation.time_s, evaluation.energy_j):
        problem = problem_of(instance, objective)
        value = problem.value(uniform)
        if value is not None:
            assert value_of(problem, search(problem, evaluations=400)) <= value * (1 + CLOSE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tries": "-5"}, "option 'tries': found -5, expected at least 1"),
        ({"elites": "0"}, "option 'elites': found 0"),
        ({"cold": "nan"}, "option 'cold': found nan"),
        ({"hot": "inf"}, "option 'hot': found inf"),
        ({"focus": "1.5"}, "option 'focus': found 1.5, expected a number from 0 to 1"),
        ({"transplant": "0.5", "crossover": "0.6"}, "their sum is above 1"),
        ({"starts": "-5"}, "unknown option 'starts'"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        make_solver("memetic", options)
    assert "\n" not in str(caught.value)


def test_every_option_that_is_a_number_has_limits() -> None:
    numbers = {field.name for field in fields(Memetic) if not isinstance(field.default, bool)}
    assert numbers == set(ALLOWED)


def test_every_plan_it_tells_of_is_feasible_and_better_than_the_one_before() -> None:
    told: list[Plan] = []
    instance = random_instance(2, gpus=6)
    problem = problem_of(instance, "time")
    Memetic().solve(problem, Budget(evaluations=TINY), Monitor(on_plan=told.append))
    assert told
    assert not any(violations(instance, plan) for plan in told)
    values = [problem.value(plan) for plan in told]
    assert values == sorted(values, key=lambda value: -(value or 0.0))


@pytest.mark.parametrize("budget", [Budget(seconds=0.0), Budget(evaluations=0)], ids=["seconds", "evaluations"])
@pytest.mark.parametrize("objective", ["time", "front"])
def test_a_budget_of_nothing_gives_nothing(budget: Budget, objective: str) -> None:
    outcome = Memetic().solve(problem_of(FEASIBLE[0].instance, objective), budget, Monitor())
    assert outcome.status is Status.UNKNOWN
    assert outcome.evaluations == 0


def test_without_a_budget_it_ends_by_itself() -> None:
    solver = Memetic(default_evaluations=2000)
    outcome = solver.solve(problem_of(FEASIBLE[0].instance, "time"), Budget(), Monitor())
    assert outcome.limit_reached
    assert outcome.evaluations >= 2000


@pytest.mark.parametrize("objective", ["time", "front"])
@pytest.mark.parametrize("case", INFEASIBLE, ids=lambda case: case.name)
def test_where_nothing_fits_it_does_not_know(case: Case, objective: str) -> None:
    assert search(problem_of(case.instance, objective), evaluations=2000).status is Status.UNKNOWN


PROGRAM = """
import json, sys
from instances.files import read_instance
from instances.objective import parse_objective
from solvers.core.interface import Budget, Monitor, Problem
from solvers.memetic.algorithm import Memetic
problem = Problem(read_instance(sys.argv[1]), parse_objective("time").goal())
outcome = Memetic().solve(problem, Budget(evaluations=20000, seed=int(sys.argv[2])), Monitor())
print(json.dumps([repr(outcome.plan), [(point.evaluations, point.value) for point in outcome.trace]]))
"""


def test_the_same_seed_gives_the_same_in_another_process_and_another_seed_does_not(tmp_path: Path) -> None:
    path = tmp_path / "instance.json"
    instance = random_instance(5, gpus=24)
    write_instance(path, instance)

    def elsewhere(seed: int) -> list[object]:
        call = [sys.executable, "-c", PROGRAM, str(path), str(seed)]
        done = subprocess.run(call, capture_output=True, text=True, check=True, timeout=120)
        answer: list[object] = json.loads(done.stdout)
        return answer

    first = elsewhere(1)
    outcome = search(problem_of(instance, "time"), evaluations=20000, seed=1)
    assert first == [repr(outcome.plan), [[point.evaluations, point.value] for point in outcome.trace]]
    assert elsewhere(2)[1] != first[1]
