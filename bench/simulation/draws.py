"""Iteration times of plans under jitter, draw by draw, and whether their ranking survives it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.simulation.durations import Floats
from bench.simulation.jitter import Jitter
from bench.simulation.simulate import Rules, simulate
from instances.instance import Instance
from instances.plan import Plan

QUANTILES = (0.05, 0.5, 0.95)


def drawn_times(
    instance: Instance, plans: Sequence[Plan], rules: Rules, jitter: Jitter, draws: int, seed: int
) -> Floats:
    """Iteration times, [plan, draw] s; a draw has the same speeds for all plans."""
    times = np.empty((len(plans), draws))
    for draw in range(draws):
        speeds = jitter.speeds(instance, seed, draw)
        for number, plan in enumerate(plans):
            times[number, draw] = simulate(instance, plan, rules, speeds).time_s
    return times


def share_in_order(before: Floats, after: Floats) -> float:
    """The share of pairs that `after` ranks as `before` does, [n] each; pairs equal before do not count, and nan where
    there are no others."""
    rows, columns = np.triu_indices(len(before), 1)
    was, now = before[rows] - before[columns], after[rows] - after[columns]
    counted = np.abs(was) > 1e-9 * np.abs(before[rows])
    return float((np.sign(was) == np.sign(now))[counted].mean()) if counted.any() else float("nan")
