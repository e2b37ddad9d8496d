"""Plans that the search is given to begin with: the best by hand of each grid, and the user's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from instances.objective import Goal
from instances.plan import Plan
from instances.tables import Ints, Tables
from solvers.core.interface import Budget, Problem
from solvers.memetic.incumbents import Finds
from solvers.memetic.population import Small
from solvers.placements.best_plans import BestPlans, PricedPlan
from solvers.placements.site_by_site import placements

SLACK = 1.2
"""A grid whose best plan by hand costs more than so many times the best of all is left to the search."""


class Given(NamedTuple):
    """Feasible plans i, by rising value of the goal that each was made for."""

    niche: Ints  # [i] grid
    layers: Small  # [i, L]
    groups: Small  # [i, n], slot r * S + s


def price_by_hand(problem: Problem, budget: Budget, most: int | None, finds: Finds, by_hand: list[BestPlans]) -> None:
    """Price placements by hand until all are priced or half of the budget is spent; `most` limits evaluations."""
    deadline = finds.deadline
    until = None if budget.seconds is None else (deadline.seconds + budget.seconds) / 2
    for placement in placements(problem.instance, problem.tables):
        if (most is not None and 2 * deadline.evaluations >= most) or (until is not None and deadline.seconds >= until):
            break
        for plans in by_hand:
            deadline.evaluations += plans.price(placement)
            if plans.best is not None:
                finds.take(plans.best.value, plans.best)
    if problem.goal.front:
        finds.take_ends(plans.best for plans in by_hand if plans.best is not None)


def goals_by_hand(goal: Goal) -> list[Goal]:
    """What plans by hand are made for: the goal, or for a front its two ends."""
    if not goal.front:
        return [goal]
    return [Goal(goal.figure, time_weight=1.0), Goal(goal.figure, energy_weight=1.0)]


def give(tables: Tables, grids: Ints, start: Plan | None, by_hand: Iterable[BestPlans]) -> Given:
    """The arrays of all these plans, as far as their grids are searched."""
    niches = {tuple(grid): niche for niche, grid in enumerate(grids.tolist())}
    chosen = sorted((plan for plans in by_hand for plan in plans.by_grid()), key=lambda plan: plan.value)
    if start is not None:
        r_index, b = tables.replicas.index(start.replicas), tables.micro_batches.index(start.micro_batch)
        chosen.insert(0, PricedPlan(0.0, r_index, b, np.array(start.layers), np.array(start.groups)))
    chosen = [plan for plan in chosen if (plan.r_index, plan.b, len(plan.layers)) in niches]
    given = Given(
        niche=np.array([niches[plan.r_index, plan.b, len(plan.layers)] for plan in chosen], dtype=np.int64),
        layers=np.zeros((len(chosen), tables.layers), dtype=np.int16),
        groups=np.zeros((len(chosen), tables.gpus), dtype=np.int16),
    )
    for i, plan in enumerate(chosen):
        given.layers[i, : len(plan.layers)] = plan.layers
        given.groups[i, : plan.groups.size] = plan.groups.ravel()
    return given
