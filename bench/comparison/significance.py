"""What many pairs say together: are values worse over problems, and is a solver slower?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from bench.comparison.pairs import Pair
from bench.comparison.quality import relative

LEVEL = 0.99
"""Of confidence: a comparison is made on every change, so chance must not stop one in twenty."""
LEAST_SECONDS = 0.05
"""CPU seconds of a run below which starting and ending it is what is measured."""
SLOWER = 0.1
"""How much slower is a regression; less is within what a quiet machine drifts by."""
FEWEST = 6
"""Problems or timed pairs below which nothing can be significant at this level."""


class Finding(NamedTuple):
    """An effect over pairs, relative, with its interval; `worse`: it is a regression."""

    solver: str
    measure: str
    pairs: int
    effect: float
    low: float
    high: float
    p_value: float | None
    worse: bool


def values_by_clock(pairs: Sequence[Pair], fail_above: float) -> list[Finding]:
    """For each solver whose runs the clock ended: values, by Wilcoxon's signed rank over the medians of problems."""
    rows = [
        (pair.base.label, pair.base.instance, pair.base.objective, relative(pair.base.value, pair.new.value))
        for pair in pairs
        if pair.by_clock and pair.new and pair.base.value is not None and pair.new.value is not None
    ]
    found = pd.DataFrame(rows, columns=["solver", "instance", "objective", "worse"])
    findings = []
    for solver, own in found.groupby("solver", sort=False):
        medians = own.groupby(["instance", "objective"])["worse"].median().to_numpy()
        if len(medians) < FEWEST or not medians.any():
            continue
        p = float(stats.wilcoxon(medians, alternative="greater").pvalue)
        low, high = _interval(medians)
        effect = float(medians.mean())
        worse = p < 1 - LEVEL and effect >= fail_above
        findings.append(Finding(str(solver), "value", len(medians), effect, low, high, p, worse))
    return findings


def seconds(pairs: Sequence[Pair]) -> list[Finding]:
    """For each solver: CPU seconds of timed pairs, the geometric mean of their ratios with a bootstrap interval."""
    rows = []
    for pair in pairs:
        before, after = pair.base.cpu_s, pair.new.cpu_s if pair.new else None
        if pair.timed and before and after and max(before, after) >= LEAST_SECONDS:
            rows.append((pair.base.label, np.log(after / before)))
    found = pd.DataFrame(rows, columns=["solver", "log"])
    findings = []
    for solver, own in found.groupby("solver", sort=False):
        logs = own["log"].to_numpy()
        if len(logs) < FEWEST:
            continue
        low, high = (float(np.expm1(end)) for end in _interval(logs))
        effect = float(np.expm1(logs.mean()))
        findings.append(Finding(str(solver), "CPU seconds", len(logs), effect, low, high, None, low > SLOWER))
    return findings


def _interval(figures: np.ndarray) -> tuple[float, float]:
    """Of the mean, by bootstrap with a fixed seed."""
    if np.ptp(figures) == 0:
        return float(figures[0]), float(figures[0])
    done = stats.bootstrap((figures,), np.mean, confidence_level=LEVEL, method="percentile", rng=0)
    return float(done.confidence_interval.low), float(done.confidence_interval.high)
