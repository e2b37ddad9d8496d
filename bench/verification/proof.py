"""Re-checks the proof behind a bound: every legal grid is there, closed for a reason, and together they give it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.records.record import GridProof, Record
from bench.reporting.metrics import TOLERANCE
from bench.runs.judge import OPTIMALITY_GAP
from solvers.core.interface import Problem, Status
from solvers.exact.grid_bounds import grid_bounds

CLOSED = {"cheap bound", "infeasible", "solved"}


def check_grids(problem: Problem, grids: Sequence[GridProof], record: Record) -> Iterator[str]:
    """What is wrong with the per-grid figures of an exact method.

    Cheap bounds are made again from the instance; the least bound of all grids (or the value, if it is
    smaller) must be the global one; and a grid may be called closed only where no plan on it could matter.
    """
    expected = {tuple(bound.grid): bound.value for bound in grid_bounds(problem.tables, problem.goal)}
    listed = [grid.grid for grid in grids]
    if sorted(listed) != sorted(expected):
        missing = sorted(set(expected) - set(listed))
        yield f"the proof lists {len(listed)} grids, {len(expected)} are legal" + (
            f"; {missing[0]} is missing" if missing else ""
        )
        return
    value = record.value
    for name, grid in zip(listed, grids, strict=True):
        yield from (f"grid {name}: {finding}" for finding in _check_grid(grid, expected[name], value))
    least = min((bound for bound in (value, *(grid.bound for grid in grids)) if bound is not None), default=None)
    if not _equal(least, record.bound):
        yield f"the grids give the bound {least!r}, the record says {record.bound!r}"
    if record.status is Status.INFEASIBLE and any(grid.closed == "open" for grid in grids):
        yield "the status infeasible needs every grid closed"


def _check_grid(grid: GridProof, cheap: float | None, value: float | None) -> Iterator[str]:
    closed, bound = grid.closed, grid.bound
    if closed not in {*CLOSED, "open"}:
        yield f"closed is {closed!r}"
    if not _equal(grid.cheap_bound, cheap):
        yield f"the cheap bound is {grid.cheap_bound!r}, made again it is {cheap!r}"
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
