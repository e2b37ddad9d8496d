"""A smooth surrogate for the maxima in T: the fourth-power mean over pipelines, and over gradient exchanges.

T depends on the slowest of each only, so most moves do not change it. In the surrogate nearly slow ones count, fast
ones hardly do, and of plans with equal means the balanced one is better.
"""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inlined


@inlined
def fourth_power(seconds):  # type: ignore[no-untyped-def]
    """What one pipeline or exchange adds to the sum of fourth powers (s^4)."""
    square = seconds * seconds
    return square * square


@inlined
def power_mean(total, count):  # type: ignore[no-untyped-def]
    """Fourth-power mean (s) of `count` pipelines or exchanges from their sum, which differences may leave below 0."""
    return np.sqrt(np.sqrt(max(0.0, total / count)))
