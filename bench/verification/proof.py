"""Re-checks the proof behind a bound: every legal grid is there, closed for a reason, and together they give it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.reporting.metrics import TOLERANCE
from bench.runs.judge import OPTIMALITY_GAP
from instances.instance import Instance
from instances.objective import Goal
from instances.tables import Tables
from solvers.exact.grid_bounds import grid_bounds

CLOSED = {"cheap bound", "infeasible", "solved"}


def check_grids(instance: Instance, goal: Goal, grids: list[dict[str, Any]], record: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the per-grid figures of an exact method.

    Cheap bounds are made again from the instance; the least bound of all grids (or the value, if it is
    smaller) must be the global one; and a grid may be called closed only where no plan on it could matter.
    """
    expected = {tuple(bound.grid): bound.value for bound in grid_bounds(Tables.of(instance, goal.figure), goal)}
    listed = [(grid["replicas"], grid["stages"], grid["micro_batch"]) for grid in grids]
    if sorted(listed) != sorted(expected):
        missing = sorted(set(expected) - set(listed))
        yield f"the proof lists {len(listed)} grids, {len(expected)} are legal" + (
            f"; {missing[0]} is missing" if missing else ""
        )
        return
    value = record["value"]
    for name, grid in zip(listed, grids, strict=True):
        yield from (f"grid {name}: {finding}" for finding in _check_grid(grid, expected[name], value))
    least = min(
        [grid["bound"] for grid in grids if grid["bound"] is not None] + ([] if value is None else [value]),
        default=None,
    )
    if not _equal(least, record["bound"]):
        yield f"the grids give the bound {least!r}, the record says {record['bound']!r}"
    if record["status"] == "infeasible" and any(grid["closed"] == "open" for grid in grids):
        yield "the status infeasible needs every grid closed"


def _check_grid(grid: dict[str, Any], cheap: float | None, value: float | None) -> Iterator[str]:
    closed, bound = grid["closed"], grid["bound"]
    if closed not in {*CLOSED, "open"}:
        yield f"closed is {closed!r}"
    if not _equal(grid["cheap_bound"], cheap):
        yield f"the cheap bound is {grid['cheap_bound']!r}, made again it is {cheap!r}"
    if (closed == "infeasible") != (bound is None):
        yield f"closed as {closed!r} does not fit the bound {bound!r}"
    if cheap is None and closed != "infeasible":
        yield f"closed as {closed!r}, but no plan on it can be feasible"
    if bound is None:
        return
    if cheap is not None and bound < cheap * (1 - TOLERANCE):
        yield f"the bound {bound!r} lies below the cheap bound {cheap!r}"
    if closed == "cheap bound" and not _equal(bound, cheap):
        yield f"closed by its cheap bound {cheap!r}, but its bound is {bound!r}"
    if closed != "open" and (value is None or bound < value * (1 - OPTIMALITY_GAP)):
        yield f"closed as {closed!r} with the bound {bound!r}, below the value {value!r}"


def _equal(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    return abs(left - right) <= TOLERANCE * abs(right)
