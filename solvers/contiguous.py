"""Site by site, layers by speed: what an engineer would plan. Atlas and Sailor compare with plans of this kind.

The rule, for a reader with a pencil:

1. Choose the GPU types: all, all but the slowest, and so on to the fastest alone (placements/sites.py).
2. Walk the sites (the regions) along a short path: begin at one of the four largest, always go on to the nearest.
3. Lay the pipelines out along the path (placements/layouts.py):
   a. stage by stage, the R holders of a stage inside a site, R GPUs of a site for each stage;
   b. pipeline by pipeline, whole pipelines inside a site;
   c. R GPUs in a row for each stage, wherever the borders lie, for sites of fewer than R GPUs.
   Every number of pipelines and every depth is tried, so a plan may end at the first or second site.
4. Give each stage layers by the speed of its slowest holder, one by one to the least busy, the head counted,
   within memory; try every micro-batch size, and both ends of the pipelines as the first.

Before all that, the GPUs in listed order, with layers shared equally and by speed (placements/site_by_site.py). The
best plan by the goal is kept. Two options leave out parts of the rule, so that a table can say what each is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from instances.plan import Plan
from solvers.core.deadline import Deadline
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Solver, Status
from solvers.core.registry import register
from solvers.core.tiny_problem import tiny_problem
from solvers.placements.best_plans import BestPlans
from solvers.placements.site_by_site import placements
from solvers.placements.uniform import best_uniform

CHOICES = {"order": ("sites", "listed"), "gpus": ("any", "all")}


@register
@dataclass(frozen=True)
class Contiguous(Solver):
    """Tries every placement of the rule in the module's docstring once; no randomness. Values plans by the goal."""

    order: str = "sites"  # or `listed`: the GPUs in listed order alone, with layers shared equally and by speed
    gpus: str = "any"  # or `all`: as many GPUs as the usual launch uses, none left out because it is slow or far away

    name: ClassVar[str] = "contiguous"
    summary: ClassVar[str] = "site by site: stages or pipelines inside sites along a short path, layers by speed"

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"option {name!r}: {getattr(self, name)!r} is neither {' nor '.join(choices)}")

    def warm_up(self) -> None:
        """Compile the evaluation of placements, or load the compiled code."""
        self.solve(tiny_problem(), Budget(), Monitor())

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """The best plan of the rule, if any fits and keeps the goal's caps."""
        deadline = Deadline.of(budget, monitor)
        if deadline.passed:
            return Outcome(Status.UNKNOWN, limit_reached=True)
        tables = problem.tables
        plans = BestPlans(tables, problem.goal, slack=1.0)
        used = None
        if self.gpus == "all":
            usual, _ = best_uniform(problem.instance, tables)
            used = usual.replicas * usual.stages if usual else tables.gpus

        cut_short = False
        plan: Plan | None = None
        for placement in placements(problem.instance, tables, self.order == "listed", used):
            if deadline.passed:
                cut_short = True
                break
            deadline.evaluations += plans.evaluate(placement)
            if plans.best is not None and deadline.note(plans.best.value):
                plan = plans.best.to_plan(tables)
                monitor.on_plan(plan)
        return Outcome(
            Status.UNKNOWN if plan is None else Status.FEASIBLE,
            plan,
            evaluations=deadline.evaluations,
            trace=tuple(deadline.trace),
            limit_reached=cut_short,
        )
