"""DT-FM's scheduler as a solver: its cost on an instance by hand, its rules, its budget, the measured order."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from instances.errors import InputError
from instances.generator.family import generate
from instances.instance import Instance
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.tables import Tables
from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Outcome, Status
from solvers.core.registry import make_solver
from solvers.dtfm.cost import read_pipelines
from solvers.dtfm.grid_search import GridSearch, shapes_within_memory
from solvers.dtfm.message_times import message_times_of
from solvers.dtfm.scheduler import Dtfm
from solvers.placements.uniform import Shape, equal_layers
from tests.cases import DATA
from tests.editing import changed, hand_instance
from tests.random_instances import random_instance
from tests.random_plans import with_ample_memory
from tests.solving import problem_of

MEASURED = json.loads((DATA / "dtfm-measured.json").read_text(encoding="utf-8"))["scenarios"]
NO_NETWORK = {"latency": [[0]], "bandwidth": [[1]]}
TIED = "spot"  # see test_a_scheduled_plan_is_faster_than_random_ones_as_measured


def solve(instance: Instance, candidates: int = 120, budget: Budget | None = None, **options: Any) -> Outcome:
    solver = Dtfm(candidates=candidates, **options)
    return solver.solve(problem_of(instance, "time"), budget or Budget(), Monitor())


def scenario_grid(scenario: str, candidates: int, seed: int) -> tuple[float, float]:
    """The referee's seconds on 64 GPUs in 8 stages of 8: DT-FM's plan, and the mean of 20 random placements."""
    instance = generate("dtfm", 64, 0, {"scenario": scenario})
    tables = Tables.of(instance)
    search = GridSearch(instance, tables, candidates, baseline=False, seed=seed)
    found = search.run(Shape(8, 8, (1,)), Deadline(), grids_left=1)
    gpus = np.repeat(np.arange(len(tables.counts)), tables.counts)
    draw = np.random.default_rng(seed)
    plans = [
        Plan.from_groups(1, equal_layers(tables.layers, 8), draw.permutation(gpus).reshape(8, 8)) for _ in range(20)
    ]
    return found.time_s, fmean(evaluate(instance, plan).time_s for plan in plans)


# Its cost on an instance


def test_messages_are_those_of_the_whole_batch_and_of_an_even_share_of_the_parameters() -> None:
    """A = 2*50*10 = 1,000 bytes, so 4 sequences are 4,000 for one pipeline: 0.05 + (4000/10000 + 4000/2000)/2.

    p = 10*10*4 + 2*10*30 = 1,000 and v = 1,000, so 2 layers have 2*(2*1000 + 2*1000) = 8,000 bytes of gradient,
    4,000 for each of two stages; from a to b at 10,000 bytes/s, 0.05 + 0.4.
    """
    instance = hand_instance()
    times = message_times_of(instance, Tables.of(instance), np.array([0, 1]), replicas=1, stages=2)
    assert times.hop[0, 1] == times.hop[1, 0] == pytest.approx(0.05 + 1.2)
    assert times.whole_gradient[0, 1] == pytest.approx(0.05 + 0.4)
    assert times.exchange[0, 1] == pytest.approx(2 * (0.05 + 0.4))


def test_both_costs_of_each_grid_are_reported_and_the_best_time_is_kept() -> None:
    outcome = solve(generate("dtfm", 16, 0, {"scenario": "us-regions", "gpu-mix": "mixed"}))
    grids = outcome.details["own_costs"]
    assert len(grids) > 2
    for grid in grids:
        assert grid["total_s"] == pytest.approx(grid["data_parallel_s"] + 2 * grid["pipeline_s"])
    assert outcome.plan is not None
    instance = generate("dtfm", 16, 0, {"scenario": "us-regions", "gpu-mix": "mixed"})
    best = min(grid["time_s"] for grid in grids if grid["time_s"] is not None)
    assert evaluate(instance, outcome.plan).time_s == best


def test_it_sees_no_compute_speed() -> None:
    instance = generate("dtfm", 16, 0, {"scenario": "worldwide"})
    uneven = changed(instance, {f"groups.{k}.flops": 1e12 * (k + 1) for k in range(len(instance.groups))})
    costs = [[grid["total_s"] for grid in solve(pool).details["own_costs"]] for pool in (instance, uneven)]
    assert costs[0] == costs[1]


# Grids


def test_layers_are_equal_and_all_gpus_are_used() -> None:
    instance = with_ample_memory(random_instance(3, 6))
    plan = solve(instance).plan
    assert plan is not None
    assert plan.layers == equal_layers(instance.model.layers, plan.stages)
    assert plan.replicas * plan.stages == instance.gpus


def test_gpus_listed_last_are_left_out_where_no_grid_of_all_is_legal() -> None:
    """5 GPUs, 4 layers and a batch of 8: neither 5 pipelines nor 5 stages. So 4 GPUs, the first ones."""
    instance = with_ample_memory(hand_instance(model__layers=4, training__global_batch=8, groups__0__count=4))
    outcome = solve(instance)
    assert outcome.plan is not None
    assert {group for row in outcome.plan.groups for group in row} == {0}
    assert {grid["replicas"] * grid["stages"] for grid in outcome.details["own_costs"]} == {4}


@pytest.mark.parametrize("layers", [1, 2], ids=["one stage", "one pipeline or one stage"])
def test_grids_with_a_single_partition_take_one_candidate(layers: int) -> None:
    outcome = solve(with_ample_memory(hand_instance(model__layers=layers)))
    assert outcome.plan is not None
    assert outcome.evaluations == len(outcome.details["own_costs"]) == layers
    assert not outcome.limit_reached


def test_one_gpu_is_a_plan() -> None:
    data = {"groups": [hand_instance().groups[0].model_dump(exclude_none=True)], "network": NO_NETWORK}
    outcome = solve(with_ample_memory(changed(hand_instance(), data)))
    assert outcome.plan == Plan.from_groups(1, [2], [[0]])


def test_a_grid_is_searched_only_if_some_partition_fits() -> None:
    """Every grid of two GPUs uses both, so one with less than a block's 16,000 bytes of state leaves none."""
    for memory, expected in ((1e6, [1, 2]), (1e3, [])):
        instance = hand_instance(groups__0__memory=memory, groups__1__memory=1e6)
        shapes = shapes_within_memory(instance, Tables.of(instance), 2)
        assert [shape.stages for shape in shapes] == expected


