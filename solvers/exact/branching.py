"""Branching on the ranges of a node's slowest steps: with them nearly fixed, a plan costs nearly as much as a path."""

from __future__ import annotations

import numpy as np

from solvers.exact.node import Node

FINEST_SINGLE, FINEST_SEVERAL = 1e-1, 5e-2
"""Largest range of a slowest step in a leaf, as a share of the objective; the second is for several pipelines.

Ranges 20 times as fine made leaf models quicker, but their number far too large.
"""
FEW, FEW_ALIKE = 40, 150
"""Choices of group and layers per pipeline below which a model is quicker than further branching.

The second is for pools of few groups: their models are easy, and paths rarely run out of GPUs.
"""
FEW_GROUPS = 4
"""Most groups of such a pool."""
FINER = 4
"""Factor by which ranges are refined each time a model has run out of time."""


def branch(node: Node) -> list[Node]:
    """Two nodes that cover the node; or the node itself, marked as final, if branching does not pay."""
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
