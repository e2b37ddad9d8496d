"""`random`: its distribution, its repair, its budget."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from instances.generator.family import generate
from instances.tables import Tables
from solvers.core.interface import Budget, Status
from solvers.kernel.packed import pack
from solvers.random import grids_within_memory
from tests.cases import FEASIBLE, INFEASIBLE, Case, named
from tests.random_instances import random_instance
from tests.solving import outcome_of, problem_of

DRAWS = 12_000


def share(counts: Counter[tuple[int, ...]]) -> list[float]:
    return [count / DRAWS for count in counts.values()]


# The distribution


def test_every_split_is_equally_likely() -> None:
    """5 layers on 3 stages: 4 choose 2 = 6 splits."""
    from tests.solvers.kernel_calls import draw_split

    rng, layers, seen = np.random.default_rng(1), np.zeros(3, dtype=np.int64), Counter[tuple[int, ...]]()
    for _ in range(DRAWS):
        draw_split(rng, 5, 3, layers)
        seen[tuple(layers)] += 1
    assert all(sum(split) == 5 and min(split) >= 1 for split in seen)
    assert share(seen) == pytest.approx([1 / 6] * 6, abs=0.02)


@pytest.mark.parametrize("stages", [1, 7])
def test_one_stage_and_one_layer_a_stage_have_one_split(stages: int) -> None:
    from tests.solvers.kernel_calls import draw_split

    layers = np.zeros(stages, dtype=np.int64)
    draw_split(np.random.default_rng(0), 7, stages, layers)
    assert layers.tolist() == [7 // stages] * stages


def test_every_selection_and_order_of_gpus_is_equally_likely() -> None:
    """Two slots of four different GPUs: 12 ways."""
    from tests.solvers.kernel_calls import draw_groups

    rng, gpus, seen = np.random.default_rng(1), np.arange(4), Counter[tuple[int, ...]]()
    for _ in range(DRAWS):
        draw_groups(rng, gpus, 2)
        seen[tuple(gpus[:2])] += 1
    assert share(seen) == pytest.approx([1 / 12] * 12, abs=0.02)


def test_a_grid_that_is_left_out_has_no_plan_and_those_with_plans_stay() -> None:
    for case in INFEASIBLE + FEASIBLE:
        tables = Tables.of(case.instance)
        grids = grids_within_memory(tables)
        assert set(grids) <= set(tables.grids())
        if case.feasible:
            plan = case.plan("time_plan")
            assert (plan.replicas, plan.stages, plan.micro_batch) in grids


def test_repair_moves_layers_until_all_fit_or_says_that_they_cannot() -> None:
    from tests.solvers.kernel_calls import draw_groups, draw_split, repair_split

    rng = np.random.default_rng(0)
    repaired = 0
    for seed in range(30):
        problem = problem_of(random_instance(seed), "time")
        tables = problem.tables
        packed = pack(tables, problem.goal)
        for grid in grids_within_memory(tables):
            r, b = tables.indices(grid)
            gpus = np.repeat(np.arange(len(tables.counts)), tables.counts)
            draw_groups(rng, gpus, grid.replicas * grid.stages)
            groups = gpus[: grid.replicas * grid.stages].reshape(grid.replicas, grid.stages)
            layers = np.zeros(grid.stages, dtype=np.int64)
            draw_split(rng, tables.layers, grid.stages, layers)
            last = grid.stages - 1
            most = [
                min(int(tables.fits[r, b, k, int(s == 0), int(s == last)]) for k in groups[:, s])
                for s in range(grid.stages)
            ]
            fits = repair_split(rng, packed, r, b, grid.stages, gpus, layers, packed.whole[0])
            assert fits == (min(most) >= 1 and sum(most) >= tables.layers)
            if fits:
                repaired += 1
                assert layers.sum() == tables.layers
                assert all(1 <= count <= limit for count, limit in zip(layers, most, strict=True))
    assert repaired > 50


# The solver


@pytest.mark.parametrize("case", **named(FEASIBLE[:4]))
def test_many_draws_come_within_a_tenth_of_the_optimum_of_a_tiny_case(case: Case) -> None:
    problem = problem_of(case.instance, "time")
    outcome = outcome_of("random", problem, Budget(evaluations=100_000))
    assert outcome.plan is not None
    assert problem.value(outcome.plan) <= case.truth["time_s"] * 1.1


def test_the_seed_decides() -> None:
    problem = problem_of(generate("dtfm", 64, 0, {"scenario": "worldwide", "gpu-mix": "mixed"}), "time")
    plans = [outcome_of("random", problem, Budget(evaluations=500, seed=seed)).plan for seed in (0, 0, 1)]
    assert plans[0] == plans[1] != plans[2]


def test_more_draws_are_never_worse() -> None:
    problem = problem_of(generate("cloud", 32, 0, {}), "energy")
    values = []
    for evaluations in (200, 2000):
        outcome = outcome_of("random", problem, Budget(evaluations=evaluations))
        assert outcome.evaluations == evaluations
        assert outcome.plan is not None
        values.append(problem.value(outcome.plan))
    assert values[1] <= values[0]  # type: ignore[operator]


def test_it_ends_by_itself_without_a_budget() -> None:
    outcome = outcome_of("random", problem_of(FEASIBLE[0].instance, "time"))
    assert (outcome.status, outcome.evaluations, outcome.limit_reached) == (Status.FEASIBLE, 20_000, False)


def test_where_nothing_fits_it_has_no_plan() -> None:
    for case in INFEASIBLE:
        outcome = outcome_of("random", problem_of(case.instance, "time"), Budget(evaluations=1000))
        assert (outcome.status, outcome.plan) == (Status.UNKNOWN, None)
