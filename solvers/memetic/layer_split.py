"""The layer split for a fixed placement: exact for one pipeline's time under each bottleneck limit tried.

Seconds are linear in the layers, so given a limit on the busiest stage, filling the cheapest stages first is
optimal; only the limit is searched.
"""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inner
from solvers.kernel.evaluation import cap_excess, goal_value, kind_of, measure, violation
from solvers.kernel.packed import COST, ENERGY_WEIGHT, LIMITS, MOST, OFFSET, ORDER, PENALTY, SLOPE, TIME_WEIGHT, TRIAL
from solvers.memetic.copying import copy
from solvers.memetic.ordering import order_by

_FACTORS = np.array([1.0, 1.02, 1.05, 1.1, 1.2, 1.4, 2.0, 1e9])
"""Limits tried, as multiples of the least feasible one: from balanced to cheapest stages first."""


@inner
def plan_score(p, r_index, b, stages, layers, group):  # type: ignore[no-untyped-def]
    """Value of a plan with penalties for violations."""
    time, energy = measure(p.o, p.q, p.f, r_index, b, stages, layers, group)
    over, power = violation(p.o, p.q, p.f, r_index, b, stages, layers, group)
    excess = over + power + cap_excess(p.f, time, energy)
    return goal_value(p.f, time, energy) * (1.0 + p.goal[PENALTY] * excess)


@inner
def _fill_limits(slope, offset, most, threshold, caps, stages):  # type: ignore[no-untyped-def]
    """Fill `caps` with the layers each stage may hold under the threshold; their sum."""
    total = 0
    for s in range(stages):
        fit = min(float(most[s]), max(1.0, np.floor((threshold - offset[s]) / slope[s] + 1e-9)))
        caps[s] = max(1, int(fit))
        total += caps[s]
    return total


@inner
def describe_stages(p, r_index, b, stages, group):  # type: ignore[no-untyped-def]
    """Fill the scratch rows SLOPE, OFFSET, COST and MOST, and ORDER with the stages by rising cost of a layer."""
    replicas = p.replicas[r_index]
    slope, offset, cost, most = p.real[SLOPE], p.real[OFFSET], p.real[COST], p.whole[MOST]
    count = p.o.batch // (replicas * p.sizes[b])
    for s in range(stages):
        slope[s] = offset[s] = cost[s] = 0.0
        most[s] = p.o.total
        for r in range(replicas):
            k = group[r * stages + s]
            seconds = p.speed[b, k, 0] + p.speed[b, k, 1]
            slope[s] = max(slope[s], seconds)
            if s == stages - 1:
                offset[s] = max(offset[s], p.speed[b, k, 2] + p.speed[b, k, 3])
            most[s] = min(most[s], p.fits[r_index, b, k, kind_of(s, stages)])
            cost[s] += p.goal[ENERGY_WEIGHT] * p.rates[k, 0] * seconds * count
        cost[s] += p.goal[TIME_WEIGHT] * slope[s] + 1e-12 * slope[s]
    order_by(cost, p.whole[ORDER], stages)


@inner
def least_threshold(p, stages):  # type: ignore[no-untyped-def]
    """Least limit on the busiest stage (s) under which all layers fit, by bisection."""
    slope, offset, most, caps = p.real[SLOPE], p.real[OFFSET], p.whole[MOST], p.whole[LIMITS]
    low = high = 0.0
    for s in range(stages):
        high = max(high, offset[s] + p.o.total * slope[s])
    for _ in range(40):
        middle = 0.5 * (low + high)
        if _fill_limits(slope, offset, most, middle, caps, stages) >= p.o.total:
            high = middle
        else:
            low = middle
    return high


@inner
def fit_layers(p, r_index, b, stages, layers, group):  # type: ignore[no-untyped-def]
    """Write a good split for the placement to layers[:stages]; returns the number of plans evaluated."""
    slope, offset, most = p.real[SLOPE], p.real[OFFSET], p.whole[MOST]
    order, caps, trial = p.whole[ORDER], p.whole[LIMITS], p.whole[TRIAL]
    describe_stages(p, r_index, b, stages, group)
    threshold = least_threshold(p, stages)
    written = False
    best = np.inf
    for factor in _FACTORS:
        _fill_limits(slope, offset, most, threshold * factor, caps, stages)
        rest = p.o.total - stages
        for s in range(stages):
            trial[s] = 1
        for i in range(stages):
            s = order[i]
            more = min(rest, caps[s] - 1)
            trial[s] += more
            rest -= more
        for i in range(rest):  # no split fits: spread the rest, the search may repair it
            trial[order[i % stages]] += 1
        score = plan_score(p, r_index, b, stages, trial, group)
        if not written or score < best:  # scores may all be infinite
            written = True
            best = score
            copy(trial, 0, layers, 0, stages)
    return len(_FACTORS)
