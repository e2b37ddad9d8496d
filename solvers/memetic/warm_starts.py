"""Warm starts of the search: the best site-by-site plan of each grid, and the user's plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from instances.objective import Goal
from instances.plan import Plan
from instances.tables import Ints, Tables
from solvers.core.interface import Budget, Problem
from solvers.memetic.incumbent_log import IncumbentLog
from solvers.memetic.population import Small
from solvers.placements.best_plans import BestPlans, EvaluatedPlan
from solvers.placements.site_by_site import placements

SLACK = 1.2
"""A grid whose best site-by-site plan is worse than so many times the best of all gets no warm start."""


class WarmStarts(NamedTuple):
    """Feasible plans i, by rising value of the goal that each was made for."""

    niche: Ints  # [i] grid
    layers: Small  # [i, L]
    groups: Small  # [i, n], slot r * S + s


def evaluate_placements(
    problem: Problem, budget: Budget, most: int | None, log: IncumbentLog, site_by_site: list[BestPlans]
) -> None:
    """Evaluate site-by-site placements until all are done or half of the budget is spent; `most` limits evaluations."""
    deadline = log.deadline
    until = None if budget.seconds is None else (deadline.seconds + budget.seconds) / 2
    for placement in placements(problem.instance, problem.tables):
        if (most is not None and 2 * deadline.evaluations >= most) or (until is not None and deadline.seconds >= until):
            break
        for plans in site_by_site:
            deadline.evaluations += plans.evaluate(placement)
            if plans.best is not None:
                log.take(plans.best.value, plans.best)
    if problem.goal.front:
        log.take_ends(plans.best for plans in site_by_site if plans.best is not None)


def placement_goals(goal: Goal) -> list[Goal]:
    """Goals of the site-by-site plans: the problem's own, or for a front its two ends."""
    if not goal.front:
        return [goal]
    return [Goal(goal.metric, time_weight=1.0), Goal(goal.metric, energy_weight=1.0)]


def warm_starts(tables: Tables, grids: Ints, start: Plan | None, site_by_site: Iterable[BestPlans]) -> WarmStarts:
    """The warm starts as arrays; plans on grids that are not searched are left out."""
    niches = {tuple(grid): niche for niche, grid in enumerate(grids.tolist())}
    chosen = sorted((plan for plans in site_by_site for plan in plans.by_grid()), key=lambda plan: plan.value)
    if start is not None:
        r_index, b = tables.replicas.index(start.replicas), tables.micro_batches.index(start.micro_batch)
        chosen.insert(0, EvaluatedPlan(0.0, r_index, b, np.array(start.layers), np.array(start.groups)))
    chosen = [plan for plan in chosen if (plan.r_index, plan.b, len(plan.layers)) in niches]
    starts = WarmStarts(
        niche=np.array([niches[plan.r_index, plan.b, len(plan.layers)] for plan in chosen], dtype=np.int64),
        layers=np.zeros((len(chosen), tables.layers), dtype=np.int16),
        groups=np.zeros((len(chosen), tables.gpus), dtype=np.int16),
    )
    for i, plan in enumerate(chosen):
        starts.layers[i, : len(plan.layers)] = plan.layers
        starts.groups[i, : plan.groups.size] = plan.groups.ravel()
    return starts
