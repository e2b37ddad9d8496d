"""DT-FM's evolutionary scheduler as a solver: its cost guides the search, the referee values the plan.

See docs/model.md, Baselines.

Source: Yuan et al. 2022 (arXiv 2206.01288), sections 3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from instances.objective import Goal
from instances.plan import Plan
from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Solver, Status
from solvers.core.registry import register
from solvers.core.tiny_problem import tiny_problem
from solvers.placements.uniform import Shape

if TYPE_CHECKING:
    from solvers.dtfm.grid_search import GridResult, GridSearch

GAINS = ("paper", "baseline")


@register
@dataclass(frozen=True)
class Dtfm(Solver):
    """Searches for a partition on each grid of all GPUs, then lets the referee choose grid, direction and micro-batch.

    It guides itself by its own cost and by time, whatever the goal: under another objective its one plan
    is valued as it is. It sees neither compute speed nor memory: a grid whose plan does not fit is
    skipped and nothing is repaired. Where no plan of all GPUs fits, the GPUs listed last are left out
    one by one, as in SPEC 4.1; grids that no partition fits are not searched.

    Budget: `candidates` for each grid, as published for one; `--evaluations` limits all grids together. A
    limit is shared out evenly over the grids still to come, so what one does not use goes to the others.
    """

    candidates: int = 5000  # for each grid: an initial population of 100 and 4,900 offspring
    gain: str = "paper"  # or `baseline`, the plain gain that the authors compare with

    name: ClassVar[str] = "dtfm"
    summary: ClassVar[str] = "DT-FM's evolutionary scheduler: equal layers, partition by communication cost alone"
    random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.candidates < 1:
            raise ValueError(f"option 'candidates': found {self.candidates}, expected at least 1")
        if self.gain not in GAINS:
            raise ValueError(f"option 'gain': {self.gain!r} is neither {' nor '.join(GAINS)}")

    def warm_up(self) -> None:
        """Compile the search and the evaluation of plans, or load what was compiled."""
        from solvers.dtfm.grid_search import warm_up

        warm_up()
        Dtfm(candidates=1).solve(tiny_problem(), Budget(), Monitor())

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """The fastest plan of all grids, if there is one and it keeps the goal's caps."""
        deadline = Deadline.of(budget)
        if deadline.passed:
            return Outcome(Status.UNKNOWN, limit_reached=True)
        from solvers.dtfm.fitting_shapes import fillable_shapes
        from solvers.dtfm.grid_search import GridSearch

        search = GridSearch(problem.instance, problem.tables, self.candidates, self.gain == "baseline", budget.seed)

        run = _Run(problem, search, deadline, monitor)
        for used in range(problem.tables.gpus, 0, -1):
            if run.best is not None or deadline.passed:
                break
            run.search_all(fillable_shapes(problem.instance, problem.tables, used))
        return run.outcome()


class _Run:
    """The fastest plan so far, and a record of each grid."""

    def __init__(self, problem: Problem, search: GridSearch, deadline: Deadline, monitor: Monitor) -> None:
        self._problem, self._search, self._deadline, self._monitor = problem, search, deadline, monitor
        self.best: GridResult | None = None
        self._grids: list[dict[str, Any]] = []
        self._cut_short = False
        # Only then is the fastest plan so far also the best by the goal, and the trace one of it.
        self._by_time = problem.goal == Goal(time_weight=problem.goal.time_weight)

    def search_all(self, shapes: list[Shape]) -> None:
        """Search grids of equally many GPUs, first those that have one partition only and take no time."""
        shapes = sorted(shapes, key=lambda shape: min(shape.replicas, shape.stages) > 1)
        for done, shape in enumerate(shapes):
            if self._deadline.passed:
                self._cut_short = True
                return
            result = self._search.run(shape, self._deadline, grids_left=len(shapes) - done)
            self._cut_short |= result.cut_short
            self._grids.append(result.details)
            self._monitor.on_details({"own_costs": self._grids})
            if result.plan is not None and (self.best is None or result.time_s < self.best.time_s):
                self.best = result
                self._monitor.on_plan(result.plan)
                if self._by_time:
                    self._deadline.note(self._problem.goal.time_weight * result.time_s)

    def outcome(self) -> Outcome:
        """What the run found, valued by the goal."""
        plan: Plan | None = self.best.plan if self.best else None
        value = self._problem.value(plan) if plan else None
        if value is not None:
            self._deadline.note(value)
        else:
            plan = None
        return Outcome(
            Status.UNKNOWN if plan is None else Status.FEASIBLE,
            plan,
            evaluations=self._deadline.evaluations,
            trace=tuple(self._deadline.trace) if plan else (),
            limit_reached=self._cut_short or (self.best is None and self._deadline.passed),
            details={"own_costs": self._grids},
        )
