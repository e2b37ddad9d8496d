"""The arrays that solvers read say what the referee says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from instances.plan import Gpu, Plan
from instances.rates import Rates
from instances.referee.evaluate import gradient_bytes, stage_seconds
from instances.referee.violations import violations
from instances.tables import Grid, Tables
from instances.workload import Workload
from tests.editing import changed, hand_instance
from tests.random_instances import random_instance

SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_seconds_are_those_of_the_referee(seed: int) -> None:
    instance = random_instance(seed)
    tables = Tables.of(instance)
    work = Workload.of(instance.model, instance.training)
    for (b, size), (k, group), last, layers in itertools.product(
        enumerate(tables.micro_batches), enumerate(instance.groups), (False, True), range(1, instance.model.layers + 1)
    ):
        seconds = stage_seconds(work, group, size, layers, last)
        assert (tables.forward[b, k, int(last), layers], tables.backward[b, k, int(last), layers]) == seconds


@pytest.mark.parametrize("seed", SEEDS)
def test_links_gradients_and_rates_are_those_of_the_instance(seed: int) -> None:
    instance = random_instance(seed)
    message = 2 * instance.model.sequence * instance.model.hidden
    for figure in ("energy", "carbon", "cost"):
        tables, rates = Tables.of(instance, figure), Rates.of(instance, figure)
        assert (tuple(tables.active), tuple(tables.idle)) == (rates.active, rates.idle)
        assert tables.per_byte.tolist() == [list(row) for row in rates.per_byte]
    assert tables.message_bytes == message
    groups = range(len(instance.groups))
    for (b, size), k, j in itertools.product(enumerate(tables.micro_batches), groups, groups):
        assert tables.send[b, k, j] == message * size / instance.network.bandwidth[k][j]
        assert tables.latency[k, j] == instance.network.latency[k][j]
    layers = instance.model.layers
    single, first = Plan(1, (layers,), ((Gpu(0, 0),),)), Plan(1, (1, layers - 1), ((Gpu(0, 0), Gpu(0, 0)),))
    assert tables.gradient[1, 1, layers] == gradient_bytes(instance, single)[0]
    assert tables.gradient[1, 0, 1] == gradient_bytes(instance, first)[0]
    assert tables.gradient[0, 1, layers - 1] == gradient_bytes(instance, first)[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_fits_is_what_the_referee_lets_through(seed: int) -> None:
    instance = random_instance(seed)
    tables = Tables.of(instance)
    plenty = {f"groups.{k}.count": 3 for k in range(len(instance.groups))}
    many = changed(instance, {"sites": None, **plenty})
    for grid in tables.grids():
        if grid.stages * grid.replicas > 3:
            continue
        r, b = tables.indices(grid)
        for layers in _splits(instance.model.layers, grid.stages):
            for k in range(len(instance.groups)):
                # GPUs of one group in every slot: each stage that does not fit is a sentence of its own.
                numbers = iter(range(3))
                rows = tuple(tuple(Gpu(k, next(numbers)) for _ in layers) for _ in range(grid.replicas))
                refused = {int(reason.split()[1]) for reason in violations(many, Plan(grid.micro_batch, layers, rows))}
                assert refused == {
                    stage
                    for stage, count in enumerate(layers)
                    if tables.fits[r, b, k, int(stage == 0), int(stage == grid.stages - 1)] < count
                }


def _splits(layers: int, stages: int) -> list[tuple[int, ...]]:
    return [split for split in itertools.product(range(1, layers + 1), repeat=stages) if sum(split) == layers]


def test_grids_are_the_legal_ones() -> None:
    """Batch 12, choices 1, 3, 5 (5 divides nothing), three GPUs, two layers."""
    instance = hand_instance(
        training__global_batch=12, training__micro_batches=[3, 1, 5], groups__0__count=2, groups__1__count=1
    )
    tables = Tables.of(instance)
    assert tables.micro_batches == (1, 3)
    assert tables.replicas == (1, 2, 3)
    assert set(tables.grids()) == {
        *((1, 1, 1), (1, 1, 3), (1, 2, 1), (1, 2, 3)),  # one pipeline of one or two stages
        *((2, 1, 1), (2, 1, 3)),  # two pipelines of two stages would need four GPUs
        (3, 1, 1),  # 3 pipelines of 3 sequences are 9, which does not divide 12
    }
    assert {grid: tables.micro_batch_count(grid) for grid in tables.grids()}[Grid(2, 1, 3)] == 2


def test_an_instance_without_a_usable_micro_batch_has_no_grid() -> None:
    tables = Tables.of(hand_instance(training__micro_batches=[3, 5]))
    assert tables.micro_batches == ()
    assert tables.grids() == []
    assert tables.send.shape == (0, 2, 2)


def test_power_caps_are_found_by_site() -> None:
    instance = hand_instance(sites={"west": {"price": 1}, "east": {"power_cap": 500}})
    tables = Tables.of(instance)
    assert tables.site.tolist() == [-1, 0]
    assert tables.power.tolist() == [100, 200]
    np.testing.assert_allclose(tables.power_caps, [500])
