"""The best of many random plans: what any search must beat, and what the spread of plans looks like.

The distribution of a draw:

1. a grid (R, S and micro-batch size), each one equally likely of those whose memory could hold the model;
2. R*S different GPUs in its slots, every selection and every order equally likely, so that most plans of a
   small grid leave out most GPUs;
3. a split of the layers with at least one each, all splits equally likely; layers that do not fit their stage
   go one by one to random stages with memory left.

A draw that still violates memory, a power cap or a cap of the goal is discarded and counts as an evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from instances.plan import Plan
from instances.seeds import seed_for
from instances.tables import Grid, Tables
from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Solver, Status
from solvers.core.registry import register
from solvers.core.tiny_problem import tiny_problem

CHUNK_WORK = 2_000_000
"""Pairs of GPUs evaluated between two looks at the clock: some hundredths of a second."""


@register
@dataclass(frozen=True)
class RandomSearch(Solver):
    """Draws plans until the budget ends; `draws` of them where it has no limit. Values plans by the goal."""

    draws: int = 20_000

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "the best of as many random feasible plans as the budget allows"
    random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise ValueError(f"option 'draws': found {self.draws}, expected at least 1")

    def warm_up(self) -> None:
        """Compile the drawing of plans, or load what was compiled."""
        self.solve(tiny_problem(), Budget(evaluations=1), Monitor())

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """The best plan drawn, if any was feasible."""
        limited = budget.seconds is not None or budget.evaluations is not None
        if not limited:
            budget = replace(budget, evaluations=self.draws)
        deadline = Deadline.of(budget, monitor)
        if deadline.passed:
            return Outcome(Status.UNKNOWN, limit_reached=True)
        run = _Run(problem, budget.seed)
        while run.grids and not deadline.passed:
            left = deadline.evaluations_left
            draws = run.chunk if left is None else min(run.chunk, left)
            better = run.draw(draws)
            deadline.evaluations += draws
            if better:
                assert run.plan is not None
                deadline.note(run.value)
                monitor.on_plan(run.plan)
        return Outcome(
            Status.UNKNOWN if run.plan is None else Status.FEASIBLE,
            run.plan,
            evaluations=deadline.evaluations,
            trace=tuple(deadline.trace),
            limit_reached=limited and deadline.passed,  # its default number of draws is not a limit
            details={"feasible": run.feasible, "grids_drawn_from": len(run.grids)},
        )


class _Run:
    """The stream of random numbers and the best plan so far."""

    def __init__(self, problem: Problem, seed: int) -> None:
        from solvers.kernel.packed import pack

        tables = problem.tables
        self._packed = pack(tables, problem.goal)
        self._rng = np.random.default_rng(seed_for("random", seed))
        self.grids = grids_within_memory(tables)
        rows = [(grid.replicas, grid.stages, *tables.indices(grid)) for grid in self.grids]
        self._rows = np.array(rows, dtype=np.int64).reshape(-1, 4)
        self._gpus = np.repeat(np.arange(len(tables.counts)), tables.counts)
        self._best = np.array([np.inf])
        self._groups = np.zeros(tables.gpus, dtype=np.int64)
        self._layers = np.zeros(tables.layers, dtype=np.int64)
        pairs = sum(grid.replicas**2 * grid.stages for grid in self.grids) / max(1, len(self.grids))
        self.chunk = max(1, int(CHUNK_WORK / (pairs + 100)))
        self.plan: Plan | None = None
        self.feasible = 0

    @property
    def value(self) -> float:
        """Value of the best plan so far."""
        return float(self._best[0])

    def draw(self, draws: int) -> bool:
        """Draw so many plans; whether one is the best so far."""
        from solvers.kernel.sampling import draw_plans

        kept, feasible = draw_plans(
            self._rng, self._packed, self._rows, self._gpus, draws, self._best, self._groups, self._layers
        )
        self.feasible += int(feasible)
        if kept < 0:
            return False
        grid = self.grids[kept]
        slots = self._groups[: grid.replicas * grid.stages].reshape(grid.replicas, grid.stages)
        self.plan = Plan.from_groups(grid.micro_batch, self._layers[: grid.stages], slots)
        return True


def grids_within_memory(tables: Tables) -> list[Grid]:
    """The legal grids without those that are too small for the model in every placement."""
    return [grid for grid in tables.grids() if tables.most_layers(grid) >= tables.layers]
