"""The compiled evaluation agrees with the referee, from scratch and after any sequence of moves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from instances.instance import Instance
from instances.objective import Goal
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations
from instances.seeds import stream
from instances.tables import Tables
from solvers.kernel.packed import ENERGY, EXCESS, SCORE, SURROGATE, TIME, Packed, pack
from tests.random_instances import random_instance
from tests.random_plans import random_plan, with_ample_memory

CLOSE = 1e-9


class Bench:
    """One plan in work, moved at random and compared with the referee."""

    def __init__(self, instance: Instance, seed: int) -> None:
        # numba loads late, so that collecting the tests stays quick.
        from tests.solvers.kernel_calls import load

        self.instance = instance
        self.exceeds_limit = 0
        self.tables = Tables.of(instance)
        self.packed: Packed = pack(self.tables, Goal(time_weight=1.0, energy_weight=0.01 * (seed % 2)))
        self.packed.goal[SURROGATE] = 0.2
        self.draw = stream("kernel moves", instance.name, seed)
        plan = random_plan(instance, seed)
        self.size = plan.micro_batch
        self.replicas, self.stages = plan.replicas, plan.stages
        used = [k for row in plan.groups for k in row]
        rest = np.repeat(np.arange(len(self.tables.counts)), self.tables.counts).tolist()
        for k in used:
            rest.remove(k)
        self.packed.group[:] = used + rest
        self.packed.layers[: plan.stages] = plan.layers
        r = self.tables.replicas.index(plan.replicas)
        self.grid = (r, self.tables.micro_batches.index(plan.micro_batch), plan.stages)
        load(*self.packed[:3], *self.grid)

    def below(self, count: int) -> int:
        return int(self.draw.random() * count)

    def plan(self) -> Plan:
        groups = self.packed.group[: self.replicas * self.stages].reshape(self.replicas, self.stages)
        return Plan.from_groups(self.size, self.packed.layers[: self.stages], groups)

    def move(self) -> bool:
        """A random move, tried and made; False if the draw was none. What was tried must be what came."""
        from tests.solvers.kernel_calls import do_shift, do_swap, exceeds_limit, try_shift, try_swap

        result = np.zeros(5)
        before = self.packed.q.copy(), self.packed.f.copy()
        if self.stages > 1 and self.draw.random() < 0.4:
            a, z = self.below(self.stages), self.below(self.stages)
            if a == z or self.packed.layers[a] < 2:
                return False
            size = 1 + self.below(int(self.packed.layers[a]) - 1)
            try_shift(*self.packed[:3], a, z, size, result)
            assert np.array_equal(before[0], self.packed.q)
            ranks = slice(self.packed.o.steps, self.packed.o.port)  # which it may make, as they depend on the plan only
            before[1][ranks] = self.packed.f[ranks]
            assert np.array_equal(before[1], self.packed.f)
            do_shift(*self.packed[:3], a, z, size)
        else:
            i, j = self.below(self.replicas * self.stages), self.below(len(self.packed.group))
            if i == j:
                return False
            try_swap(*self.packed[:3], i, j, result)
            assert np.array_equal(before[0], self.packed.q)
            assert np.array_equal(before[1], self.packed.f)
            assert not exceeds_limit(*self.packed[:3], i, j, result[SCORE] * (1 + CLOSE))
            self.exceeds_limit += bool(exceeds_limit(*self.packed[:3], i, j, 0.0))
            do_swap(*self.packed[:3], i, j)
        np.testing.assert_allclose(result, self.packed.result, rtol=CLOSE, atol=1e-12)
        return True

    def jump(self) -> None:
        """Some pipelines and columns change place, some GPUs and layers with them; what was tried must be what came."""
        from tests.solvers.kernel_calls import load, try_plan

        layers, group = self.packed.layers[: self.stages], self.packed.group
        placed = group[: self.replicas * self.stages].reshape(self.replicas, self.stages)
        columns = np.arange(self.stages)
        for _ in range(self.below(3)):
            a, z = self.below(self.stages), self.below(self.stages)
            columns[[a, z]] = columns[[z, a]]
        placed[:] = placed[:, columns]
        layers[:] = layers[columns]
        if self.draw.random() < 0.5:
            r = self.below(self.replicas)
            placed[r] = placed[r][::-1].copy()
        for _ in range(self.below(3)):
            i, j = self.below(len(group)), self.below(len(group))
            group[[i, j]] = group[[j, i]]
            a, z = self.below(self.stages), self.below(self.stages)
            if layers[a] > 1:
                layers[a] -= 1
                layers[z] += 1
        result = np.zeros(5)
        try_plan(*self.packed[:3], group, result)
        load(*self.packed[:3], *self.grid)
        np.testing.assert_allclose(result, self.packed.result, rtol=CLOSE, atol=1e-12)

    def compare(self) -> None:
        """The state and the evaluation from scratch against the referee."""
        from tests.solvers.kernel_calls import measure, violation

        plan = self.plan()
        arguments = (*self.packed[:3], *self.grid, self.packed.layers, self.packed.group)
        over, power = violation(*arguments)
        found = violations(self.instance, plan)
        assert (over > 0 or power > 0) == bool(found), found
        assert (self.packed.result[EXCESS] > 0) == bool(found)
        if not found:
            right = evaluate(self.instance, plan)
            time, energy = measure(*arguments)
            for value, truth in (
                (time, right.time_s),
                (energy, right.energy_j),
                (self.packed.result[TIME], right.time_s),
                (self.packed.result[ENERGY], right.energy_j),
            ):
                assert value == pytest.approx(truth, rel=CLOSE)


def check(seed: int, moves: int, room: bool) -> None:
    instance = random_instance(seed)
    bench = Bench(with_ample_memory(instance) if room else instance, seed)
    bench.compare()
    for _ in range(moves):
        if bench.move():
            bench.compare()
    for _ in range(moves // 5):
        bench.jump()
        bench.compare()


@pytest.mark.parametrize("room", [True, False], ids=["with room", "with limits"])
@pytest.mark.parametrize("seed", range(25))
def test_moves_agree_with_the_referee(seed: int, room: bool) -> None:
    check(seed, 25, room)


@pytest.mark.wide
@pytest.mark.parametrize("seed", range(25, 500))
def test_moves_agree_with_the_referee_widely(seed: int) -> None:
    check(seed, 60, seed % 2 == 0)


@pytest.mark.parametrize("seed", range(12))
def test_many_holders_of_a_stage_cost_what_the_referee_says(seed: int) -> None:
    from solvers.kernel.evaluation import MANY_HOLDERS

    small = with_ample_memory(random_instance(seed))
    training = small.training.model_copy(update={"global_batch": 720, "micro_batches": (1, 2)})
    groups = tuple(
        group.model_copy(update={"count": 60 * group.count, "profile": None, "half_batch": None})
        for group in small.groups
    )
    instance = small.model_copy(update={"training": training, "groups": groups})
    many = next(s for s in itertools.count(100 * seed) if random_plan(instance, s).replicas > MANY_HOLDERS)
    bench = Bench(instance, many)
    for _ in range(8):
        bench.compare()
        bench.move()
        bench.jump()


def test_sums_kept_by_differences_stay_right_over_many_moves() -> None:
    bench = Bench(with_ample_memory(random_instance(3, gpus=6)), 5)
    for _ in range(4000):
        bench.move()
    bench.compare()


def test_a_swap_that_exceeds_the_limit_is_recognised_without_evaluating_it() -> None:
    bench = Bench(with_ample_memory(random_instance(3, gpus=6)), 5)
    for _ in range(200):
        bench.move()
    assert bench.exceeds_limit > 50  # with no time allowed, nearly all are; that none is wrong, `move` checks


def test_groups_share_an_endpoint_only_if_all_their_links_are_alike() -> None:
    instance = random_instance(7)
    tables = Tables.of(instance)
    endpoint = pack(tables, Goal(time_weight=1.0)).endpoint
    for k, c in enumerate(endpoint):
        for g, d in enumerate(endpoint):
            alike = all(
                (matrix[k] == matrix[g]).all() and (matrix[:, k] == matrix[:, g]).all()
                for matrix in (tables.latency, tables.bandwidth, tables.per_byte)
            )
            assert (c == d) == alike
