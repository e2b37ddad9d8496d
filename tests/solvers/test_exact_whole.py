"""The plain models of whole grids: the same optimum as the searches and as enumeration, and honest when cut off."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from instances.objective import Goal
from solvers.brute import Brute
from solvers.core.interface import Budget, Monitor, Problem, Status
from solvers.core.registry import make_solver
from tests.random_instances import random_instance
from tests.solvers.test_exact import METHODS, Heard, check_against_enumeration, problems

ROOT = Path(__file__).parents[2]
TIME = Goal(time_weight=1.0)
OURS = ("grid_bounds", "bounded_costs", "relaxation", "propagation", "lagrangian", "joint_", "branching", "node")


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(6, 120))])
def test_whole_models_searches_and_enumeration_agree(seed: int) -> None:
    for text, problem in problems(seed):
        plan = Brute().solve(problem, Budget(), Monitor()).plan
        optimum = None if plan is None else problem.value(plan)
        for name, options in METHODS:
            for whole in ("true", "false"):
                heard = Heard()
                solver = make_solver(name, {**options, "start": "none", "whole": whole})
                outcome = solver.solve(problem, Budget(), heard.monitor())
                where = f"{name} {options}, whole={whole}, random instance {seed}, {text}"
                assert outcome.status is (Status.INFEASIBLE if optimum is None else Status.OPTIMAL), where
                check_against_enumeration(problem, outcome, heard, where)
                if outcome.plan is not None:
                    assert problem.value(outcome.plan) == pytest.approx(optimum, rel=1e-6), where


@pytest.mark.parametrize(("name", "options"), METHODS)
def test_every_grid_is_listed_with_its_own_bound(name: str, options: dict[str, str]) -> None:
    problem = Problem(random_instance(3), TIME)
    outcome = make_solver(name, {**options, "start": "none", "whole": "true"}).solve(problem, Budget(), Monitor())
    grids = outcome.details["grids"]
    assert [(g["replicas"], g["stages"], g["micro_batch"]) for g in grids] == [tuple(g) for g in problem.tables.grids()]
    for grid in grids:
        assert grid["whole"] is True
        assert grid["cheap_bound"] is None
        assert grid["closed"] in ("solved", "infeasible")
        assert (grid["bound"] is None) == (grid["closed"] == "infeasible")
    assert outcome.plan is not None
    value = problem.value(outcome.plan)
    assert outcome.bound == min([value, *(grid["bound"] for grid in grids if grid["bound"] is not None)])


@pytest.mark.parametrize(("name", "options"), METHODS)
@pytest.mark.parametrize("evaluations", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_cut_off_it_claims_nothing_false(name: str, options: dict[str, str], evaluations: int, seed: int) -> None:
    """Grids that were not reached leave no bound at all: optimal only when each was solved."""
    for text, problem in problems(seed):
        heard = Heard()
        solver = make_solver(name, {**options, "start": "megatron", "whole": "true"})
        outcome = solver.solve(problem, Budget(evaluations=evaluations), heard.monitor())
        check_against_enumeration(problem, outcome, heard, f"{name} {options}, random instance {seed}, {text}")
        if any(grid["closed"] == "open" for grid in outcome.details["grids"]):
            assert outcome.status is not Status.OPTIMAL
            assert outcome.limit_reached


@pytest.mark.parametrize(("name", "options"), METHODS)
def test_a_pool_too_big_for_its_budget_gives_an_honest_answer(name: str, options: dict[str, str]) -> None:
    problem = Problem(random_instance(5, 10), TIME)
    truth = make_solver("cpsat", {"start": "megatron"}).solve(problem, Budget(), Monitor())
    assert truth.status is Status.OPTIMAL
    assert truth.plan is not None
    optimum = problem.value(truth.plan)
    assert optimum is not None
    solver = make_solver(name, {**options, "start": "none", "whole": "true"})
    outcome = solver.solve(problem, Budget(seconds=0.05), Monitor())
    assert outcome.status in (Status.FEASIBLE, Status.UNKNOWN)
    assert outcome.limit_reached
    assert outcome.bound is None or outcome.bound <= optimum * (1 + 1e-12)


@pytest.mark.parametrize("name", ["cpsat", "milp"])
def test_a_start_plan_is_a_cutoff_and_never_lost(name: str) -> None:
    instance = random_instance(2)
    best = Brute().solve(Problem(instance, TIME), Budget(), Monitor()).plan
    assert best is not None
    problem = Problem(instance, TIME, start=best)
    outcome = make_solver(name, {"start": "none", "whole": "true"}).solve(problem, Budget(), Monitor())
    assert outcome.status is Status.OPTIMAL
    assert outcome.plan is not None
    assert problem.value(outcome.plan) == problem.value(best)


def test_it_imports_none_of_the_searchs_reasoning() -> None:
    """What the whole models are made of, followed through its imports, is free of bounds and relaxations."""
    waiting, seen = ["solvers.exact.whole", "solvers.exact.cpsat_model.model", "solvers.exact.milp_model.model"], set()
    while waiting:
        module = waiting.pop()
        path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
        if module in seen or not path.is_file():
            continue
        seen.add(module)
        assert not any(module.split(".")[-1].startswith(name) for name in OURS), module
        statements = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        imported = [str(s.module) for s in statements if isinstance(s, ast.ImportFrom)]
        waiting += [name for name in imported if name.startswith("solvers.exact")]
    assert len(seen) > 10
