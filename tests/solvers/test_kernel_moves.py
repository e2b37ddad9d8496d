"""Every move of the search leaves a whole plan, and what the kernel makes of it is what the referee says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from instances.objective import Goal, Reference, parse_objective
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.referee.violations import violations
from solvers.brute import Brute
from solvers.core.interface import Budget, Monitor, Problem
from solvers.memetic.algorithm import Memetic, make_search
from solvers.memetic.grids import grids_to_search
from tests.missing_links import without_links
from tests.random_instances import random_instance
from tests.random_plans import with_ample_memory

SEEDS = range(12)
CLOSE = 1e-9
OBJECTIVES = ("time", "energy", "carbon", "weighted:0.5")


def goal_of(objective: str) -> Goal:
    return parse_objective(objective).goal(Reference(1.0, 1.0))


class Bench:
    """A search on a random instance, and one of its plans in the memory of the kernel."""

    def __init__(self, seed: int, ample: bool = True, warm: int = 3000, gaps: bool = False) -> None:
        from solvers.memetic.search import advance

        instance = random_instance(seed, gpus=5 + seed % 4)
        instance = with_ample_memory(instance) if ample else instance
        self.instance = without_links(instance, seed) if gaps else instance
        objective = OBJECTIVES[seed % len(OBJECTIVES)]
        self.problem = Problem(self.instance, goal_of(objective))
        self.tables = self.problem.tables
        self.grids = grids_to_search(self.tables)
        self.search: Any = make_search(Memetic(), self.problem, self.grids, seed)
        self.p = self.search.p
        self.left = np.zeros(len(self.tables.counts), dtype=np.int64)
        if len(self.grids):
            advance(self.search, warm, warm)

    def load(self, grid: Any) -> tuple[int, int, int]:
        """Make the plan in memory the current one of this grid; R, S and micro-batch size."""
        from tests.solvers.kernel_calls import load

        r, b, stages = (int(entry) for entry in grid)
        load(*self.p[:3], r, b, stages)
        return self.tables.replicas[r], stages, self.tables.micro_batches[b]

    def check(self, grid: Any) -> None:
        """The plan in memory is whole, and the kernel's time, energy and feasibility are the referee's."""
        replicas, stages, size = self.load(grid)
        layers = self.p.layers[:stages]
        assert layers.min() >= 1
        assert layers.sum() == self.tables.layers
        assert np.array_equal(np.bincount(self.p.group, minlength=len(self.tables.counts)), self.tables.counts)
        plan = Plan.from_groups(size, layers, self.p.group[: replicas * stages].reshape(replicas, stages))
        time, energy, excess = self.p.result[:3]
        found = violations(self.instance, plan)
        assert (excess > 0) == bool(found)
        if found:  # such a plan has no time
            return
        evaluation = evaluate(self.instance, plan)
        assert time == pytest.approx(evaluation.time_s, rel=CLOSE)
        assert energy == pytest.approx(evaluation.energy_as(self.problem.goal.metric), rel=CLOSE)

    def members(self) -> list[tuple[int, int]]:
        return [(g, e) for g in range(len(self.grids)) for e in range(int(self.search.population.size[g]))]

    def recall(self, g: int, e: int) -> None:
        """Put a member of the population into memory."""
        population = self.search.population
        replicas, stages = self.tables.replicas[self.grids[g, 0]], int(self.grids[g, 2])
        slots = replicas * stages
        used = population.groups[g, e, :slots].astype(np.int64)
        rest = self.tables.counts - np.bincount(used, minlength=len(self.tables.counts))
        self.p.group[:] = np.concatenate([used, np.repeat(np.arange(len(rest)), rest)])
        self.p.layers[:stages] = population.layers[g, e, :stages]
        self.load(self.grids[g])


def on_every_member(seed: int, ample: bool, change: Callable[[Bench, int], Any], gaps: bool = False) -> int:
    """Apply a change to every plan of a search and check what comes of it; how many changes there were."""
    bench = Bench(seed, ample, gaps=gaps)
    made = 0
    for g, e in bench.members():
        bench.recall(g, e)
        grid = change(bench, g)
        if grid is not None:
            bench.check(grid)
            made += 1
    return made


@pytest.mark.parametrize("ample", [True, False], ids=["ample", "limits"])
@pytest.mark.parametrize("seed", SEEDS)
def test_members_of_the_population_are_whole_plans(seed: int, ample: bool) -> None:
    """What crossover, repair, construction, annealing and local search leave behind, with all links and without."""
    for gaps in (False, True):
        on_every_member(seed, ample, lambda bench, g: bench.grids[g], gaps)


@pytest.mark.parametrize("seed", SEEDS)
def test_offspring_are_whole_plans(seed: int) -> None:
    """Of all kinds: brought over, crossed, made anew, destroyed and repaired; loaded as they are made."""
    from solvers.kernel.packed import B_INDEX, R_INDEX, STAGES
    from solvers.memetic import reproduction
    from tests.solvers.kernel_calls import callable_from_python

    make = callable_from_python(reproduction.make_offspring)
    bench = Bench(seed)
    for _ in range(60):
        make(bench.search)
        bench.check(bench.p.q[[R_INDEX, B_INDEX, STAGES]])


@pytest.mark.parametrize("ample", [True, False], ids=["ample", "limits"])
@pytest.mark.parametrize("seed", SEEDS)
def test_structural_moves_make_whole_plans_and_are_evaluated_as_the_referee_does(seed: int, ample: bool) -> None:
    from solvers.memetic import structural_moves
    from tests.solvers.kernel_calls import callable_from_python, try_plan

    reshape = callable_from_python(structural_moves.reshape)
    result = np.zeros(5)

    def change(bench: Bench, g: int) -> Any:
        moved = False
        for _ in range(4):
            moved = bool(reshape(bench.p, bench.search.rng)) or moved
        if not moved:
            return None
        try_plan(*bench.p[:3], bench.p.group, result)
        bench.load(bench.grids[g])
        np.testing.assert_allclose(result, bench.p.result, rtol=CLOSE, atol=1e-12)
        return bench.grids[g]

    on_every_member(seed, ample, change)


@pytest.mark.parametrize("seed", SEEDS)
def test_swaps_count_missing_links_as_the_whole_plan_does(seed: int) -> None:
    from tests.solvers.kernel_calls import do_swap, try_swap

    result = np.zeros(5)

    def change(bench: Bench, g: int) -> Any:
        slots = bench.p.q[5]
        for i, j in ((0, slots - 1), (0, 1), (slots // 2, len(bench.p.group) - 1)):
            if i < slots and i != j < len(bench.p.group):
                try_swap(*bench.p[:3], i, j, result)
                do_swap(*bench.p[:3], i, j)
                np.testing.assert_allclose(result, bench.p.result, rtol=CLOSE, atol=1e-9)
                tried = result.copy()
                bench.load(bench.grids[g])
                np.testing.assert_allclose(tried, bench.p.result, rtol=CLOSE, atol=1e-9)
        return bench.grids[g]

    on_every_member(seed, True, change, gaps=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_moves_to_other_grids_make_whole_plans(seed: int) -> None:
    from solvers.memetic import grid_moves
    from tests.solvers.kernel_calls import callable_from_python

    move = callable_from_python(grid_moves.change_grid)
    grid = np.zeros(3, dtype=np.int64)

    def change(bench: Bench, g: int) -> Any:
        return grid if move(bench.p, bench.search.rng, bench.search.population.at, grid) else None

    on_every_member(seed, True, change)


@pytest.mark.parametrize("ample", [True, False], ids=["ample", "limits"])
@pytest.mark.parametrize("seed", SEEDS)
def test_destroyed_plans_are_repaired(seed: int, ample: bool) -> None:
    from solvers.memetic import crossover
    from tests.solvers.kernel_calls import callable_from_python

    destroy = callable_from_python(crossover.destroy)
    repair = callable_from_python(crossover.repair_slots)

    def change(bench: Bench, g: int) -> Any:
        r, b, stages = (int(entry) for entry in bench.grids[g])
        replicas, p = bench.tables.replicas[r], bench.p
        bench.left[:] = bench.tables.counts - np.bincount(p.group[: replicas * stages], minlength=len(bench.left))
        destroy(bench.search.rng, p.group, replicas, stages, bench.left)
        repair(p, bench.search.rng, r, b, stages, p.group, bench.left)
        return bench.grids[g]

    on_every_member(seed, ample, change)


@pytest.mark.parametrize("ample", [True, False], ids=["ample", "limits"])
@pytest.mark.parametrize("seed", SEEDS)
def test_fitted_layers_are_whole_splits(seed: int, ample: bool) -> None:
    from solvers.memetic import layer_split
    from tests.solvers.kernel_calls import callable_from_python

    fit = callable_from_python(layer_split.fit_layers)

    def change(bench: Bench, g: int) -> Any:
        r, b, stages = (int(entry) for entry in bench.grids[g])
        fit(bench.p, r, b, stages, bench.p.layers, bench.p.group)
        return bench.grids[g]

    on_every_member(seed, ample, change)


@pytest.mark.parametrize("seed", SEEDS)
def test_constructed_plans_are_whole(seed: int) -> None:
    from solvers.memetic import construction, site_placement
    from tests.solvers.kernel_calls import callable_from_python

    make = (
        callable_from_python(construction.chain_placement),
        callable_from_python(site_placement.site_by_site_placement),
    )
    bench = Bench(seed, warm=0)
    for grid in bench.grids:
        r, b, stages = (int(entry) for entry in grid)
        bench.p.layers[:stages] = 1
        bench.p.layers[0] = bench.tables.layers - stages + 1
        for construct in make:
            construct(bench.p, bench.search.rng, r, b, stages, bench.p.group)
            bench.check(grid)


def test_a_gpu_that_draws_no_more_at_work_is_found_among_much_slower_ones() -> None:
    """Costs that are infinite beside those of idle-powered GPUs once left slots without a GPU."""
    from tests.solvers.test_exact_extremes import extreme_pool

    problem = Problem(extreme_pool(1032), Goal(energy_weight=1.0))
    truth = Brute().solve(problem, Budget(), Monitor()).plan
    assert truth is not None
    for seed in range(6, 12):
        found = Memetic().solve(problem, Budget(seed=seed, evaluations=20_000), Monitor()).plan
        assert found is not None
        assert problem.value(found) == pytest.approx(problem.value(truth), rel=CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_pricer_agrees_with_the_referee(seed: int) -> None:
    from solvers.kernel.evaluator import Evaluator
    from tests.random_plans import random_plan

    for ample in (True, False):
        instance = random_instance(seed)
        problem = Problem(
            with_ample_memory(instance) if ample else instance, goal_of(OBJECTIVES[seed % len(OBJECTIVES)])
        )
        evaluator = Evaluator(problem.tables, problem.goal)
        for draw in range(8):
            plan = random_plan(problem.instance, draw)
            truth = problem.value(plan)
            assert evaluator.value(plan) == pytest.approx(np.inf if truth is None else truth, rel=CLOSE)


@pytest.mark.parametrize("name", ["memetic", "random", "contiguous", "brute"])
def test_after_warming_up_nothing_more_is_compiled(name: str) -> None:
    """Whatever the problem: profiles, power caps, link energy, a front, caps, another size."""
    from numba.core import event

    from solvers.core.interface import Budget, Monitor
    from solvers.core.registry import make_solver

    solver = make_solver(name, {})
    solver.warm_up()
    objectives = ["time", "energy", "carbon", "energy@1x", *(["front"] if solver.fronts else [])]
    with event.install_recorder("numba:compile") as compiled:
        for seed, objective in enumerate(objectives):
            problem = Problem(random_instance(seed, gpus=3 + seed % 3), goal_of(objective))
            solver.solve(problem, Budget(evaluations=2000, seed=seed), Monitor())
    assert not [str(entry.data["dispatcher"]) for _, entry in compiled.buffer]
