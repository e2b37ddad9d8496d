"""Branches on a node's slowest steps: with them nearly fixed, a plan's cost is nearly that of a path."""

from __future__ import annotations

import numpy as np

from solvers.exact.node import Node

FINEST_SINGLE, FINEST_SEVERAL = 1e-1, 5e-2
"""Relative share of the objective that the range of a slowest step may still be worth in a node for a model.

The second is for several pipelines. Ranges 20 times as fine made models quicker, but far too many of them.
"""
FEW, FEW_ALIKE = 40, 150
"""Choices of groups and layers, per pipeline, with which a model is quicker than more branching.

The second is for pools of few groups: there a model has little to tell apart, and paths rarely run out of GPUs.
"""
FEW_GROUPS = 4
"""Groups of such a pool."""
FINER = 4
"""How much finer the ranges are made each time a model has run out of its time."""


def branch(node: Node) -> list[Node]:
    """Two nodes that cover the node; itself, marked as final, if that is not worth it."""
    costs = node.costs
    worth = costs.least_per_second
    share = FINEST_SINGLE if costs.replicas == 1 else FINEST_SEVERAL
    finest = share * node.value / FINER**node.attempts
    widths = (node.high - node.low) * worth * costs.repeats / costs.replicas
    sync_width = (node.sync_high - node.sync_low) * worth
    if _is_small(node):
        node.final = True
        return [node]
    if max(finest, float(widths.max())) < sync_width < np.inf:
        lower, upper = node.child(), node.child()
        lower.sync_high = (node.sync_low + node.sync_high) / 2
        upper.sync_low = lower.sync_high
        return [lower, upper]
    r, way = (int(index) for index in np.unravel_index(int(widths.argmax()), widths.shape))
    candidates = costs.steps_of(node.can_serve[r], node.can_flow[r])[way]
    low, high = node.low[r, way], node.high[r, way]
    below = int(np.searchsorted(candidates, (low + high) / 2, side="right"))
    splits = 0 < below < len(candidates) and candidates[below - 1] >= low and candidates[below] <= high
    if not splits or widths[r, way] <= finest:
        node.final = True
        return [node]
    lower, upper = node.child(), node.child()
    lower.high[r, way] = candidates[below - 1]
    upper.low[r, way] = candidates[below]
    return [lower, upper]


def _is_small(node: Node) -> bool:
    """Whether a model of the node is quick."""
    few = FEW_ALIKE if len(node.costs.tables.counts) <= FEW_GROUPS else FEW
    return bool(node.can_serve.sum() * FINER**node.attempts <= few * node.costs.replicas)
