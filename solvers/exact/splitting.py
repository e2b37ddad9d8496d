"""Splits a part by its slowest steps: with them nearly fixed, a plan's cost is nearly that of a path."""

from __future__ import annotations

import numpy as np

from solvers.exact.part import Part
from solvers.exact.relaxation import least_work

FINEST = 1e-3
"""Relative share of the objective that the range of a slowest step may still be worth in a part for a model."""
FINEST_SEVERAL = 2e-2
"""The same for several pipelines, whose models are larger and whose own steps differ anyway."""


def split_part(part: Part) -> list[Part]:
    """Two parts that cover the part; itself, marked as final, if that is not worth it."""
    finest = FINEST if part.costs.replicas == 1 else FINEST_SEVERAL
    widths = [high - low for low, high in zip(part.low, part.high, strict=True)]
    axis = int(widths[1] > widths[0])
    candidates = part.costs.steps_of(part.stay, part.move)[axis]
    low, high = part.low[axis], part.high[axis]
    below = int(np.searchsorted(candidates, (low + high) / 2, side="right"))
    splits = 0 < below < len(candidates) and candidates[below - 1] >= low and candidates[below] <= high
    if not splits or widths[axis] * least_work(part.costs) <= finest * part.value:
        part.final = True
        return [part]
    ends = float(candidates[below - 1]), float(candidates[below])
    kids = []
    for child_low, child_high in ((low, ends[0]), (ends[1], high)):
        lows, highs = list(part.low), list(part.high)
        lows[axis], highs[axis] = child_low, child_high
        kids.append(part.child((lows[0], lows[1]), (highs[0], highs[1])))
    return kids
