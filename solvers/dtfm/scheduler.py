"""DT-FM's evolutionary scheduler as a solver: its cost guides the search, the referee values the plan.

Source: Yuan et al. 2022 (arXiv 2206.01288), sections 3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from instances.objective import Goal
from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Solver, Status
from solvers.core.registry import register
from solvers.core.tiny_problem import tiny_problem

CHOICES = {"gain": ("paper", "baseline"), "guide": ("cost", "time")}


@register
@dataclass(frozen=True)
class Dtfm(Solver):
    """Searches for a partition on each grid of all GPUs, then lets the referee choose grid, direction and micro-batch.

    It guides itself by its own cost and by time, whatever the goal: under another objective its one plan
    is valued as it is. That cost sees neither compute speed nor memory: a grid whose plan does not fit is
    skipped and nothing is repaired. With `guide=time` the genetic search minimises the iteration time of
    the plan read off each partition instead: what the search is worth without its cost model. Where no
    plan of all GPUs fits, the GPUs listed last are left out one by one, as docs/model.md says under
    Baselines; grids that no partition fits are not searched.

    Budget: `candidates` for each grid, as published for one; `--evaluations` limits all grids together. A
    limit is shared out evenly over the grids still to come, so what one does not use goes to the others.
    """

    candidates: int = 5000  # for each grid: an initial population of 100 and 4,900 offspring
    gain: str = "paper"  # or `baseline`, the plain gain that the authors compare with
    guide: str = "cost"  # or `time`: the genetic search minimises the iteration time instead of DT-FM's own cost

    name: ClassVar[str] = "dtfm"
    summary: ClassVar[str] = "DT-FM's evolutionary scheduler: equal layers, partition by communication cost alone"
    random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.candidates < 1:
            raise ValueError(f"option 'candidates': found {self.candidates}, expected at least 1")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"option {name!r}: {getattr(self, name)!r} is neither {' nor '.join(choices)}")

    def warm_up(self) -> None:
        """Compile the search and the evaluation of plans, or load what was compiled."""
        for gain in CHOICES["gain"]:  # a few candidates past the initial population
            Dtfm(candidates=105, gain=gain).solve(tiny_problem(), Budget(), Monitor())

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """The fastest plan of all grids, if there is one and it keeps the goal's caps."""
        deadline = Deadline.of(budget, monitor)
        if deadline.passed:
            return Outcome(Status.UNKNOWN, limit_reached=True)
        from solvers.dtfm.grid_search import GridSearch, shapes_within_memory

        tables, goal = problem.tables, problem.goal
        search = GridSearch(
            problem.instance, tables, self.candidates, self.gain == "baseline", budget.seed, self.guide == "time"
        )
        best = None
        cut_short = False
        own_costs: list[dict[str, Any]] = []
        # Only then is the fastest plan so far also the best by the goal, and the trace one of it.
        by_time = goal == Goal(time_weight=goal.time_weight)
        for used in range(tables.gpus, 0, -1):
            if best is not None or deadline.passed:
                break
            shapes = shapes_within_memory(problem.instance, tables, used)
            shapes.sort(key=lambda shape: min(shape.replicas, shape.stages) > 1)  # one partition only takes no time
            for done, shape in enumerate(shapes):
                if deadline.passed:
                    cut_short = True
                    break
                result = search.run(shape, deadline, grids_left=len(shapes) - done)
                cut_short |= result.cut_short
                own_costs.append(result.details)
                monitor.on_details({"own_costs": own_costs})
                if result.plan is not None and (best is None or result.time_s < best.time_s):
                    best = result
                    monitor.on_plan(result.plan)
                    if by_time:
                        deadline.note(goal.time_weight * result.time_s)
        plan = best.plan if best else None
        value = problem.value(plan) if plan else None
        if value is not None:
            deadline.note(value)
        return Outcome(
            Status.UNKNOWN if value is None else Status.FEASIBLE,
            None if value is None else plan,
            evaluations=deadline.evaluations,
            trace=() if value is None else tuple(deadline.trace),
            limit_reached=cut_short or (best is None and deadline.passed),
            details={"own_costs": own_costs},
        )
