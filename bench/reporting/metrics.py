"""Gaps and savings. The denominators are those of SPEC 1.6, and every report prints them."""

from __future__ import annotations

from bench.runs.judge import certified_gap

__all__ = ["ContradictionError", "certified_gap", "optimality_gap", "saving"]

TOLERANCE = 1e-9
"""Relative room for rounding between two values that should agree."""


class ContradictionError(Exception):
    """Two results that cannot both be right, such as a bound above the value of a feasible plan."""


def optimality_gap(value: float | None, optimum: float | None) -> float | None:
    """(v - v*) / v*; None without a plan or without a proof."""
    if value is None or optimum is None:
        return None
    return (value - optimum) / optimum


def saving(baseline: float | None, plan: float | None) -> float | None:
    """(baseline - plan) / baseline; negative where the plan is worse, None where either is missing."""
    if baseline is None or plan is None:
        return None
    return (baseline - plan) / baseline
