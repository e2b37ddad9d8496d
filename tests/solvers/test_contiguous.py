"""`contiguous`: its layouts by hand, what it promises against the uniform baseline, and its size."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.runs.suite import read_suite, tasks_of
from instances.generator.family import generate
from instances.instance import Instance
from instances.tables import Tables
from solvers.contiguous import Contiguous
from solvers.core.interface import Budget, Monitor, Status
from solvers.kernel.packed import pack
from solvers.placements.columns import new_columns
from solvers.placements.layouts import pipelines_inside_sites, stages_across_sites, stages_inside_sites
from solvers.placements.sites import Site, fast_sites, short_paths
from tests.editing import changed, hand_instance
from tests.random_instances import random_instance
from tests.random_plans import with_ample_memory
from tests.solving import outcome_of, problem_of

CLOSE = 1e-9
WEST, EAST = Site("west", (0, 0, 1)), Site("east", (2, 2))


def tables_of(batch: int = 4, layers: int = 4) -> Tables:
    return Tables.of(hand_instance(training__global_batch=batch, model__layers=layers, groups__0__count=8))


def grids_of(layout: Any) -> dict[tuple[int, int], list[list[int]]]:
    """The layout's R x S arrays by (R, S)."""
    return {placed.shape: placed.tolist() for placed in layout}


def demo_instances() -> dict[str, Instance]:
    suite, folder = read_suite("demo")
    return {task.instance.name: task.instance for task in tasks_of(suite, folder, "demo")}


# Layouts


def test_a_stage_stays_inside_a_site_and_the_odd_gpu_is_left_out() -> None:
    """Two holders a stage: one stage in the west, whose third GPU is left over, one in the east."""
    placed = grids_of(stages_inside_sites(tables_of(), [WEST, EAST]))
    assert placed[2, 2] == [[0, 2], [0, 2]]
    assert (2, 3) not in placed


def test_stages_in_a_row_cross_the_border_between_small_sites() -> None:
    placed = grids_of(stages_across_sites(tables_of(), WEST.gpus + EAST.gpus))
    assert placed[2, 2] == [[0, 1], [0, 2]]
    assert placed[4, 1] == [[0], [0], [1], [2]]
    assert (2, 1) not in placed  # the first column of the above


def test_whole_pipelines_stay_inside_a_site_and_fast_gpus_serve_the_first_stages() -> None:
    """Depth 2: one pipeline of the west's fastest GPUs, one in the east. Depth 1: a pipeline for each GPU."""
    placed = grids_of(pipelines_inside_sites(tables_of(), [WEST, EAST]))
    assert placed[2, 2] == [[0, 0], [2, 2]]
    assert placed[4, 1] == [[0], [0], [1], [2]]
    assert placed[1, 3] == [[0, 0, 1]]


def test_slow_types_leave_the_pool_one_after_the_other() -> None:
    instance = hand_instance(groups__0__count=2)
    regions = [[site.region for site in sites] for sites in fast_sites(instance, Tables.of(instance))]
    assert regions == [["west", "east"], ["east"]]


def test_a_capped_site_lends_what_its_cap_allows() -> None:
    instance = changed(hand_instance(groups__0__count=4), {"sites": {"west": {"power_cap": 250}}})
    sites = next(iter(fast_sites(instance, Tables.of(instance))))
    assert {site.region: len(site.gpus) for site in sites} == {"west": 2, "east": 1}


def test_a_path_goes_on_to_the_nearest_site() -> None:
    instance = generate("dtfm", 64, 0, {"scenario": "worldwide"})
    tables = Tables.of(instance)
    for path in short_paths(tables, next(iter(fast_sites(instance, tables)))):
        assert len(path) == len({site.region for site in path}) == 8


# Plans


@pytest.mark.parametrize("objective", ["time", "energy"])
@pytest.mark.parametrize(("name", "instance"), demo_instances().items())
def test_it_is_never_worse_than_megatron_on_the_demo_suite(name: str, instance: Instance, objective: str) -> None:
    problem = problem_of(instance, objective)
    found, uniform = (problem.value(outcome_of(solver, problem).plan) for solver in ("contiguous", "megatron"))  # type: ignore[arg-type]
    assert found is not None
    assert uniform is not None
    assert found <= uniform * (1 + CLOSE)


@pytest.mark.parametrize("seed", range(12))
def test_it_has_a_plan_wherever_megatron_has_one_and_a_better_value(seed: int) -> None:
    problem = problem_of(random_instance(seed), "time")
    uniform, found = outcome_of("megatron", problem).plan, outcome_of("contiguous", problem).plan
    if uniform is not None:
        assert found is not None
        assert problem.value(found) <= problem.value(uniform) * (1 + CLOSE)  # type: ignore[operator]


def test_single_gpus_all_over_the_world_make_a_plan() -> None:
    instance = with_ample_memory(random_instance(1, 6))
    alone = {f"groups.{k}.region": f"place-{k}" for k in range(len(instance.groups))}
    sites = {f"place-{k}": {"carbon": 1.0, "price": 1.0} for k in range(len(instance.groups))}
    outcome = outcome_of("contiguous", problem_of(changed(instance, {**alone, "sites": sites}), "time"))
    assert outcome.status is Status.FEASIBLE
    assert not outcome.limit_reached


