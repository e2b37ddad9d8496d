"""How the memetic search divides its work among grids, and how plans move from one to another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from instances.objective import parse_objective
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations
from solvers.core.interface import Budget, Monitor, Problem
from solvers.core.registry import make_solver
from solvers.memetic.grids import bounds_of, grids_to_search
from tests.random_instances import random_instance
from tests.random_plans import with_ample_memory
from tests.solving import outcome_of, problem_of


def search_of(seed: int, gpus: int) -> tuple[Any, Problem]:
    from solvers.memetic.algorithm import Memetic, make_search

    solver = make_solver("memetic", {})
    assert isinstance(solver, Memetic)
    problem = Problem(with_ample_memory(random_instance(seed, gpus=gpus)), parse_objective("time").goal(None))
    return make_search(solver, problem, grids_to_search(problem.tables), seed), problem


def niche_of(problem: Problem, plan: Plan) -> int:
    """Position of the plan's grid among those searched."""
    tables = problem.tables
    grid = tables.replicas.index(plan.replicas), tables.micro_batches.index(plan.micro_batch), plan.stages
    return grids_to_search(tables).tolist().index(list(grid))


@pytest.mark.parametrize("seed", range(6))
def test_moves_to_other_grids_make_whole_plans_of_those_grids(seed: int) -> None:
    from solvers.memetic import grid_moves
    from solvers.memetic.search import advance
    from tests.solvers.kernel_calls import callable_from_python, load

    move = callable_from_python(grid_moves.change_grid)

    search, problem = search_of(seed, 6)
    tables = problem.tables
    advance(search, 100, 100)
    seen = set()
    for _ in range(60):
        p = search.p
        before = p.q.copy()
        grid = np.zeros(3, dtype=np.int64)
        if not move(p, search.rng, search.population.at, grid):
            assert np.array_equal(before, p.q)
            advance(search, 100, 100)  # some grids have no neighbour
            continue
        r, b, stages = grid.tolist()
        assert search.population.at[r, b, stages] >= 0
        replicas = tables.replicas[r]
        assert p.layers[:stages].min() >= 1
        assert p.layers[:stages].sum() == tables.layers
        assert np.array_equal(np.bincount(p.group, minlength=len(tables.counts)), tables.counts)
        groups = p.group[: replicas * stages].reshape(replicas, stages)
        plan = Plan.from_groups(tables.micro_batches[b], p.layers[:stages], groups)
        load(*p[:3], r, b, stages)
        if not violations(problem.instance, plan):
            assert p.result[0] == pytest.approx(evaluate(problem.instance, plan).time_s, rel=1e-9)
            seen.add((r, b, stages))
    assert len(seen) > 1


def test_a_stage_put_in_can_be_taken_out_again() -> None:
    from solvers.memetic import grid_moves
    from tests.solvers.kernel_calls import callable_from_python

    put_in = callable_from_python(grid_moves.insert_column)
    take_out = callable_from_python(grid_moves.remove_column)
    p = search_of(2, 14)[0].p
    before = np.arange(14)
    for s in range(4):
        group = before.copy()
        put_in(p, group, s, 3, 3)
        placed = group[:12].reshape(3, 4)
        assert placed[:, s].tolist() == [9, 10, 11]
        assert np.delete(placed, s, axis=1).ravel().tolist() == list(range(9))
        take_out(p, group, s, 3, 4)
        assert np.array_equal(group, before)


def test_no_grid_is_forgotten() -> None:
    from solvers.memetic.search import advance

    search, _ = search_of(2, 6)
    advance(search, 600_000, 600_000)
    assert search.population.visits.min() > search.population.visits.max() / 10


def test_it_goes_on_where_no_grid_can_hold_a_better_plan() -> None:
    from solvers.memetic.search import advance

    search, _ = search_of(2, 6)
    advance(search, 100_000, 100_000)
    search.population.bound[:] = search.archive.best[0]
    assert advance(search, 20_000, 20_000) >= 20_000


def test_the_grid_of_the_optimum_is_never_closed() -> None:
    problem = problem_of(random_instance(4, gpus=6), "time")
    optimum = outcome_of("brute", problem).plan
    assert optimum is not None
    value = problem.value(optimum)
    assert value is not None
    bounds = bounds_of(problem, grids_to_search(problem.tables))
    assert bounds[niche_of(problem, optimum)] <= value


def test_closed_grids_get_no_descendants() -> None:
    from solvers.memetic.search import advance

    search, _ = search_of(2, 6)
    advance(search, 20_000, 20_000)
    search.population.bound[::2] = search.archive.best[0]
    before = search.population.visits.copy()
    advance(search, 50_000, 50_000)
    assert (search.population.visits[1::2] > before[1::2]).all()
    assert np.array_equal(search.population.visits[::2], before[::2])


@pytest.mark.parametrize("objective", ["time", "front"])
def test_a_start_replaces_a_worse_plan_of_its_grid(objective: str) -> None:
    """A front, too, which has no goal before its first child."""
    from solvers.memetic.algorithm import Memetic, make_search
    from solvers.memetic.search import advance
    from solvers.memetic.warm_starts import warm_starts

    fastest = Problem(with_ample_memory(random_instance(3, gpus=6)), parse_objective("time").goal(None))
    start = Memetic().solve(fastest, Budget(evaluations=20_000), Monitor()).plan
    assert start is not None
    problem = Problem(fastest.instance, parse_objective(objective).goal(None))
    tables = problem.tables
    grids = grids_to_search(tables)
    search = make_search(Memetic(elites=1), problem, grids, 0)._replace(starts=warm_starts(tables, grids, start, ()))
    advance(search, len(grids) + 1, len(grids) + 1)
    own = niche_of(problem, start)
    assert search.population.merit[own, 0, 0] == pytest.approx(evaluate(problem.instance, start).time_s)
    assert search.population.visits.sum() == 0