def test_a_power_cap_below_the_draw_of_all_leaves_gpus_out() -> None:
    instance = with_ample_memory(hand_instance())
    capped = changed(instance, {"sites": {"east": {"power_cap": 100}}})
    plan = solve(capped).plan
    assert plan is not None
    assert plan.groups == ((0,),)


# Options and budget


def test_an_unknown_gain_is_refused() -> None:
    with pytest.raises(InputError, match="solver dtfm: option 'gain': 'best' is neither paper nor baseline"):
        make_solver("dtfm", {"gain": "best"})


def test_an_unknown_guide_is_refused() -> None:
    with pytest.raises(InputError, match="solver dtfm: option 'guide': 'energy' is neither cost nor time"):
        make_solver("dtfm", {"guide": "energy"})


@pytest.mark.parametrize("seed", range(4))
def test_guided_by_time_it_finds_the_partition_whose_plan_is_fastest(seed: int) -> None:
    """All 15 partitions of six GPUs into three stages of two, each read off and timed both ways by the referee."""
    instance = with_ample_memory(generate("dtfm", 6, seed, {"scenario": "worldwide"}))
    tables = Tables.of(instance)
    layers, sizes = equal_layers(tables.layers, 3), (1, 2)
    groups = np.repeat(np.arange(len(tables.counts)), tables.counts)
    hop = message_times_of(instance, tables, groups, 2, 3).hop
    truth = min(
        evaluate(instance, Plan.from_groups(size, layers, rows)).time_s
        for partition in partitions(range(6), 2)
        for placed in [groups[read_pipelines(hop, np.array(partition))]]
        for rows in (placed, placed[:, ::-1])
        for size in sizes
    )
    for by_time in (True, False):
        search = GridSearch(instance, tables, 400, baseline=False, seed=seed, by_time=by_time)
        found = search.run(Shape(2, 3, sizes), Deadline(), 1).time_s
        assert found == pytest.approx(truth, rel=1e-9) if by_time else found >= truth * (1 - 1e-9)


