"""Propagation: excludes choices by a node's ranges, memory, the gradient exchange and the common layer split."""

from __future__ import annotations

import numpy as np

from instances.tables import Flags, Floats, Ints
from solvers.exact.grid_bounds import SAFETY
from solvers.exact.node import Node


def limit_steps(node: Node) -> bool:
    """Exclude choices outside the ranges of steps, and tighten the ranges to what is left; False if nothing is."""
    costs = node.costs
    tables = _by_stage(costs.forward, costs.stages), _by_stage(costs.backward, costs.stages)
    sends = costs.send, costs.send.T
    for r in range(costs.replicas):
        can_serve, can_flow, low, high = node.can_serve[r], node.can_flow[r], node.low[r], node.high[r]
        for way in (0, 1):
            if r > 0 and way == 0:
                high[0] = min(high[0], node.high[r - 1, 0])  # forward steps fall with r
            can_serve &= tables[way] <= high[way]
            can_flow &= sends[way] <= high[way]
        if not (can_serve.any(axis=(1, 2)).all() and can_flow.any(axis=(1, 2)).all()):
            return False
        for way in (0, 1):
            low[way] = max(low[way], float(_least(tables[way], can_serve).max()))
            if len(can_flow):
                low[way] = max(low[way], float(_least(sends[way], can_flow).max()))
            # The choice that makes the other direction slow has a step in this one too.
            low[way] = max(low[way], _beside(node, r, tables[1 - way], tables[way], sends[1 - way], low[1 - way]))
            high[way] = min(high[way], _most(tables[way], sends[way], can_serve, can_flow))
    for r in range(costs.replicas - 2, -1, -1):
        node.low[r, 0] = max(node.low[r, 0], node.low[r + 1, 0])
    return bool((node.low <= node.high).all())


def share_layers(node: Node) -> bool:
    """All pipelines hold the same layers in a stage, each on a GPU of its own; False if they cannot."""
    if node.costs.replicas > 1:
        counts = node.costs.tables.counts
        shared = node.can_serve.any(axis=2).all(axis=0)  # [s, l]
        shared &= (counts[:, None] * node.can_serve.any(axis=0)).sum(axis=1) >= node.costs.replicas
        node.can_serve &= shared[None, :, None, :]
    return node.alive


def limit_sync(node: Node, target: float) -> bool:
    """Exclude holders whose gradient exchange alone would take too long; False if nothing is left."""
    costs, stages = node.costs, node.costs.stages
    if costs.replicas > 1:
        # Widened by 1e-12: rounding of the range must not lose a plan.
        limit = costs.time_limit(target) - node.pipeline_s
        node.sync_high = min(node.sync_high, limit * (1 + 1e-12))
        for s in range(stages):
            node.can_serve[:, s] &= costs.exchange[int(s == 0), int(s == stages - 1)] <= node.sync_high
        if not node.alive:
            return False
        fewest: Ints = node.can_serve[0].any(axis=1).argmax(axis=1)  # [s] fewest layers
        least = costs.exchange.min(axis=2)
        ends = [float(least[int(s == 0), int(s == stages - 1), fewest[s]]) for s in range(stages)]
        node.sync_low = max(node.sync_low, max(ends) * (1 - SAFETY))
    return node.sync_low <= node.sync_high


def _by_stage(table: Floats, stages: int) -> Floats:
    """[s, k, layers] from [last, k, layers]."""
    last = np.zeros(stages, dtype=np.int64)
    last[-1] = 1
    return table[last]


def _least(table: Floats, can_serve: Flags) -> Floats:
    found: Floats = np.where(can_serve, table, np.inf).min(axis=(1, 2))
    return found


def _most(table: Floats, send: Floats, can_serve: Flags, can_flow: Flags) -> float:
    most = float(np.where(can_serve, table, -np.inf).max())
    return max(most, float(np.where(can_flow, send, -np.inf).max())) if len(can_flow) else most


def _beside(node: Node, r: int, table: Floats, other: Floats, send: Floats, least: float) -> float:
    """The least step in the other direction among the choices of pipeline r that take `least` or more."""
    found = float(np.where(node.can_serve[r] & (table >= least), other, np.inf).min())
    if node.can_flow.shape[1]:
        found = min(found, float(np.where(node.can_flow[r] & (send >= least), send.T, np.inf).min()))
    return found
