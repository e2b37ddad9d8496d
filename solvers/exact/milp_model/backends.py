"""PuLP's back ends, with what each one's word is worth.

PuLP calls a run that its limit stopped "Optimal" in `status`; only `sol_status` tells. CBC calls feasible models
infeasible when its limit cuts it off, and gives no bound. Values of a model without a solution are garbage.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pulp

from solvers.core.deadline import Deadline
from solvers.exact.leaf_model import Claim

_CLAIM = {
    pulp.LpSolutionOptimal: Claim.BEST,
    pulp.LpSolutionIntegerFeasible: Claim.STOPPED,
    pulp.LpSolutionNoSolutionFound: Claim.STOPPED,
    pulp.LpSolutionInfeasible: Claim.NONE,
}  # LpSolutionUnbounded is left out on purpose: costs are bounded below, so it is our bug and must raise

NEARLY = 0.8
"""Share of a limit beyond which a run may have been cut off by it."""
DOMINATED_COLUMNS = 1 << 5
"""HiGHS's presolve rule (kPresolveRuleDominatedCol) that is left out: with it 1.16 called a feasible model infeasible.

The model is that of pool 141 in tests/solvers/test_exact_extremes.py; HiGHS issue 3090 reports another one.
"""
WRITTEN = 1e-7
"""Relative rounding of the values in CBC's solution file, which have eight digits."""


@dataclass(frozen=True)
class Solved:
    """What a back end says: the claim, whether there are values, a bound in units, and nodes."""

    claim: Claim
    has_values: bool
    bound: float | None
    nodes: int


def solve_with_highs(problem: pulp.LpProblem, threads: int, seed: int, deadline: Deadline) -> Solved:
    """HiGHS with gaps of exactly 0."""
    import highspy

    solver = pulp.HiGHS(
        msg=False,
        gapRel=0.0,
        gapAbs=0.0,
        threads=threads,
        timeLimit=deadline.left,
        random_seed=seed % 2**31,
        mip_feasibility_tolerance=1e-8,
        presolve_rule_off=DOMINATED_COLUMNS,
    )
    with _quiet():
        problem.solve(solver)
    engine = problem.solverModel
    claim = _CLAIM[problem.sol_status]
    statuses = highspy.HighsModelStatus
    if claim is Claim.NONE and engine.getModelStatus() != statuses.kInfeasible:
        claim = Claim.STOPPED  # "unbounded or infeasible" is not yet a proof
    info = engine.getInfo()
    finite = abs(info.mip_dual_bound) < 1e20
    has_values = claim is Claim.BEST or (
        claim is Claim.STOPPED
        and problem.sol_status == pulp.LpSolutionIntegerFeasible
        and info.primal_solution_status == 2  # kSolutionStatusFeasible
    )
    return Solved(claim, has_values, info.mip_dual_bound if finite else None, max(0, info.mip_node_count))


def solve_with_cbc(problem: pulp.LpProblem, threads: int, seed: int, deadline: Deadline) -> Solved:
    """CBC with gaps of 0; what it says near its limit proves nothing."""
    limit = deadline.left
    started = deadline.seconds
    solver = pulp.COIN_CMD(
        path=pulp.PULP_CBC_CMD.pulp_cbc_path,  # the binary that comes with PuLP
        msg=False,
        gapRel=0.0,
        gapAbs=0.0,
        threads=threads,
        timeLimit=None if limit is None else max(limit, 0.1),
        options=[f"randomCbcSeed {seed % 2**31}"],
    )
    solver.tmpDir = _folder_without_blank()
    with _quiet():
        problem.solve(solver)
    claim = _CLAIM[problem.sol_status]
    if problem.status == pulp.LpStatusInfeasible:
        claim = Claim.NONE  # PuLP has no solution status for what CBC's presolve finds infeasible
    if claim is not Claim.STOPPED and limit is not None and deadline.seconds - started > NEARLY * limit:
        claim = Claim.STOPPED
    has_values = problem.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    return Solved(claim, has_values, _written_objective(problem) if claim is Claim.BEST else None, 0)


def _written_objective(problem: pulp.LpProblem) -> float:
    """The least objective behind values that CBC rounded when it wrote them down."""
    terms = [cost * (x.varValue or 0.0) for x, cost in problem.objective.items()]
    return math.fsum(terms) - WRITTEN * math.fsum(map(abs, terms))


@contextmanager
def _quiet() -> Iterator[None]:
    """Swallow what the libraries print: they greet in spite of `msg=False`, and standard output may be JSON."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _folder_without_blank() -> str:
    """A folder for CBC's files: it cannot read a path with a blank."""
    for folder in (tempfile.gettempdir(), "/tmp", "/var/tmp", os.getcwd()):
        if " " not in folder and os.access(folder, os.W_OK):
            return folder
    raise OSError("CBC needs a writable temporary folder whose path has no blank; set TMPDIR")


BACKENDS = {"highs": solve_with_highs, "cbc": solve_with_cbc}
