"""Gaps, savings and hypervolumes, as docs/model.md (Gaps) defines them; every report prints their denominators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.core.gap import Figures

CORNER = 1.1
"""Of a hypervolume: its reference point over the largest time and energy of the best known front."""


class ContradictionError(Exception):
    """Two results that cannot both be right, such as a bound above the value of a feasible plan."""


def optimality_gap(value: Figures | None, optimum: Figures | None) -> Figures | None:
    """(v - v*) / v*; None without a plan or without a proof. An optimum of 0, as carbon may have, is met by 0."""
    if value is None or optimum is None:
        return None
    return (value - optimum) / (optimum + ((value == 0) & (optimum == 0)))


def saving(baseline: Figures | None, plan: Figures | None) -> Figures | None:
    """(baseline - plan) / baseline; negative where the plan is worse, None where either is missing."""
    if baseline is None or plan is None:
        return None
    return (baseline - plan) / baseline


def hypervolume_share(front: Sequence[tuple[float, float]], known: Sequence[tuple[float, float]]) -> float:
    """The area that the front's (time, energy) dominate, over that of the points of `known` that no other dominates.

    Both up to a corner beyond the worst time and the worst energy of the latter, so that their ends count too.
    """
    import moocore

    best = moocore.filter_dominated(np.asarray(known, dtype=float))
    corner = CORNER * best.max(axis=0)
    return float(moocore.hypervolume(front, ref=corner) / moocore.hypervolume(best, ref=corner))
