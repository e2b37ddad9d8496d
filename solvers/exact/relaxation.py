"""Bounds a part by priced shortest paths and rules out what no plan below the target can use."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from instances.plan import Plan
from instances.tables import Floats, Ints
from solvers.bounds import SAFETY
from solvers.exact.costs import GridCosts, fewest_layers, least_by_stage, most_by_stage
from solvers.exact.part import Part


class View(NamedTuple):
    """One relaxation: so many pipelines, each a path, whose total cost must stay below the limit."""

    name: str
    node: Floats  # [last, k, layers]
    hop: Floats  # [k, j]
    pipelines: int
    constant: float
    limit: float


def tighten_part(part: Part, target: float, steps: int, offer: Callable[[Plan], None]) -> bool:
    """Raise the bounds of a part and shrink its choices; False if no plan in it can be below the target.

    Feasible paths met on the way are offered as plans. The part's bounds hold for every plan in it that is
    below the target.
    """
    costs = part.costs
    if not _fit_steps(part) or not _fit_sync(part, target):
        return False
    # Two rounds: what one view rules out sharpens the next, and the least time sharpens the energy.
    for turn in range(2):
        dropped = 0
        sync = sync_seconds(part)
        for view in _time_views(part, target, sync):
            bound, gone = _look(part, view, steps, offer)
            dropped += gone
            if bound > view.limit:
                return False
            part.time_s = max(part.time_s, bound)
            part.pipeline_s = max(part.pipeline_s, (bound - sync) * (1 - SAFETY))
        part.value = max(part.value, costs.goal.time_weight * part.time_s)
        for view in _energy_views(part, target):
            bound, gone = _look(part, view, steps, offer)
            dropped += gone
            if bound > view.limit:
                return False
            if view.name == "value":
                part.value = max(part.value, bound)
        if part.value > target or not part.alive or not _fit_steps(part):
            return False
        if not dropped or turn == 1:
            break
    return True


def _look(part: Part, view: View, steps: int, offer: Callable[[Plan], None]) -> tuple[float, int]:
    """Bound the part by one view; the bound and how many choices went."""
    from solvers.exact.prices import tighten  # numba loads late

    costs, stages = part.costs, part.costs.stages
    groups: Ints = np.zeros(stages, dtype=np.int64)
    layers: Ints = np.zeros(stages, dtype=np.int64)
    price = part.prices.setdefault(view.name, np.zeros(len(costs.tables.counts)))
    bound, dropped, path = tighten(
        view.node,
        view.hop,
        part.stay,
        part.move,
        costs.tables.counts,
        costs.tables.layers,
        view.pipelines,
        view.constant,
        view.limit,
        price,
        steps,
        groups,
        layers,
    )
    if costs.replicas == 1 and path + view.constant < view.limit:
        offer(Plan.from_groups(costs.bound.grid.micro_batch, layers, [groups]))
    return float(bound - SAFETY * abs(bound)) if np.isfinite(bound) else float(bound), int(dropped)


def _time_views(part: Part, target: float, sync: float) -> list[View]:
    """The slowest pipeline is no faster than one with the slowest step, nor than the average one."""
    costs, limit = part.costs, part.costs.time_limit(target)
    compute = costs.forward + costs.backward
    worst = costs.repeats * _worst_step(part) + sync
    views = [View("time", compute, costs.hop, 1, worst, limit)]
    if costs.replicas > 1:
        share = 1 / costs.replicas
        constant = costs.repeats * sum(single_steps(part)) + sync
        views.append(View("mean time", compute * share, costs.hop * share, costs.replicas, constant, limit))
    return views


def _energy_views(part: Part, target: float) -> list[View]:
    """Energy with every GPU idle for the least time; for the objective and for a cap."""
    costs, goal = part.costs, part.costs.goal
    energy = costs.above_idle + (costs.tables.idle * part.time_s)[None, :, None]
    views = []
    if goal.energy_weight:
        share = goal.time_weight / costs.replicas
        node = share * (costs.forward + costs.backward) + goal.energy_weight * energy
        hop = share * costs.hop + goal.energy_weight * costs.hop_energy
        steps = sum(part.low) if costs.replicas == 1 else sum(single_steps(part))
        constant = goal.time_weight * (costs.repeats * steps + sync_seconds(part))
        views.append(View("value", node, hop, costs.replicas, constant, target))
    if goal.energy_cap is not None:
        views.append(View("energy", energy, costs.hop_energy, costs.replicas, 0.0, costs.energy_limit()))
    return views


def single_steps(part: Part) -> tuple[float, float]:
    """Lower bounds on the slowest forward and backward step of every single pipeline."""
    costs = part.costs
    forward, backward = (
        max(least, float(least_by_stage(table, part.stay).max()))
        for least, table in zip(costs.bound.steps, (costs.forward, costs.backward), strict=True)
    )
    return forward, backward


def _worst_step(part: Part) -> float:
    """A lower bound on the sum of both slowest steps of some pipeline."""
    costs = part.costs
    if costs.replicas == 1:
        return sum(part.low)
    forward, backward = single_steps(part)
    # The choice that makes the forward step slow has a backward step too, and the other way round.
    slow_forward = max(backward, _beside(part, costs.forward, costs.backward, costs.send, part.low[0]))
    slow_backward = max(forward, _beside(part, costs.backward, costs.forward, costs.send.T, part.low[1]))
    return max(part.low[0] + slow_forward, part.low[1] + slow_backward)


def _beside(part: Part, table: Floats, other: Floats, send: Floats, least: float) -> float:
    """The least step in the other direction among the choices that take `least` or more."""
    last = np.zeros(len(part.stay), dtype=np.int64)
    last[-1] = 1
    found = float(np.where(part.stay & (table[last] >= least), other[last], np.inf).min())
    if len(part.move):
        found = min(found, float(np.where(part.move & (send >= least), send.T, np.inf).min()))
    return found if np.isfinite(found) else 0.0


def sync_seconds(part: Part) -> float:
    """Least seconds of the gradient exchange."""
    costs = part.costs
    if costs.replicas == 1:
        return 0.0
    fewest, stages = fewest_layers(part.stay), costs.stages
    least = costs.exchange.min(axis=2)
    ends = [
        float(least[int(s == 0), int(s == stages - 1), fewest[s]]) for s in range(stages) if fewest[s] > 0
    ]
    return max([costs.bound.sync_s, *ends]) * (1 - SAFETY)


def _fit_sync(part: Part, target: float) -> bool:
    """Rule out stages whose gradient exchange alone would break the limit, or that too few GPUs can hold."""
    costs, stages = part.costs, part.costs.stages
    if costs.replicas == 1:
        return part.alive
    limit = costs.time_limit(target) - part.pipeline_s
    counts = costs.tables.counts
    for s in range(stages):
        part.stay[s] &= costs.exchange[int(s == 0), int(s == stages - 1)] <= limit
        # All pipelines hold the same layers in a stage, each on a GPU of its own.
        part.stay[s] &= (counts[:, None] * part.stay[s]).sum(axis=0) >= costs.replicas
    return part.alive


def _fit_steps(part: Part) -> bool:
    """Keep what is within the range of steps, and the range within what is left; False if nothing is."""
    costs = part.costs
    last = np.zeros(len(part.stay), dtype=np.int64)
    last[-1] = 1
    part.stay &= (costs.forward[last] <= part.high[0]) & (costs.backward[last] <= part.high[1])
    part.move &= (costs.send <= part.high[0]) & (costs.send.T <= part.high[1])
    if not part.alive:
        return False
    sends = np.broadcast_to(costs.send, part.move.shape)[part.move]
    back = np.broadcast_to(costs.send.T, part.move.shape)[part.move]
    part.high = (
        min(part.high[0], max(most_by_stage(costs.forward, part.stay), float(sends.max(initial=0.0)))),
        min(part.high[1], max(most_by_stage(costs.backward, part.stay), float(back.max(initial=0.0)))),
    )
    part.low = (
        max(part.low[0], float(least_by_stage(costs.forward, part.stay).max())),
        max(part.low[1], float(least_by_stage(costs.backward, part.stay).max())),
    )
    return part.low[0] <= part.high[0] and part.low[1] <= part.high[1]


def least_work(costs: GridCosts) -> float:
    """What a second of the slowest step costs at least, in the unit of the objective."""
    goal = costs.goal
    return costs.repeats * (goal.time_weight + goal.energy_weight * costs.idle_power)
