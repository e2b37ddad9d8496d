"""The guide: what pipelines and exchanges that are not the slowest weigh in a score.

T sees only the slowest of each, so most moves would leave it as it is. The guide is the fourth root of the mean
of fourth powers: nearly slow ones count, fast ones hardly, and of plans with equal means the balanced one is better.
"""

from __future__ import annotations

import numpy as np

from solvers.core.compiled import inlined


@inlined
def fourth_power(seconds):  # type: ignore[no-untyped-def]
    """What one pipeline or exchange adds to the sum that the guide is made of (s^4)."""
    square = seconds * seconds
    return square * square


@inlined
def power_mean(total, count):  # type: ignore[no-untyped-def]
    """The guide of `count` pipelines or exchanges, from their sum (s); differences may have left it below 0."""
    return np.sqrt(np.sqrt(max(0.0, total / count)))
