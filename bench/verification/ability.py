"""Whether a record claims only what its method can prove, and brings along what its method gives as proof."""

from __future__ import annotations

from collections.abc import Iterator

from bench.records.record import Record
from bench.runs.isolated import Termination
from solvers.core.gap import TOLERANCE
from solvers.core.interface import Problem, Proof, Solver, Status
from solvers.core.registry import solver_types
from solvers.exact.grid_bounds import instant_bound

LIMITS = (Termination.TIME_LIMIT, Termination.EVALUATION_LIMIT)
ENDS = (Termination.FINISHED, *LIMITS)
OPTIMA = (Proof.OPTIMUM, Proof.OPTIMUM_AND_BOUND)
BOUNDS = (Proof.BOUND, Proof.OPTIMUM_AND_BOUND)


def claim_of(record: Record) -> str | None:
    """What a record claims beyond the plans that it shows, in words; None for nothing."""
    if record.status is Status.OPTIMAL:
        return "the complete front" if record.front is not None else "optimal"
    if record.status is Status.INFEASIBLE:
        return "infeasible"
    return None if record.bound is None else f"the bound {record.bound!r}"


def solver_of(record: Record) -> type[Solver] | None:
    """The class of the record's solver; None if it is not installed here."""
    return solver_types().get(record.solver)


def check_ability(record: Record, problem: Problem) -> Iterator[str]:
    """The claim is one that the method declares to be able to prove, and its proof is there."""
    solver, claim = solver_of(record), claim_of(record)
    if record.front is not None and solver is not None and not solver.fronts:
        yield f"has a front, which {record.solver} does not look for"
    if claim is None:
        yield from _silent(record, solver)
        return
    if solver is None:
        yield f"claims {claim}, but no solver {record.solver} is known here whose ability could be asked for"
        return
    able = solver.proves in (OPTIMA if record.status in (Status.OPTIMAL, Status.INFEASIBLE) else BOUNDS)
    if not able and not (record.status is Status.OPTIMAL and record.front is None and solver.proves is Proof.BOUND):
        yield f"claims {claim}, but {record.solver} declares that it proves {solver.proves.value}"
    if "distrusted" in record.details:
        yield f"claims {claim}, but details.distrusted says that nothing is claimed"
    if solver.shows_grids and "grids" not in record.details:
        yield from _without_grids(record, problem, claim)


def _without_grids(record: Record, problem: Problem, claim: str) -> Iterator[str]:
    """A run that was stopped before it had the bounds of the grids knows the instant bound, which is made again."""
    instant = instant_bound(problem.tables, problem.goal)
    cut_off = record.status in (Status.FEASIBLE, Status.UNKNOWN)
    if not cut_off or record.bound is None or instant is None or record.bound > instant * (1 + TOLERANCE):
        yield f"claims {claim} without the grids that {record.solver} proves it by"


def _silent(record: Record, solver: type[Solver] | None) -> Iterator[str]:
    """An exact method that ends by itself has proven something, or distrusts its proof and says so."""
    explained = record.reason is not None and record.status is not Status.UNKNOWN  # `unknown` always has a reason
    by_itself = record.ended is Termination.FINISHED and not explained and record.status is not Status.ERROR
    if solver is not None and solver.shows_grids and by_itself and "distrusted" not in record.details:
        yield f"ended by itself, but as {record.status}, without a claim and without details.distrusted"


def check_ending(record: Record, problem: Problem) -> Iterator[str]:
    """How the run ended fits its status: what was stopped from outside proves nothing more than it had reported."""
    status, ended = record.status, record.ended
    if ended in (Termination.CRASHED, Termination.NOT_STARTED) and status is not Status.ERROR:
        yield f"ended as {ended}, but the status is {status}"
    if ended is Termination.INTERRUPTED and status in (Status.OPTIMAL, Status.INFEASIBLE):
        yield f"ended as {ended}, but the status is {status}"
    if ended in (Termination.OUT_OF_MEMORY, *LIMITS) and status is Status.INFEASIBLE:
        yield f"ended as {ended}, but the status is {status}"
    unexplained = status is Status.ERROR or ended not in ENDS
    if unexplained and not record.reason:
        yield f"ended as {ended} with the status {status}, but without a reason"
    if status is Status.OPTIMAL and ended is Termination.FINISHED and record.reason:
        yield f"has the status {status}, but also a reason why it fell short: {record.reason}"
    if status in (Status.INFEASIBLE, Status.ERROR) and record.bound is not None:
        yield f"has the status {status}, but also the bound {record.bound!r}"
    if status is Status.ERROR and (record.plan is not None or record.front is not None):
        yield "has the status error, but also a plan or a front"