def partitions(devices: Sequence[int], size: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every partition of the devices into groups of this size."""
    if not devices:
        yield ()
        return
    for others in itertools.combinations(devices[1:], size - 1):
        rest = [device for device in devices[1:] if device not in others]
        for groups in partitions(rest, size):
            yield ((devices[0], *others), *groups)


def test_the_gain_and_the_seed_matter() -> None:
    instance = generate("dtfm", 64, 0, {"scenario": "worldwide"})
    tables = Tables.of(instance)
    plans = [
        GridSearch(instance, tables, 150, baseline, seed).run(Shape(8, 8, (1,)), Deadline(), 1).plan
        for baseline, seed in ((False, 0), (True, 0), (False, 1), (False, 0))
    ]
    assert len(set(plans)) == 3
    assert plans[3] == plans[0]


def test_candidates_are_shared_out_over_the_grids() -> None:
    instance = generate("dtfm", 16, 0, {"scenario": "worldwide"})
    outcome = solve(instance, 5000, Budget(evaluations=40))
    assert outcome.evaluations <= 40
    assert outcome.limit_reached
    searched = [grid["candidates"] for grid in outcome.details["own_costs"] if grid["candidates"] > 1]
    assert max(searched) - min(searched) <= 1


def test_no_time_is_no_plan_and_says_so() -> None:
    outcome = solve(hand_instance(), budget=Budget(seconds=0))
    assert (outcome.status, outcome.limit_reached, outcome.evaluations) == (Status.UNKNOWN, True, 0)


@pytest.mark.wide
@pytest.mark.parametrize("family", ["dtfm", "cloud"])
def test_a_thousand_gpus_end_by_the_limit(family: str) -> None:
    outcome = solve(generate(family, 1024, 0, {}), 5000, Budget(seconds=5))
    assert outcome.limit_reached
    assert outcome.evaluations > 0


# The measured order


def test_the_measured_plans_are_faster_scheduled() -> None:
    assert [entry["name"] for entry in MEASURED] == ["datacenter", "spot", "universities", "us-regions", "worldwide"]
    assert all(max(entry["scheduled"]) < min(entry["unscheduled"]) for entry in MEASURED)


@pytest.mark.parametrize("entry", MEASURED, ids=[entry["name"] for entry in MEASURED])
def test_a_scheduled_plan_is_faster_than_random_ones_as_measured(entry: dict[str, Any]) -> None:
    """In `spot` half of the GPUs stand alone, and nearly every partition has a slow hop between any two stages.

    The search leaves that plateau in some runs only, its published original too, so there one run may tie.
    """
    scheduled, unscheduled = scenario_grid(entry["name"], 600, seed=0)
    assert fmean(entry["scheduled"]) < fmean(entry["unscheduled"])
    if entry["name"] == TIED:
        assert scheduled <= unscheduled * (1 + 1e-12)
    else:
        assert scheduled < unscheduled


@pytest.mark.wide
@pytest.mark.parametrize("entry", MEASURED, ids=[entry["name"] for entry in MEASURED])
def test_scheduled_plans_of_ten_seeds_are_faster_in_the_mean(entry: dict[str, Any]) -> None:
    pairs = [scenario_grid(entry["name"], 5000, seed) for seed in range(10)]
    scheduled, unscheduled = (fmean(column) for column in zip(*pairs, strict=True))
    assert scheduled < unscheduled * (1 - 1e-6)
