"""Whole numbers for CP-SAT: costs above a base, in units, always rounded down.

A cost c above its base becomes floor(c * units). The whole cost of a plan is then at most the true one and
less by fewer units than it has terms. What a model proves about whole numbers so holds for the true costs.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, inf

from ortools.sat.python import cp_model

RANGE = 2**26
"""Units between the base and the limit, unless a row would become too large."""
LARGEST_ROW = 2**30
"""Most that the coefficients of a row may add up to. CP-SAT 9.15 can be wrong past 2**31 (or-tools issue 5293)."""

Terms = list[tuple[float, cp_model.IntVar]]
Cost = tuple[int, cp_model.IntVar]


class RowTooLarge(ArithmeticError):  # noqa: N818 - the word says it
    """The coefficients of a row add up to more than CP-SAT can be trusted with."""


def units_for(width: float, rows: Iterable[float]) -> float:
    """Units per unit of cost: RANGE of them in `width`, fewer if a row's costs (sums) would grow too large."""
    largest = max([0.0, *rows])
    wide = RANGE / width if width > 0 else RANGE
    return min(wide, LARGEST_ROW / largest) if largest > 0 else wide


def rounded(terms: Terms, units: float, cut: float = inf) -> list[tuple[int, cp_model.IntVar]]:
    """The terms in whole units, rounded down; those that vanish are left out. Costs are cut at `cut`."""
    found = [(floor(min(cost, cut) * units), x) for cost, x in terms]
    return [(cost, x) for cost, x in found if cost]


def add_choices(model: cp_model.CpModel, choices: list[Terms], units: float, cut: float, most: int) -> list[Cost]:
    """What the choices cost: of each list of terms one is chosen, so each gets a row, and a variable, of its own.

    One row for all would have to be much coarser. A cost beyond `cut` is beyond the limit anyway.
    """
    found: list[Cost] = []
    for terms in choices:
        whole = rounded(terms, units, cut)
        if whole:
            cost = model.new_int_var(0, most, f"cost_{len(model.proto.variables)}")
            add_row(model, cost, whole)
            found.append((1, cost))
    return found


def add_row(
    model: cp_model.CpModel,
    bounded: cp_model.LinearExprT,
    terms: list[tuple[int, cp_model.IntVar]],
    constant: int = 0,
) -> cp_model.Constraint:
    """Add bounded >= terms + constant. RowTooLarge if CP-SAT could not be trusted with it."""
    if sum(abs(cost) for cost, _ in terms) + abs(constant) >= 2**31:
        raise RowTooLarge("a row's coefficients add up past 2**31: CP-SAT cannot be trusted with it")
    variables, costs = [x for _, x in terms], [cost for cost, _ in terms]
    return model.add(bounded >= cp_model.LinearExpr.weighted_sum(variables, costs) + constant)
