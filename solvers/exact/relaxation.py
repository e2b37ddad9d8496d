"""Bounds a part by priced shortest paths and rules out what no plan below the target can use."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from instances.plan import Plan
from instances.tables import Floats, Ints
from solvers.bounds import SAFETY
from solvers.exact.part import Part
from solvers.exact.reach import fit_layers, fit_steps, fit_sync


class View(NamedTuple):
    """One relaxation: pipelines first..beyond-1, each a path, whose total cost must stay below the limit."""

    name: str
    node: Floats  # [last, k, layers]
    hop: Floats  # [k, j]
    first: int
    beyond: int
    constant: float
    limit: float
    exchange: float = 0.0  # what a unit of the exchange's energy counts as


def tighten_part(part: Part, target: float, steps: int, offer: Callable[[Plan], object]) -> bool:
    """Raise the bounds of a part and shrink its choices; False if no plan in it can be below the target.

    Feasible paths met on the way are offered as plans. The part's bounds hold for every plan in it that is
    below the target.
    """
    goal = part.costs.goal
    # Two rounds: what one view rules out sharpens the next, and the least time sharpens the energy.
    for _ in range(2):
        if not (fit_steps(part) and fit_sync(part, target) and fit_layers(part)):
            return False
        dropped = 0
        for view in _time_views(part, target):
            bound, gone = _look(part, view, steps, offer)
            dropped += gone
            if bound > view.limit:
                return False
            part.time_s = max(part.time_s, bound)
            part.pipeline_s = max(part.pipeline_s, (bound - part.sync_low) * (1 - SAFETY))
        part.value = max(part.value, goal.time_weight * part.time_s)
        for view in _energy_views(part, target):
            bound, gone = _look(part, view, steps, offer)
            dropped += gone
            if bound > view.limit:
                return False
            if view.name == "value":
                part.value = max(part.value, bound)
        if part.value > target:
            return False
        if not dropped:
            break
    return fit_steps(part) and fit_layers(part)


def _look(part: Part, view: View, steps: int, offer: Callable[[Plan], object]) -> tuple[float, int]:
    """Bound the part by one view; the bound and how many choices went."""
    from solvers.exact.prices import tighten  # numba loads late
    from solvers.exact.team_prices import tighten_team

    costs, tables = part.costs, part.costs.tables
    count = view.beyond - view.first
    groups: Ints = np.zeros((count, costs.stages), dtype=np.int64)
    layers: Ints = np.zeros(costs.stages, dtype=np.int64)
    price = part.prices.setdefault(view.name, np.zeros(len(tables.counts)))
    stay, move = part.stay[view.first : view.beyond], part.move[view.first : view.beyond]
    limits = tables.counts, tables.layers, view.constant, view.limit
    teams = costs.teams if count == costs.replicas else None
    if teams is not None:
        # The exchange must be short enough; only its energy adds up.
        extra = view.exchange * teams.sync_energy.min(axis=0)
        sync = teams.sync, part.sync_high, extra, teams.digits, teams.powers
        bound, dropped, path = tighten_team(
            view.node, view.hop, stay, move, *sync, *limits, price, steps, groups, layers
        )
    else:
        like_before = np.array([r > view.first and part.alike(r, r - 1) for r in range(view.first, view.beyond)])
        bound, dropped, path = tighten(
            view.node, view.hop, stay, move, like_before, *limits, price, steps, groups[0], layers
        )
    if count == costs.replicas and path + view.constant < view.limit:
        offer(Plan.from_groups(costs.bound.grid.micro_batch, layers, groups))
    return float(bound - SAFETY * abs(bound)) if np.isfinite(bound) else float(bound), int(dropped)


def _time_views(part: Part, target: float) -> list[View]:
    """The slowest pipeline is no faster than any one, nor than the average."""
    costs, limit, sync = part.costs, part.costs.time_limit(target), part.sync_low
    compute, replicas = costs.forward + costs.backward, costs.replicas
    steady = [costs.repeats * float(low.sum()) for low in part.low]
    views = [
        View(f"time {r}", compute, costs.hop, r, r + 1, steady[r] + sync, limit)
        for r in range(replicas)
        # Pipelines with equal choices have equal bounds, but each must lose its own choices.
        if replicas > 1 or r == 0
    ]
    if replicas > 1:
        mean = sum(steady) / replicas + sync
        views.append(View("mean time", compute / replicas, costs.hop / replicas, 0, replicas, mean, limit))
    return views


def _energy_views(part: Part, target: float) -> list[View]:
    """Energy with every GPU idle for the least time; for the objective and for a cap."""
    costs, goal, replicas = part.costs, part.costs.goal, part.costs.replicas
    energy = costs.above_idle + (costs.tables.idle * part.time_s)[None, :, None]
    views = []
    if goal.energy_weight:
        share = goal.time_weight / replicas
        node = share * (costs.forward + costs.backward) + goal.energy_weight * energy
        hop = share * costs.hop + goal.energy_weight * costs.hop_energy
        constant = share * costs.repeats * float(part.low.sum()) + goal.time_weight * part.sync_low
        views.append(View("value", node, hop, 0, replicas, constant, target, goal.energy_weight))
    if goal.energy_cap is not None:
        views.append(View("energy", energy, costs.hop_energy, 0, replicas, 0.0, costs.energy_limit(), 1.0))
    return views
