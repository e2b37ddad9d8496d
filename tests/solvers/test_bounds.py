"""The cheap bounds: never above a grid's optimum, equal for equal instances, tight where nothing is left to choose."""

from __future__ import annotations

import numpy as np
import pytest

from instances.objective import Goal, Reference, parse_objective
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.tables import Grid, Tables
from solvers.brute import Brute, _Search
from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Problem
from solvers.exact.grid_bounds import GridBound, grid_bounds, instant_bound, powered_gpus
from solvers.kernel.packed import pack
from tests.random_instances import random_instance, random_objectives

SEEDS = [*range(20), *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(20, 320))]
TIME = Goal(time_weight=1.0)


def best_on(problem: Problem, grid: Grid) -> Plan | None:
    """The best plan on one grid, by enumeration."""
    search = _Search(problem, pack(problem.tables, problem.goal))
    search.exhaust(grid, Deadline(), Monitor())
    plans = search.plans()
    return plans[0] if plans else None


@pytest.mark.parametrize("seed", SEEDS)
def test_no_grid_has_a_plan_below_its_bound(seed: int) -> None:
    instance = random_instance(seed)
    fastest = Brute().solve(Problem(instance, TIME), Budget(), Monitor()).plan
    if fastest is None:
        assert all(best_on(Problem(instance, TIME), bound.grid) is None for bound in _bounds(seed, TIME))
        return
    found = evaluate(instance, fastest)
    for text in random_objectives(seed, found.time_s, found.energy_j):
        goal = parse_objective(text).goal(Reference(found.time_s, found.energy_j))
        problem = Problem(instance, goal)
        best = Brute().solve(problem, Budget(), Monitor()).plan
        if best is not None:
            instant, optimum = instant_bound(problem.tables, goal), problem.value(best)
            assert instant is not None
            assert optimum is not None
            assert instant <= optimum, text
        for bound in grid_bounds(problem.tables, goal):
            best = best_on(problem, bound.grid)
            if best is not None:
                value, cost = problem.value(best), evaluate(instance, best)
                assert value is not None
                assert bound.value is not None
                assert bound.value <= value, f"{text} on {bound.grid}"
                assert bound.time_s <= cost.time_s
                assert bound.energy <= cost.energy_as(goal.metric)


def test_every_legal_grid_has_a_bound() -> None:
    tables = Tables.of(random_instance(1))
    assert [bound.grid for bound in grid_bounds(tables, TIME)] == tables.grids()


def test_bounds_of_equal_instances_are_equal() -> None:
    assert _bounds(3, TIME) == _bounds(3, TIME)


def test_the_bound_is_the_optimum_where_nothing_is_left_to_choose() -> None:
    """A single GPU and a single stage: compute and nothing else, (M - 1) further micro-batches in step."""
    seed = next(seed for seed in range(100) if random_instance(seed, 1).groups[0].memory > 1e6)
    instance = random_instance(seed, 1)
    problem = Problem(instance, TIME)
    for bound in grid_bounds(problem.tables, TIME):
        best = best_on(problem, bound.grid)
        if best is not None:
            assert bound.value == pytest.approx(problem.value(best), rel=1e-8)


def test_a_grid_that_memory_forbids_has_no_bound() -> None:
    instance = random_instance(0)
    groups = tuple(group.model_copy(update={"memory": 1.0}) for group in instance.groups)
    starved = instance.model_copy(update={"groups": groups})
    assert all(bound.value is None for bound in grid_bounds(Tables.of(starved), TIME))


def test_power_caps_limit_how_many_gpus_can_run() -> None:
    """A cap of twice the least draw lets two of the least hungry GPUs of a site run, at most."""
    instance = random_instance(4, 6)
    region = instance.groups[0].region
    least = min(group.power_active for group in instance.groups if group.region == region)
    here = sum(group.count for group in instance.groups if group.region == region)
    sites = {name: site.model_copy(update={"power_cap": None}) for name, site in (instance.sites or {}).items()}
    sites[region] = sites[region].model_copy(update={"power_cap": 2 * least})
    capped = instance.model_copy(update={"sites": sites})
    assert powered_gpus(Tables.of(capped)) <= instance.gpus - here + min(here, 2)


def test_a_cap_below_every_time_leaves_no_grid() -> None:
    goal = Goal(energy_weight=1.0, time_cap=1e-9)
    assert all(bound.value is None for bound in _bounds(0, goal))


def _bounds(seed: int, goal: Goal) -> list[GridBound]:
    return grid_bounds(Tables.of(random_instance(seed), goal.metric), goal)


def test_bounds_are_finite_numbers() -> None:
    values = [bound.value for seed in range(10) for bound in _bounds(seed, TIME)]
    assert all(value is None or np.isfinite(value) for value in values)
