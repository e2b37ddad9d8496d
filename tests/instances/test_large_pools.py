"""Thousands of GPUs: the referee's work grows with their number and not faster, and planners find plans."""

from __future__ import annotations

import cProfile
import pstats
import tracemalloc

import numpy as np
import pytest

from instances.instance import Instance, Network
from instances.plan import Gpu, Plan
from instances.referee import evaluate as referee
from instances.referee.evaluate import Evaluation, evaluate
from instances.referee.violations import violations
from solvers.core.interface import Budget, Monitor, Status
from solvers.core.registry import make_solver
from tests.editing import hand_instance
from tests.random_plans import with_ample_memory
from tests.solving import problem_of


def one_group(gpus: int, layers: int = 1) -> Instance:
    """A single group, and as many sequences as GPUs, four times over."""
    made = hand_instance(
        groups__0__count=gpus, model__layers=layers, training__global_batch=4 * gpus, training__micro_batches=(1, 2)
    )
    network = Network(latency=((1e-3,),), bandwidth=((1e9,),))
    return with_ample_memory(made.model_copy(update={"groups": made.groups[:1], "network": network, "sites": None}))


def many_groups(groups: int, each: int, seed: int) -> Instance:
    """Groups whose links all differ."""
    draw = np.random.default_rng(seed)
    made = with_ample_memory(hand_instance(training__global_batch=groups * each))
    kinds = [made.groups[0].model_copy(update={"name": f"g{k}", "count": each}) for k in range(groups)]
    network = Network(
        latency=tuple(map(tuple, draw.random((groups, groups)).tolist())),
        bandwidth=tuple(map(tuple, (1e6 + 1e9 * draw.random((groups, groups))).tolist())),
    )
    return made.model_copy(update={"groups": tuple(kinds), "network": network, "sites": None})


def one_stage(instance: Instance) -> Plan:
    """Every GPU holds the whole model."""
    gpus = [Gpu(k, i) for k, group in enumerate(instance.groups) for i in range(group.count)]
    return Plan(1, (instance.model.layers,), tuple((gpu,) for gpu in gpus))


def calls(instance: Instance) -> int:
    """Function calls of a check and an evaluation: the same on every machine."""
    plan = one_stage(instance)
    instance.links, instance.link_arrays  # noqa: B018 - of the instance, made once
    profile = cProfile.Profile()
    profile.enable()
    assert violations(instance, plan) == []
    evaluate(instance, plan)
    profile.disable()
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined, no-any-return]


def test_four_times_the_gpus_are_four_times_the_work() -> None:
    assert calls(one_group(4096)) < 4.4 * calls(one_group(1024))
    assert calls(many_groups(40, 80, 0)) < 4.4 * calls(many_groups(40, 20, 0))


def test_the_referee_holds_no_table_of_pairs_of_gpus() -> None:
    instance = one_group(8192)
    plan = one_stage(instance)
    tracemalloc.start()
    evaluate(instance, plan)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8192 * 4000  # bytes; a table of pairs of 8-byte numbers has 8192 * 65536


@pytest.mark.parametrize("seed", range(4))
def test_vectors_give_the_same_sums_to_the_last_bit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = many_groups(30 + seed, 1 + seed, seed)
    vectors = evaluate(instance, one_stage(instance))
    monkeypatch.setattr(referee, "MANY", 10**9)
    loops = evaluate(instance, one_stage(instance))
    assert isinstance(vectors, Evaluation)
    assert (vectors.sync_s, vectors.exchange_s) == (loops.sync_s, loops.exchange_s)


@pytest.mark.parametrize("solver", ["megatron", "contiguous", "memetic"])
@pytest.mark.parametrize("layers", [1, 4])
def test_planners_plan_for_ten_thousand(solver: str, layers: int) -> None:
    problem = problem_of(one_group(10_000, layers), "time")
    outcome = make_solver(solver).solve(problem, Budget(evaluations=20), Monitor())
    assert outcome.status is Status.FEASIBLE
    assert outcome.plan is not None
    assert problem.value(outcome.plan) is not None


def test_instances_of_one_content_are_equal_whatever_is_cached_of_them() -> None:
    first, other = many_groups(30, 2, 1), many_groups(30, 2, 1)
    for instance in (first, other):
        instance.links, instance.link_arrays, instance.content_hash, instance.gpus  # noqa: B018 - caches them
    assert first == other
    assert first != many_groups(30, 2, 2)
    assert [first, first.model_copy(update={"name": "x"})].index(other) == 0
