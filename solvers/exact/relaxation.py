"""Bounds a part by priced shortest paths and rules out what no plan below the target can use."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from instances.plan import Plan
from instances.tables import Floats, Ints
from solvers.core.tiny_problem import tiny_problem
from solvers.exact.costs import GridCosts
from solvers.exact.grid_bounds import SAFETY, grid_bounds
from solvers.exact.propagation import fit_layers, fit_steps, fit_sync
from solvers.exact.subproblem import Part


class View(NamedTuple):
    """One relaxation: pipelines first..beyond-1, each a path, whose total cost must stay below the limit.

    The seconds of the pipelines count by their average, or by any weights that add up to 1: `timed` and
    `timed_hop` are a pipeline's, `steady` is [r] what it takes besides. The rest counts for every pipeline.
    """

    name: str
    first: int
    beyond: int
    timed: Floats  # [last, k, layers]
    timed_hop: Floats  # [k, j]
    steady: Floats  # [r]
    rest: Floats  # [last, k, layers]
    rest_hop: Floats  # [k, j]
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
    from solvers.exact.lagrangian import Multipliers, Relaxation, forbid, tighten  # numba loads late

    costs, tables = part.costs, part.costs.tables
    rows, count = slice(view.first, view.beyond), view.beyond - view.first
    states = costs.joint if costs.joint is not None and count == costs.replicas else costs.alone
    can_serve, can_flow = part.stay[rows], part.move[rows]
    like_before = np.array([r > view.first and part.alike(r, r - 1) for r in range(view.first, view.beyond)])
    allowed = states.allowed(can_serve, tables.counts, part.sync_high)
    # The exchange must be short enough; only its energy adds up.
    joint = view.exchange * states.exchange_energy.min(axis=0)
    last: Ints = (np.arange(costs.stages) == costs.stages - 1).astype(np.int64)
    relaxation = Relaxation(
        *(view.timed, view.timed_hop, view.steady, view.rest, view.rest_hop, joint, view.constant, view.limit),
        *(states.digits, states.powers, allowed, last),
        *(can_serve, can_flow, tables.counts, like_before, tables.layers),
    )
    kept = part.multipliers.setdefault(view.name, (np.zeros(len(tables.counts)), np.full(count, 1 / count)))
    multipliers = Multipliers(*kept)
    bound, least, cost, groups, layers = tighten(relaxation, multipliers, steps)
    dropped = 0
    if bound <= view.limit < np.inf:
        # A block may cost as much as is left while the others cost their least.
        blocks = [(b, view.limit - bound + cost) for b, cost in enumerate(least)]
        reverse = relaxation.reversed()
        dropped = sum(forbid(relaxation, reverse, multipliers, b, limit) for b, limit in blocks)
    if cost < view.limit and count == costs.replicas:
        offer(Plan.from_groups(costs.bound.grid.micro_batch, layers, groups))
    return float(bound - SAFETY * abs(bound)) if np.isfinite(bound) else float(bound), dropped


def _time_views(part: Part, target: float) -> list[View]:
    """The slowest pipeline is no faster than any one, nor than the average."""
    costs, limit, sync = part.costs, part.costs.time_limit(target), part.sync_low
    compute, hop, replicas = costs.forward + costs.backward, costs.hop, costs.replicas
    steady = costs.repeats * part.low.sum(axis=1)
    none, no_hop = np.zeros_like(compute), np.zeros_like(hop)
    # Pipelines with equal choices have equal bounds, but each must lose its own choices.
    views = [
        View(f"time {r}", r, r + 1, compute, hop, steady[r : r + 1], none, no_hop, sync, limit) for r in range(replicas)
    ]
    if replicas > 1:
        views.append(View("all times", 0, replicas, compute, hop, steady, none, no_hop, sync, limit))
    return views


def _energy_views(part: Part, target: float) -> list[View]:
    """Energy with every GPU idle for the least time; for the objective and for a cap."""
    costs, goal, replicas = part.costs, part.costs.goal, part.costs.replicas
    energy = costs.above_idle + (costs.tables.idle * part.time_s)[None, :, None]
    compute, hop = goal.time_weight * (costs.forward + costs.backward), goal.time_weight * costs.hop
    steady = goal.time_weight * costs.repeats * part.low.sum(axis=1)
    views = []
    if goal.energy_weight:
        rest, rest_hop = goal.energy_weight * energy, goal.energy_weight * costs.hop_energy
        sync = goal.time_weight * part.sync_low
        views.append(View("value", 0, replicas, compute, hop, steady, rest, rest_hop, sync, target, goal.energy_weight))
    if goal.energy_cap is not None:
        none, no_hop, still = np.zeros_like(compute), np.zeros_like(hop), np.zeros(replicas)
        limit = costs.energy_limit()
        views.append(View("energy", 0, replicas, none, no_hop, still, energy, costs.hop_energy, 0.0, limit, 1.0))
    return views


def warm_up() -> None:
    """Compile the bounds of one pipeline and of several together, or load what was compiled."""
    problem = tiny_problem()
    for cheap in grid_bounds(problem.tables, problem.goal):
        if cheap.value is not None and cheap.grid.stages == 2:
            tighten_part(Part.whole(GridCosts(problem.tables, problem.goal, cheap)), 2 * cheap.value, 2, lambda _: None)
