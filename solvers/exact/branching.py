"""Splits a part by its slowest steps: with them nearly fixed, a plan's cost is nearly that of a path."""

from __future__ import annotations

import numpy as np

from solvers.exact.propagation import least_per_second
from solvers.exact.subproblem import Part

FINEST_SINGLE, FINEST_SEVERAL = 1e-1, 5e-2
"""Relative share of the objective that the range of a slowest step may still be worth in a part for a model.

The second is for several pipelines. Ranges 20 times as fine made models quicker, but far too many of them.
"""
FEW, FEW_ALIKE = 40, 150
"""Choices of groups and layers, per pipeline, with which a model is quicker than more splitting.

The second is for pools of few groups: there a model has little to tell apart, and paths rarely run out of GPUs.
"""
FEW_GROUPS = 4
"""Groups of such a pool."""
FINER = 4
"""How much smaller the parts are made each time a model has run out of its time."""


def split_part(part: Part) -> list[Part]:
    """Two parts that cover the part; itself, marked as final, if that is not worth it."""
    costs = part.costs
    worth = least_per_second(costs)
    share = FINEST_SINGLE if costs.replicas == 1 else FINEST_SEVERAL
    finest = share * part.value / FINER**part.attempts
    widths = (part.high - part.low) * worth * costs.repeats / costs.replicas
    sync_width = (part.sync_high - part.sync_low) * worth
    if _is_small(part):
        part.final = True
        return [part]
    if max(finest, float(widths.max())) < sync_width < np.inf:
        lower, upper = part.child(), part.child()
        lower.sync_high = (part.sync_low + part.sync_high) / 2
        upper.sync_low = lower.sync_high
        return [lower, upper]
    r, way = (int(index) for index in np.unravel_index(int(widths.argmax()), widths.shape))
    candidates = costs.steps_of(part.stay[r], part.move[r])[way]
    low, high = part.low[r, way], part.high[r, way]
    below = int(np.searchsorted(candidates, (low + high) / 2, side="right"))
    splits = 0 < below < len(candidates) and candidates[below - 1] >= low and candidates[below] <= high
    if not splits or widths[r, way] <= finest:
        part.final = True
        return [part]
    lower, upper = part.child(), part.child()
    lower.high[r, way] = candidates[below - 1]
    upper.low[r, way] = candidates[below]
    return [lower, upper]


def _is_small(part: Part) -> bool:
    """Whether a model of the part is quick."""
    few = FEW_ALIKE if len(part.costs.tables.counts) <= FEW_GROUPS else FEW
    return bool(part.stay.sum() * FINER**part.attempts <= few * part.costs.replicas)
