"""The uniform baseline: equal layers, every GPU, ranks in listed order (docs/model.md, Baselines)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Solver, Status
from solvers.core.registry import register
from solvers.placements.uniform import best_uniform


@register
@dataclass(frozen=True)
class Megatron(Solver):
    """Tries each legal grid once and keeps the fastest, whatever the goal; no randomness, no budget.

    It guides itself by time alone, as the usual launch does: under another objective its one plan is
    valued as it is, and it has no answer where that plan breaks a cap.
    """

    name: ClassVar[str] = "megatron"
    summary: ClassVar[str] = "uniform layers on all GPUs in listed order, fastest of the legal grids"

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """The best uniform plan, if there is one and it keeps the goal's caps."""
        deadline = Deadline.of(budget, monitor)
        plan, deadline.evaluations = best_uniform(problem.instance, problem.tables)
        value = None if plan is None else problem.value(plan)
        if plan is None or value is None:
            return Outcome(Status.UNKNOWN, evaluations=deadline.evaluations)
        deadline.note(value)
        return Outcome(Status.FEASIBLE, plan, evaluations=deadline.evaluations, trace=tuple(deadline.trace))
