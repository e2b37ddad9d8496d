"""Re-checks the proof behind a bound: every legal grid is there, closed for a reason, and together they give it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.records.record import GridProof, Record
from solvers.core.gap import OPTIMAL_GAP, TOLERANCE
from solvers.core.interface import Problem, Status
from solvers.exact.grid_bounds import grid_bounds

CLOSED = {"cheap bound", "infeasible", "solved"}


def check_grids(problem: Problem, grids: Sequence[GridProof], record: Record) -> Iterator[str]:
    """What is wrong with the per-grid figures of an exact method.

    Cheap bounds are made again from the instance, but for the whole models of `whole=true`, which have none; the
    least bound of all grids (or the value, if it is smaller) must be the global one; and a grid may be called closed
    only where no plan on it could matter.
    """
    expected = {tuple(bound.grid): bound.value for bound in grid_bounds(problem.tables, problem.goal)}
    listed = [grid.grid for grid in grids]
    if sorted(listed) != sorted(expected):
        missing = sorted(set(expected) - set(listed))
        yield f"the proof lists {len(listed)} grids, {len(expected)} are legal" + (
            f"; {missing[0]} is missing" if missing else ""
        )
        return
    value, whole = record.value, is_whole(record)
    for name, grid in zip(listed, grids, strict=True):
        check = _check_whole(grid) if whole else _check_searched(grid, expected[name])
        yield from (f"grid {name}: {finding}" for finding in (*check, *_check_closed(grid, value)))
    yield from _check_own_grid(grids, record)
    nothing = any(grid.closed == "open" and grid.bound is None for grid in grids)
    bounds = [bound for bound in (value, *(grid.bound for grid in grids)) if bound is not None]
    least = None if nothing else min(bounds, default=None)
    if not _equal(least, record.bound):
        yield f"the grids give the bound {least!r}, the record says {record.bound!r}"
    if record.status is Status.INFEASIBLE and any(grid.closed == "open" for grid in grids):
        yield "the status infeasible needs every grid closed"


def is_whole(record: Record) -> bool:
    """Whether the record's solver was asked for the plain model of each whole grid."""
    return record.options.get("whole", "false").lower() in ("true", "yes", "1")


def _check_searched(grid: GridProof, cheap: float | None) -> Iterator[str]:
    """A grid of the branch and bound search: its cheap bound, made again, holds and is never undercut."""
    closed, bound = grid.closed, grid.bound
    if grid.whole:
        yield "was solved by a whole model, which the options do not ask for"
    if not _equal(grid.cheap_bound, cheap):
        yield f"the cheap bound is {grid.cheap_bound!r}, made again it is {cheap!r}"
    if (closed == "infeasible") != (bound is None):
        yield f"closed as {closed!r} does not fit the bound {bound!r}"
    if cheap is None and closed != "infeasible":
        yield f"closed as {closed!r}, but no plan on it can be feasible"
    if bound is not None and cheap is not None and bound < cheap * (1 - TOLERANCE):
        yield f"the bound {bound!r} lies below the cheap bound {cheap!r}"
    if bound is not None and closed == "cheap bound" and not _equal(bound, cheap):
        yield f"closed by its cheap bound {cheap!r}, but its bound is {bound!r}"


def _check_whole(grid: GridProof) -> Iterator[str]:
    """A grid of `whole=true`: there is no cheap bound, and what is open may have no bound at all."""
    closed, bound = grid.closed, grid.bound
    if not grid.whole:
        yield "was not solved by a whole model, which the options ask for"
    if grid.cheap_bound is not None or closed == "cheap bound":
        yield f"has the cheap bound {grid.cheap_bound!r} and is closed as {closed!r}, but a whole model has none"
    if (closed == "infeasible") != (bound is None) and not (closed == "open" and bound is None):
        yield f"closed as {closed!r} does not fit the bound {bound!r}"


def _check_closed(grid: GridProof, value: float | None) -> Iterator[str]:
    closed, bound = grid.closed, grid.bound
    if closed not in {*CLOSED, "open"}:
        yield f"closed is {closed!r}"
    if bound is not None and closed != "open" and (value is None or bound < value * (1 - OPTIMAL_GAP)):
        yield f"closed as {closed!r} with the bound {bound!r}, below the value {value!r}"


def _check_own_grid(grids: Sequence[GridProof], record: Record) -> Iterator[str]:
    """The grid of the record's plan has one: it is not infeasible, and no bound on it is above the value."""
    plan, value = record.plan, record.value
    if plan is None or value is None:
        return
    own = len(plan.pipelines), len(plan.layers), plan.micro_batch
    for grid in grids:
        if grid.grid == own and (grid.closed == "infeasible" or (grid.bound or 0.0) > value * (1 + TOLERANCE)):
            yield f"grid {own}: closed as {grid.closed!r} with the bound {grid.bound!r}, but a plan there has {value!r}"


def _equal(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    return abs(left - right) <= TOLERANCE * abs(right)
