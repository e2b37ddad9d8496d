"""Enumeration of all plans up to symmetry: the oracle for tiny instances, for every objective and the front."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from instances.objective import CAP_SLACK
from instances.plan import Plan
from instances.referee.evaluate import evaluate
from instances.tables import Grid, Ints, Tables
from solvers.core.deadline import Deadline
from solvers.core.front import Front
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Proof, Solver, Status
from solvers.core.registry import register
from solvers.core.tiny_problem import tiny_problem

if TYPE_CHECKING:
    from solvers.kernel.packed import Packed

CHUNK = 200_000
"""Plans enumerated between two looks at the clock: a tenth of a second or less."""


ROUNDING = 1e-13
"""Relative difference allowed between the kernel's time or energy and the referee's; on tiny pools it is far less."""


@register
@dataclass(frozen=True)
class Brute(Solver):
    """Evaluates every feasible plan once, up to the symmetry of interchangeable GPUs and pipelines."""

    name: ClassVar[str] = "brute"
    summary: ClassVar[str] = "enumeration of all plans up to symmetry, for tiny instances"
    proves: ClassVar[Proof] = Proof.OPTIMUM
    fronts: ClassVar[bool] = True

    def warm_up(self) -> None:
        """Compile the enumeration, or load what was compiled."""
        self.solve(tiny_problem(), Budget(evaluations=1), Monitor())

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """Enumerate grid by grid; complete enumeration proves optimality, infeasibility or the whole front."""
        deadline = Deadline.of(budget, monitor)
        from solvers.kernel.packed import GOAL, goal_row, pack

        packed = pack(problem.tables, problem.goal)
        # The caps have more slack here than by the referee, so that rounding loses no plan. If the referee refuses the
        # best plan, it is put just beyond the caps and the search repeated: it made one that it accepts look worse.
        packed.f[GOAL : GOAL + 6] = goal_row(problem.goal, share=1.01)
        while True:
            search = _Search(problem, packed)
            complete = all(search.exhaust(grid, deadline, monitor) for grid in problem.tables.grids())
            plans = search.plans()
            if problem.goal.front or not plans or not put_beyond_caps(packed, problem, plans[0]):
                break
            deadline.trace.clear()
        found = bool(plans)
        status = {
            (True, True): Status.OPTIMAL,
            (True, False): Status.INFEASIBLE,
            (False, True): Status.FEASIBLE,
            (False, False): Status.UNKNOWN,
        }[complete, found]
        front = problem.goal.front and found
        return Outcome(
            status,
            plan=plans[0] if found and not front else None,
            bound=problem.value(plans[0]) if complete and found and not front else None,
            front=plans if front else None,
            evaluations=deadline.evaluations,
            trace=tuple(deadline.trace),
            limit_reached=not complete,
        )


def put_beyond_caps(packed: Packed, problem: Problem, plan: Plan) -> bool:
    """Lower the caps that a plan breaks by the referee to below its own time and energy; False if it breaks none."""
    from solvers.kernel.packed import ENERGY_CAP, GOAL, TIME_CAP

    cost, goal = evaluate(problem.instance, plan), problem.goal
    caps = ((TIME_CAP, goal.time_cap, cost.time_s), (ENERGY_CAP, goal.energy_cap, cost.energy_j))
    broken = [(entry, found) for entry, cap, found in caps if cap is not None and found > cap * (1 + CAP_SLACK)]
    for entry, found in broken:
        packed.f[GOAL + entry] = found * (1 - ROUNDING)
    return bool(broken)


class _Search:
    """The plans kept so far: the best one, or all that no other dominates."""

    def __init__(self, problem: Problem, packed: Packed) -> None:
        self._problem = problem
        self._packed = packed
        self._best_plan: Plan | None = None
        self._front = Front()
        self._best = np.array([np.inf])

    def exhaust(self, grid: Grid, deadline: Deadline, monitor: Monitor) -> bool:
        """Enumerate one grid; False if the budget ended first."""
        from solvers.kernel.enumeration import enumerate_chunk

        r, b = self._problem.tables.indices(grid)
        slots = grid.replicas * grid.stages
        front = self._problem.goal.front
        kept = np.zeros((4096 if front else 1, 2))
        plans = np.zeros((len(kept), slots), dtype=np.int64)
        used = np.zeros(len(self._packed.counts), dtype=np.int64)
        for layers in splits(self._problem.tables, grid):
            state = np.zeros(2, dtype=np.int64)  # position in the enumeration, plans evaluated
            groups = np.full(slots, -1, dtype=np.int64)
            used[:] = 0
            done = False
            while not done:
                if deadline.passed:
                    return False
                left = deadline.evaluations_left
                limit = CHUNK if left is None else min(CHUNK, left)
                state[1] = 0
                count, done = enumerate_chunk(
                    self._packed, r, b, layers, groups, used, state, limit, kept, plans, self._best, front
                )
                deadline.evaluations += int(state[1])
                for row in range(count):
                    plan = Plan.from_groups(grid.micro_batch, layers, plans[row].reshape(grid.replicas, grid.stages))
                    self._keep(float(kept[row, 0]), float(kept[row, 1]), plan, deadline, monitor)
        return True

    def _keep(self, time_s: float, energy: float, plan: Plan, deadline: Deadline, monitor: Monitor) -> None:
        if not self._problem.goal.front:
            self._best_plan = plan
            deadline.note(float(self._best[0]))
            monitor.on_plan(plan)
        elif self._front.add(time_s, energy, plan):
            monitor.on_plan(plan)

    def plans(self) -> tuple[Plan, ...]:
        """What was kept, by rising time."""
        if self._problem.goal.front:
            return self._front.plans()
        return () if self._best_plan is None else (self._best_plan,)


def splits(tables: Tables, grid: Grid) -> Iterator[Ints]:
    """All ways to split the layers over the stages of a grid such that some GPU fits each stage."""
    r, b = tables.indices(grid)
    most = [int(tables.fits[r, b, :, int(s == 0), int(s == grid.stages - 1)].max()) for s in range(grid.stages)]
    for cuts in combinations(range(1, tables.layers), grid.stages - 1):
        ends = np.array((0, *cuts, tables.layers), dtype=np.int64)
        layers = ends[1:] - ends[:-1]
        if all(count <= limit for count, limit in zip(layers, most, strict=True)):
            yield layers
