"""Grids that some partition fits; on each, search a partition, read pipelines off it and evaluate them both ways."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from instances.instance import Instance
from instances.objective import Goal
from instances.plan import Gpu, Plan
from instances.referee.check import Infeasible, check
from instances.referee.violations import slot_bytes, violations
from instances.seeds import seed_for
from instances.tables import Tables
from solvers.core.deadline import Deadline
from solvers.dtfm.cost import Groups, read_pipelines
from solvers.dtfm.genetic import search
from solvers.dtfm.message_times import message_times_of
from solvers.kernel.evaluator import Evaluator
from solvers.placements.uniform import Shape, equal_layers, listed_gpus, uniform_plans


def shapes_within_memory(instance: Instance, tables: Tables, used: int) -> list[Shape]:
    """The shapes of exactly `used` GPUs, those listed first, that some partition of these GPUs fits."""
    sizes: dict[tuple[int, int], list[int]] = {}
    for plan in uniform_plans(instance, tables, used):
        if not violations(instance, _by_memory(instance, plan)):
            sizes.setdefault((plan.replicas, plan.stages), []).append(plan.micro_batch)
    return [Shape(*grid, tuple(fitting)) for grid, fitting in sizes.items()]


def _by_memory(instance: Instance, plan: Plan) -> Plan:
    """The plan with its GPUs moved: those with most memory to the stage that needs most, and so on.

    If that does not fit, no other placement of the same GPUs does: their draw at each site is the same too.
    """
    gpus = sorted((gpu for row in plan.pipelines for gpu in row), key=lambda gpu: -instance.groups[gpu.group].memory)
    needs = slot_bytes(instance, plan)
    columns: dict[int, list[Gpu]] = {}
    for rank, stage in enumerate(sorted(range(plan.stages), key=lambda stage: -needs[stage])):
        columns[stage] = gpus[rank * plan.replicas : (rank + 1) * plan.replicas]
    return replace(plan, pipelines=tuple(zip(*(columns[stage] for stage in range(plan.stages)), strict=True)))


@dataclass(frozen=True)
class GridResult:
    """The fastest plan read off the partition, if it fits; infinite time if there is none."""

    plan: Plan | None
    time_s: float
    cut_short: bool  # the budget ended before all candidates were tried
    details: dict[str, Any] = field(default_factory=dict)


class GridSearch:
    """Runs the genetic algorithm on one grid after the other, each with random numbers of its own."""

    def __init__(
        self, instance: Instance, tables: Tables, candidates: int, baseline: bool, seed: int, by_time: bool = False
    ) -> None:
        self._instance, self._tables = instance, tables
        self._candidates, self._baseline, self._by_time, self._seed = candidates, baseline, by_time, seed
        self._ranks = np.array([gpu.group for gpu in listed_gpus(instance)], dtype=np.int64)
        self._evaluator = Evaluator(tables, Goal(time_weight=1.0))

    def run(self, shape: Shape, deadline: Deadline, grids_left: int) -> GridResult:
        """Search within an even share of what the clock leaves, and evaluate the plans it leads to."""
        replicas, stages, _ = shape
        began = deadline.seconds
        until = inf if deadline.left is None else began + deadline.left / grids_left
        wanted = 1 if min(replicas, stages) == 1 else self._candidates
        allowed = wanted
        if deadline.evaluations_left is not None:
            allowed = min(wanted, -(-deadline.evaluations_left // grids_left))
        groups = self._ranks[: replicas * stages]
        times = message_times_of(self._instance, self._tables, groups, replicas, stages)

        def iteration_time(partition: Groups) -> float:
            return self._fastest(shape, groups[read_pipelines(times.hop, partition)])[0]

        found = search(
            times.hop,
            times.exchange,
            stages,
            np.random.default_rng(seed_for("dtfm", self._seed, replicas, stages)),
            candidates=allowed,
            out_of_time=lambda: deadline.seconds >= until,
            whole_gradient=times.whole_gradient if self._baseline else None,
            fitness=iteration_time if self._by_time else None,
        )
        details: dict[str, Any] = {"replicas": replicas, "stages": stages}
        if found is None:
            return GridResult(None, inf, True, details | {"candidates": 0})
        deadline.evaluations += found.candidates
        seconds = deadline.seconds - began
        plan, time_s = self._plan(shape, groups[read_pipelines(times.hop, found.groups)])
        details |= {
            "candidates": found.candidates,
            "seconds": seconds,
            "data_parallel_s": found.cost.data_parallel,
            "pipeline_s": found.cost.pipeline,
            "total_s": found.cost.total,  # data_parallel_s + 2 * pipeline_s: DT-FM's own cost
            "time_s": time_s,  # the referee's, of the plan read off; None where it does not fit
            "micro_batch": plan.micro_batch if plan else None,
        }
        return GridResult(plan, inf if time_s is None else time_s, found.candidates < wanted, details)

    def _fastest(self, shape: Shape, pipelines: Groups) -> tuple[float, int, Groups]:
        """Least time of the plans with these groups (R x S) in s, inf if none fits; its micro-batch and direction."""
        layers = np.array(equal_layers(self._tables.layers, shape.stages))
        choices = [(size, placed) for placed in (pipelines, pipelines[:, ::-1]) for size in shape.micro_batches]
        times = [self._evaluator.value_of(size, layers, placed) for size, placed in choices]
        return min(times), *choices[int(np.argmin(times))]

    def _plan(self, shape: Shape, pipelines: Groups) -> tuple[Plan | None, float | None]:
        """The fastest plan with these groups (R x S), in either direction, and the referee's time."""
        _, size, placed = self._fastest(shape, pipelines)
        plan = Plan.from_groups(size, equal_layers(self._tables.layers, shape.stages), placed)
        checked = check(self._instance, plan)
        return (None, None) if isinstance(checked, Infeasible) else (plan, checked.time_s)