@pytest.mark.parametrize(("vocab", "expected"), [(56, [4, 4]), (1400, [7, 1]), (100_000, [7, 1])])
def test_the_head_counts_in_the_split(vocab: int, expected: list[int]) -> None:
    """Equal GPUs, 8 blocks of 3 * 200,000 FLOP forward and backward, a head of 4 * 1,000 * vocab.

    vocab 56: 0.4 of a block, 4.4 against 4. vocab 1,400: 9.3 blocks, so every layer that can leaves the last stage.
    """
    from tests.solvers.kernel_calls import balance, fill_columns

    instance = with_ample_memory(hand_instance(model__layers=8, model__vocab=vocab, groups__1__flops=1e6))
    problem = problem_of(instance, "time")
    layers = np.zeros(2, dtype=np.int64)
    filled = new_columns(problem.tables)
    fill_columns(pack(problem.tables, problem.goal), 0, 0, np.array([[0, 1]]), 2, filled)
    slowest = balance(filled, False, np.inf, 2, layers)
    assert layers.tolist() == expected
    head = 4 * 1_000 * vocab / 1e6
    assert slowest == pytest.approx(max(0.6 * layers[0], 0.6 * layers[1] + head))


def test_no_split_of_layers_has_a_faster_slowest_stage() -> None:
    from tests.solvers.kernel_calls import balance, fill_columns

    for seed in range(20):
        problem = problem_of(random_instance(seed), "time")
        tables = problem.tables
        packed, filled = pack(tables, problem.goal), new_columns(tables)
        for grid in tables.grids():
            r, b = tables.indices(grid)
            groups = np.repeat(np.arange(len(tables.counts)), tables.counts)[: grid.replicas * grid.stages]
            groups = groups.reshape(grid.replicas, grid.stages)
            layers = np.zeros(grid.stages, dtype=np.int64)
            fill_columns(packed, r, b, groups, grid.stages, filled)
            for turned in (False, True):
                slowest = balance(filled, turned, np.inf, grid.stages, layers)
                stages = np.arange(grid.stages)
                columns = stages[::-1] if turned else stages
                first, last = (stages == 0).astype(int), (stages == grid.stages - 1).astype(int)
                splits = splits_within(tables.layers, filled.most[2 * first + last, columns])
                best = min((filled.seconds[last, columns, split].max() for split in splits), default=-1.0)
                assert slowest == pytest.approx(best)


def splits_within(layers: int, most: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Every split that the limits allow."""
    for cuts in itertools.combinations(range(1, layers), len(most) - 1):
        split = np.diff([0, *cuts, layers])
        if (split <= most).all():
            yield split


def test_an_evaluation_limit_ends_it_with_the_best_so_far() -> None:
    instance = generate("dtfm", 64, 0, {"scenario": "worldwide"})
    outcome = outcome_of("contiguous", problem_of(instance, "time"), Budget(evaluations=100))
    assert outcome.limit_reached
    assert 100 <= outcome.evaluations < 150  # it stops between placements
    assert outcome.plan is not None


def test_a_thousand_gpus() -> None:
    instance = generate("federation", 1024, 0, {})
    problem = problem_of(instance, "time")
    outcome = outcome_of("contiguous", problem)
    assert outcome.plan is not None
    assert problem.value(outcome.plan) is not None
    assert not outcome.limit_reached


@pytest.mark.wide
@pytest.mark.parametrize("objective", ["time", "energy"])
@pytest.mark.parametrize("family", ["cloud", "volunteer", "campus", "dtfm", "uniform", "profiled"])
def test_a_thousand_gpus_take_less_than_ten_seconds(family: str, objective: str) -> None:
    problem = problem_of(generate(family, 1024, 0, {}), objective)
    before = time.process_time()
    outcome = outcome_of("contiguous", problem)
    assert outcome.plan is not None
    assert time.process_time() - before < 10


# Parts of the rule


@pytest.mark.parametrize("seed", range(8))
def test_each_part_of_the_rule_can_be_left_out_and_never_helps_by_that(seed: int) -> None:
    """The usual launch, listed order and all GPUs, site by site with all GPUs, any GPUs: each no worse."""
    problem = problem_of(random_instance(seed, gpus=8), "time")
    usual = outcome_of("megatron", problem)
    steps: list[dict[str, str]] = [{"order": "listed", "gpus": "all"}, {"gpus": "all"}, {}]
    outcomes = [Contiguous(**step).solve(problem, Budget(), Monitor()) for step in steps]
    if usual.plan is None:
        return
    values = [problem.value(outcome.plan) for outcome in (usual, *outcomes) if outcome.plan is not None]
    assert len(values) == 4
    assert all(after <= before * (1 + CLOSE) for before, after in itertools.pairwise(values))
    for outcome in outcomes[:2]:
        assert outcome.plan is not None
        assert outcome.plan.replicas * outcome.plan.stages == usual.plan.replicas * usual.plan.stages


def test_in_listed_order_ranks_are_those_of_the_usual_launch() -> None:
    problem = problem_of(hand_instance(), "time")
    plan = Contiguous(order="listed").solve(problem, Budget(), Monitor()).plan
    assert plan is not None
    ranks = [group for column in zip(*plan.groups, strict=True) for group in column]
    assert ranks == sorted(ranks) or ranks == sorted(ranks, reverse=True)


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(ValueError, match="option 'order': 'random' is neither sites nor listed"):
        Contiguous(order="random")
