"""Polyak's step rule for the multipliers of the Lagrangian bound. Import late: numba."""

from __future__ import annotations

import numpy as np

from instances.tables import Floats, Ints
from solvers.core.compiled import inner

FARTHEST = 10.0
"""How far a step may aim above the best bound, relative to it: a poor incumbent must not make multipliers huge."""

LONGEST = 1e12
"""Longest step of the weights, which lie between 0 and 1: beyond it only its direction counts."""


@inner
def count_excess(counts: Ints, groups_of: Ints, excess: Floats) -> bool:
    """Fill in the excess use of each group; whether no group is used too often."""
    for k in range(len(counts)):
        excess[k] = -counts[k]
    for r in range(groups_of.shape[0]):
        for s in range(groups_of.shape[1]):
            excess[groups_of[r, s]] += 1
    fits = True
    for k in range(len(counts)):
        fits = fits and excess[k] <= 0
    return fits


@inner
def step_gap(limit: float, bound: float, best: float) -> float:
    """The gap that Polyak's step aims to close; without a limit, a small share of the bound.

    It is at most a multiple of the best bound: a limit far away says nothing about what can be gained.
    """
    gap = min(limit - bound, FARTHEST * abs(best)) if limit < np.inf else 0.05 * abs(bound)
    return max(gap, 1e-4 * abs(best))


@inner
def step_multipliers(gpus: Floats, excess: Floats, gap: float) -> bool:
    """One step of the multipliers: up for groups used too often, down for others; False if none changes."""
    square = 0.0
    for k in range(len(gpus)):
        if excess[k] < 0 and gpus[k] <= 0:
            excess[k] = 0.0
        square += excess[k] ** 2
    if square == 0:
        return False
    for k in range(len(gpus)):
        gpus[k] = max(0.0, gpus[k] + gap / square * excess[k])
    return True


@inner
def step_weights(weights: Floats, seconds: Floats, gap: float) -> None:
    """One step of the weights: towards pipelines slower than the average. They stay finite and add up to 1.

    Squares of costs may leave the range of floating point, so deviations are taken relative to the largest.
    """
    mean = 0.0
    for r in range(len(weights)):
        mean += seconds[r] / len(weights)
    largest = 0.0
    for r in range(len(weights)):
        largest = max(largest, abs(seconds[r] - mean))
    if largest <= 1e-12 * mean:  # they differ by rounding only, and all may lie below their computed mean
        return
    square = 0.0
    for r in range(len(weights)):
        square += ((seconds[r] - mean) / largest) ** 2
    step = min(gap / largest / square, LONGEST)
    total = 0.0
    for r in range(len(weights)):
        weights[r] = max(0.0, weights[r] + step * ((seconds[r] - mean) / largest))
        total += weights[r]
    for r in range(len(weights)):
        weights[r] /= total
