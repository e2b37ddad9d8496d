"""What a part's ranges, memory, the gradient exchange and the common layer split leave to each stage."""

from __future__ import annotations

import numpy as np

from instances.tables import Flags, Floats, Ints
from solvers.exact.costs import GridCosts
from solvers.exact.grid_bounds import SAFETY
from solvers.exact.subproblem import Part


def fit_steps(part: Part) -> bool:
    """Keep what is within the ranges of steps, and the ranges within what is left; False if nothing is."""
    costs = part.costs
    tables = _by_stage(costs.forward, costs.stages), _by_stage(costs.backward, costs.stages)
    sends = costs.send, costs.send.T
    for r in range(costs.replicas):
        stay, move, low, high = part.stay[r], part.move[r], part.low[r], part.high[r]
        for way in (0, 1):
            if r > 0 and way == 0:
                high[0] = min(high[0], part.high[r - 1, 0])  # forward steps fall with r
            stay &= tables[way] <= high[way]
            move &= sends[way] <= high[way]
        if not (stay.any(axis=(1, 2)).all() and move.any(axis=(1, 2)).all()):
            return False
        for way in (0, 1):
            low[way] = max(low[way], float(_least(tables[way], stay).max()))
            if len(move):
                low[way] = max(low[way], float(_least(sends[way], move).max()))
            # The choice that makes the other direction slow has a step in this one too.
            low[way] = max(low[way], _beside(part, r, tables[1 - way], tables[way], sends[1 - way], low[1 - way]))
            high[way] = min(high[way], _most(tables[way], sends[way], stay, move))
    for r in range(costs.replicas - 2, -1, -1):
        part.low[r, 0] = max(part.low[r, 0], part.low[r + 1, 0])
    return bool((part.low <= part.high).all())


def fit_layers(part: Part) -> bool:
    """All pipelines hold the same layers in a stage, each on a GPU of its own; False if they cannot."""
    if part.costs.replicas > 1:
        counts = part.costs.tables.counts
        shared = part.stay.any(axis=2).all(axis=0)  # [s, l]
        shared &= (counts[:, None] * part.stay.any(axis=0)).sum(axis=1) >= part.costs.replicas
        part.stay &= shared[None, :, None, :]
    return part.alive


def fit_sync(part: Part, target: float) -> bool:
    """Rule out holders whose gradient exchange alone would be too long; False if nothing is left."""
    costs, stages = part.costs, part.costs.stages
    if costs.replicas > 1:
        # A millionth of a millionth of room: the range's ends must not lose a plan to rounding.
        limit = costs.time_limit(target) - part.pipeline_s
        part.sync_high = min(part.sync_high, limit * (1 + 1e-12))
        for s in range(stages):
            part.stay[:, s] &= costs.exchange[int(s == 0), int(s == stages - 1)] <= part.sync_high
        if not part.alive:
            return False
        fewest: Ints = part.stay[0].any(axis=1).argmax(axis=1)  # [s] fewest layers
        least = costs.exchange.min(axis=2)
        ends = [float(least[int(s == 0), int(s == stages - 1), fewest[s]]) for s in range(stages)]
        part.sync_low = max(part.sync_low, max(ends) * (1 - SAFETY))
    return part.sync_low <= part.sync_high


def least_per_second(costs: GridCosts) -> float:
    """What a second costs at least, in the unit of the objective."""
    return costs.goal.time_weight + costs.goal.energy_weight * costs.idle_power


def least_by_stage(table: Floats, stay: Flags) -> Floats:
    """[s] least entry of a [last, k, layers] table among what each stage may choose; infinite if nothing."""
    return _least(_by_stage(table, len(stay)), stay)


def _by_stage(table: Floats, stages: int) -> Floats:
    """[s, k, layers] from [last, k, layers]."""
    last = np.zeros(stages, dtype=np.int64)
    last[-1] = 1
    return table[last]


def _least(table: Floats, stay: Flags) -> Floats:
    found: Floats = np.where(stay, table, np.inf).min(axis=(1, 2))
    return found


def _most(table: Floats, send: Floats, stay: Flags, move: Flags) -> float:
    most = float(np.where(stay, table, -np.inf).max())
    return max(most, float(np.where(move, send, -np.inf).max())) if len(move) else most


def _beside(part: Part, r: int, table: Floats, other: Floats, send: Floats, least: float) -> float:
    """The least step in the other direction among the choices of pipeline r that take `least` or more."""
    found = float(np.where(part.stay[r] & (table >= least), other, np.inf).min())
    if part.move.shape[1]:
        found = min(found, float(np.where(part.move[r] & (send >= least), send.T, np.inf).min()))
    return found
