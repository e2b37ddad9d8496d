"""The uniform baseline: its layers, its rank order, its fallback and its ties (docs/model.md, Baselines)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instances.instance import Instance
from instances.plan import Gpu, Plan
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations
from instances.tables import Tables
from solvers.core.interface import Status
from solvers.placements.uniform import best_uniform, equal_layers, reference_of, uniform_plans
from tests.cases import INFEASIBLE
from tests.editing import changed, hand_instance
from tests.random_instances import random_instance
from tests.solving import outcome_of, problem_of, solved


def pool(**changes: Any) -> Instance:
    """Four GPUs of group a, two of b, with ample memory; the model has 6 layers, the batch is 12."""
    ample: dict[str, Any] = {"groups__0__memory": 1e12, "groups__1__memory": 1e12}
    counts = {"groups__0__count": 4, "groups__1__count": 2}
    shape = {"model__layers": 6, "training__global_batch": 12, "training__micro_batches": [1, 2]}
    return hand_instance(**{**ample, **counts, **shape, **changes})


def best(instance: Instance) -> Plan:
    plan, _ = best_uniform(instance, Tables.of(instance))
    assert plan is not None
    return plan


def test_30_layers_on_4_stages_are_8_8_7_7() -> None:
    assert equal_layers(30, 4) == (8, 8, 7, 7)


@given(layers=st.integers(1, 500), stages=st.integers(1, 500))
def test_layers_are_as_equal_as_possible_and_none_is_lost(layers: int, stages: int) -> None:
    split = equal_layers(layers, stages)
    assert sum(split) == layers
    assert max(split) - min(split) <= 1
    assert list(split) == sorted(split, reverse=True)


def test_neighbouring_ranks_hold_the_same_stage() -> None:
    """Six GPUs as 2 pipelines of 3 stages: stage s of pipeline r is GPU number 2*s + r."""
    instance = pool()
    plans = {(plan.replicas, plan.stages): plan for plan in uniform_plans(instance, Tables.of(instance), 6)}
    assert plans[2, 3].names(instance) == [["a/0", "a/2", "b/0"], ["a/1", "a/3", "b/1"]]
    assert plans[3, 2].names(instance) == [["a/0", "a/3"], ["a/1", "b/0"], ["a/2", "b/1"]]
    assert plans[1, 6].names(instance) == [["a/0", "a/1", "a/2", "a/3", "b/0", "b/1"]]


@pytest.mark.parametrize("seed", range(30))
def test_the_fastest_of_all_grids_that_use_every_gpu_is_kept(seed: int) -> None:
    instance = random_instance(seed)
    tables = Tables.of(instance)
    found, _ = best_uniform(instance, tables)
    everything = [plan for plan in uniform_plans(instance, tables, instance.gpus) if not violations(instance, plan)]
    if not everything:
        assert found is None or found.replicas * found.stages < instance.gpus
        return
    assert found is not None
    assert evaluate(instance, found).time_s == min(evaluate(instance, plan).time_s for plan in everything)


def test_without_a_grid_for_all_the_gpus_listed_last_are_left_out() -> None:
    """Five layers and a batch of 8 leave 7 GPUs no grid (7 divides nothing): 6 of them have one, 2 x 3."""
    instance = pool(model__layers=5, training__global_batch=8, groups__1__count=3)
    tables = Tables.of(instance)
    assert not list(uniform_plans(instance, tables, 7))
    plan = best(instance)
    used = [gpu for row in plan.pipelines for gpu in row]
    assert sorted(used) == [*(Gpu(0, i) for i in range(4)), Gpu(1, 0), Gpu(1, 1)]


def test_a_grid_that_does_not_fit_is_left_for_fewer_gpus() -> None:
    """Group b has no memory: only the four GPUs listed first are of use."""
    instance = pool(groups__1__memory=1)
    plan = best(instance)
    assert sorted(gpu for row in plan.pipelines for gpu in row) == [Gpu(0, i) for i in range(4)]
    assert plan.layers in ((6,), (3, 3), (2, 2, 1, 1))


def test_a_useless_gpu_listed_first_leaves_no_uniform_plan() -> None:
    instance = pool(groups__0__memory=1)
    assert best_uniform(instance, Tables.of(instance))[0] is None
    assert reference_of(instance) is None
    found = solved("megatron", instance, "time")
    assert (found.status, found.value, found.bound) == (Status.UNKNOWN, None, None)
    assert solved("brute", instance, "time").status is Status.OPTIMAL


def timed(micro_batches: list[int], **changes: Any) -> Instance:
    """Two equal GPUs a that need 1 s for a sequence of a block each way, and b, which is too small for anything."""
    seconds = {str(size): float(size) for size in micro_batches}
    free = dict.fromkeys(seconds, 0)
    profile = {"forward": seconds, "backward": seconds, "head_forward": free, "head_backward": free}
    return hand_instance(
        training__micro_batches=micro_batches,
        groups__0__count=2,
        groups__0__memory=1e12,
        groups__0__profile=profile,
        groups__1__memory=1,
        **changes,
    )


@pytest.mark.parametrize(("gradient_bytes", "stages"), [(1.4, 1), (1.5, 1), (1.6, 2)])
def test_a_tie_goes_to_fewer_stages(gradient_bytes: float, stages: int) -> None:
    """Two sequences, links of 2000 bytes/s without latency, 4000 parameters in a whole model of 2 blocks.

    two pipelines of one stage    2 + 2 s, and 2 * (1.5 * 4000 / 2) / 2000 = 3 s to exchange gradients  = 7 s
    one pipeline of two stages    4 * 1 + 2 * 1000 / 2000 + (1 + 1)                                      = 7 s
    """
    links = {"network__bandwidth": [[2000, 1], [1, 1]], "network__latency": [[0, 0], [0, 0]]}
    instance = timed([1], training__global_batch=2, training__gradient_bytes=gradient_bytes, **links)
    times = {plan.stages: evaluate(instance, plan).time_s for plan in uniform_plans(instance, Tables.of(instance), 2)}
    assert times == {1: pytest.approx(4 + 2 * gradient_bytes), 2: 7.0}
    assert best(instance).stages == stages


def test_a_tie_goes_to_the_smaller_micro_batch() -> None:
    """Twice the micro-batch takes twice as long, and nothing has to be filled: 2 * 2 * (2 + 2) s either way."""
    instance = changed(timed([2, 1]), {"groups.0.count": 1})
    times = {
        plan.micro_batch: evaluate(instance, plan).time_s for plan in uniform_plans(instance, Tables.of(instance), 1)
    }
    assert times == {1: 16.0, 2: 16.0}
    assert best(instance).micro_batch == 1


def test_the_objective_does_not_change_the_plan_and_a_broken_cap_leaves_none() -> None:
    instance = pool()
    time, energy = (solved("megatron", instance, name) for name in ("time", "energy"))
    assert time.plan == energy.plan
    assert time.value is not None
    assert energy.value == time.evaluation.energy_j  # type: ignore[union-attr]
    assert solved("megatron", instance, f"energy@{time.value * 0.99!r}").status is Status.UNKNOWN
    assert solved("megatron", instance, f"energy@{time.value!r}").status is Status.FEASIBLE


def test_the_best_uniform_plan_is_the_reference() -> None:
    instance = pool()
    reference = reference_of(instance)
    assert reference is not None
    evaluation = evaluate(instance, best(instance))
    assert (reference.time_s, reference.energy_j) == (evaluation.time_s, evaluation.energy_j)
    assert problem_of(instance, "weighted:0.5").goal.value(evaluation) == pytest.approx(1)
    assert solved("megatron", instance, "energy@1x").status is Status.FEASIBLE


def test_plans_tried_are_counted() -> None:
    assert outcome_of("megatron", problem_of(pool(), "time")).evaluations > 1
    assert outcome_of("megatron", problem_of(INFEASIBLE[0].instance, "time")).trace == ()
