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
best plan by the goal is kept.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from instances.plan import Plan
from solvers.core.clock import Clock
from solvers.core.interface import Budget, Monitor, Outcome, Problem, Proof, Status
from solvers.core.registry import register
from solvers.placements.best_plans import BestPlans
from solvers.placements.site_by_site import placements


@register
@dataclass(frozen=True)
class Contiguous:
    """Tries every placement of the rule in the module's docstring once; no randomness. Values plans by the goal."""

    name: ClassVar[str] = "contiguous"
    summary: ClassVar[str] = "site by site: stages or pipelines inside sites along a short path, layers by speed"
    proves: ClassVar[Proof] = Proof.NOTHING
    random: ClassVar[bool] = False
    fronts: ClassVar[bool] = False
    takes_start: ClassVar[bool] = False
    isolated: ClassVar[bool] = False

    def solve(self, problem: Problem, budget: Budget, monitor: Monitor) -> Outcome:
        """The best plan of the rule, if any fits and keeps the goal's caps."""
        clock = Clock(budget)
        if clock.expired:  # before anything is compiled
            return Outcome(Status.UNKNOWN, limit_reached=True)
        tables = problem.tables
        monitor.on_compiling()
        started = time.perf_counter()
        plans = BestPlans(tables, problem.goal, slack=1.0)
        clock.exclude(time.perf_counter() - started)
        monitor.on_compiled(clock.excluded)

        cut_short = False
        plan: Plan | None = None
        for placement in placements(problem.instance, tables):
            if clock.expired:
                cut_short = True
                break
            clock.evaluations += plans.price(placement)
            if plans.best is not None and clock.note(plans.best.value):
                plan = plans.best.to_plan(tables)
                monitor.on_plan(plan)
        return Outcome(
            Status.UNKNOWN if plan is None else Status.FEASIBLE,
            plan,
            evaluations=clock.evaluations,
            trace=tuple(clock.trace),
            limit_reached=cut_short,
            compile_s=clock.excluded,
        )
