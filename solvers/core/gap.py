"""The certified gap, and how values and bounds are compared (docs/model.md, Tolerances and Gaps)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pandas as pd

Figures = TypeVar("Figures", float, "pd.Series[float]")
"""One figure, or one for each run."""

OPTIMAL_GAP = 1e-6
"""Largest certified gap that may be called optimal."""
TOLERANCE = 1e-9
"""Relative rounding allowed for: a bound further above the value of a feasible plan contradicts it."""


def certified_gap(value: Figures, bound: Figures) -> Figures:
    """(v - lb) / v; a value of 0, as carbon may have, has a gap of 0, since no bound is negative."""
    return (value - bound) / (value + (value == 0))
