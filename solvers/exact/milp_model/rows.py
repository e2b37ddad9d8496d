"""Rows of a program, scaled and checked: no coefficient is so small or so large that a solver may misread it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pulp

SMALLEST, LARGEST = 1e-6, 1e6
"""Range of the coefficients. Costs are in thousandths of the range that matters, so SMALLEST is 1e-9 of it."""
UNITS = 1000.0
"""Units between the least cost of a subproblem and the target."""
NARROWEST = 1e-3
"""Least range, relative to the least cost: with a narrower one the coefficients would become too large."""
FORBIDDING = 2 * UNITS
"""Costs are cut here: they are beyond the target anyway, and their true size would only spoil the scale."""
SPARE = 1e-3
"""Units by which limits are wider than they need be: a solver's tolerance must not lose a plan at the limit."""

Variable = Any  # a pulp.LpVariable; PuLP is not typed
Terms = list[tuple[Variable, float]]


def weighted(terms: Terms, cut: float = LARGEST) -> pulp.LpAffineExpression:
    """A sum of costs, each at most `cut`.

    Costs below SMALLEST are left out, which only lowers the sum. ArithmeticError above LARGEST.
    """
    kept = [(x, min(cost, cut)) for x, cost in terms if abs(cost) >= SMALLEST]
    if any(abs(cost) > LARGEST for _, cost in kept):
        raise ArithmeticError("a coefficient is too large for a solver to be trusted with it")
    return pulp.LpAffineExpression(kept)


def total(variables: Iterable[Variable]) -> pulp.LpAffineExpression:
    """A sum of variables."""
    return pulp.LpAffineExpression([(x, 1.0) for x in variables])


def scaled(terms: Iterable[tuple[float, Variable]], units: float) -> Terms:
    """The terms in units."""
    return [(x, cost * units) for cost, x in terms]


def cut_above(spare: float) -> float:
    """Where costs are cut of which `spare` is free; cut lower, they only count for less."""
    return min(FORBIDDING + spare, LARGEST)
